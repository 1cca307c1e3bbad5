"""Commands that run while their output is stored."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mcp_offload.capture.notes import read_started
from mcp_offload.capture.supervisor import Command, Limits, Supervisor, shell_argv
from mcp_offload.errors import (
    HandleNotFoundError,
    InvalidArgumentError,
    OffloadError,
    SourceUnreadableError,
)
from mcp_offload.handle import ArtifactRef, parse_handle
from mcp_offload.models import JobEntry, JobsResult, Monitor, RunResult
from mcp_offload.service.allowed import require_allowed
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.settle import settle, settle_ended
from mcp_offload.settings import GIB
from mcp_offload.store import Growing

MOST_OUTPUT_BYTES: Final = 1 * GIB
NAME_CHARS: Final = 80
_REPORT_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A command to run, with seconds, bytes, and None = no limit but those of the settings.

    Attributes:
        cwd: under a root; None = the base directory.
        shell: ``argv`` is one line for the system's shell.
        name: of the artifact; None = the command line.
        stdin_fd: what it reads; None = nothing.
        only_allowed: refuse what the settings do not allow clients to run.
    """

    argv: Sequence[str]
    cwd: str | None = None
    shell: bool = False
    name: str | None = None
    timeout_seconds: float | None = None
    max_output_bytes: int | None = None
    max_memory_bytes: int | None = None
    stdin_fd: int | None = None
    only_allowed: bool = False


class Job:
    """A run of this process; a thread of its own commits the output when all is over."""

    def __init__(self, ctx: Context, growing: Growing, supervisor: Supervisor) -> None:
        self._ctx = ctx
        self._growing = growing
        self.supervisor = supervisor
        self.done = threading.Event()
        self.error: OffloadError | None = None
        threading.Thread(target=self._finish, name="run", daemon=True).start()

    def _finish(self) -> None:
        try:
            self.supervisor.wait()
            self.supervisor.outcome()  # ends what a killed keeper has left
            settle(self._ctx, self._growing)
        except OffloadError as error:
            self.error = error
        finally:
            self._growing.close()
            self.supervisor.close()
            self.done.set()


class Jobs:
    """The runs of one service. Thread-safe."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._own: dict[int, Job] = {}

    def start(self, request: Request) -> str:
        """Start a command; its handle.

        Raises:
            InvalidArgumentError: no command, or one that cannot be passed to the system.
            PathNotAllowedError, SourceUnreadableError: the directory is outside the roots, or is none.
            StoreError: the store cannot take it.
        """
        command = _command(self._ctx, request)
        settings = self._ctx.settings
        most_bytes = min(MOST_OUTPUT_BYTES, settings.max_artifact_bytes, settings.quota_bytes // 2)
        limits = Limits(
            timeout_seconds=request.timeout_seconds,
            output_bytes=min(most_bytes, request.max_output_bytes or most_bytes),
            memory_bytes=request.max_memory_bytes,
            free_bytes=settings.reserve_bytes,
        )
        settle_ended(self._ctx)
        growing = self._ctx.store.grow(settings.workspace, request.name or _name(request))
        try:
            supervisor = Supervisor(
                command,
                limits,
                output_fd=growing.output_fd,
                notes_fd=growing.notes_fd,
                stdin_fd=request.stdin_fd,
            )
        except (OSError, ValueError) as exc:
            self._ctx.store.growing.discard(growing.artifact)
            growing.close()
            raise InvalidArgumentError(f"The command cannot be started: {exc}.") from exc
        self._own[growing.artifact.number] = Job(self._ctx, growing, supervisor)
        return handle_of(growing.artifact)

    def run(self, request: Request, wait_seconds: float | None, monitor: Monitor) -> RunResult:
        """Start a command and wait for its end, or so long; what stops the wait otherwise ends the run.

        Raises:
            OperationCancelledError: let through from the monitor.
            and what :meth:`start` raises.
        """
        handle = self.start(request)
        try:
            self.wait(handle, wait_seconds, monitor)
        except BaseException:
            self.cancel(handle)
            raise
        return self.result(handle, monitor)

    def result(self, handle: str, monitor: Monitor) -> RunResult:
        """How a run stands: its digest so far, or how it ended.

        Raises:
            InvalidArgumentError: the handle is not that of a run.
        """
        from mcp_offload.service.run_result import run_result

        return run_result(self._ctx, handle, monitor)

    def output(self, handle: str) -> list[tuple[bool, bytes]]:
        """The output of a finished run in order; each piece says whether it came from standard error."""
        from mcp_offload.service.run_result import output_parts

        return output_parts(self._ctx, handle)

    def warm_up(self) -> None:
        """Load what telling of a run takes, some tenths of a second, while the command runs."""
        from mcp_offload.service import run_result

        self._ctx.counter.count(run_result.__name__)

    def wait(self, handle: str, seconds: float | None, monitor: Monitor) -> bool:
        """Wait until a run is over, or so long; True where it is over.

        Raises:
            OperationCancelledError: let through from the monitor; the run goes on.
            HandleNotFoundError: there is no such run.
            StoreError: it is over, and its output could not be committed; it stays readable.
        """
        number = self._number(handle)
        started_at = time.monotonic()
        while not self._is_over(number):
            waited = time.monotonic() - started_at
            if seconds is not None and waited >= seconds:
                return False
            lines = self._lines(number)
            # Time goes on where lines do not, and a client may take silence for a hang.
            monitor.advance(int(self._age(number)), None, f"{lines:,} lines, second")
            patience = _REPORT_SECONDS if seconds is None else min(_REPORT_SECONDS, seconds - waited)
            self._pause(number, patience)
        job = self._own.get(number)
        if job is not None and job.error is not None:
            raise job.error
        return True

    def cancel(self, handle: str) -> None:
        """End a run, in whichever process it is: politely, and after two seconds or asked again by force.

        Raises:
            HandleNotFoundError: there is no such run.
        """
        number = self._number(handle)
        job = self._own.get(number)
        if job is not None:
            job.supervisor.cancel()
            return
        growing, workspace = self._ctx.store.growing, self._ctx.settings.workspace
        started = read_started(growing.notes(workspace, number))
        # The keeper holds the lock as long as it lives, so its number is still its own.
        if started is not None and growing.is_written(workspace, number):
            with suppress(ProcessLookupError):
                os.kill(started.keeper_pid, signal.SIGTERM)

    def interrupt(self, handle: str) -> None:
        """Send a run of this process SIGINT, as Ctrl-C would."""
        job = self._own.get(self._number(handle))
        if job is not None:
            job.supervisor.interrupt()

    def running(self) -> JobsResult:
        """Every run of the workspace that is not over, whichever process it is of."""
        growing, now = self._ctx.store.growing, time.time()
        entries: list[JobEntry] = []
        for artifact in growing.artifacts(self._ctx.settings.workspace):
            version = growing.version(artifact)
            if version is None or self._is_over(artifact.number):
                continue
            age = max(0.0, now - artifact.created_at)
            entries.append(
                JobEntry(handle_of(artifact), artifact.name, age, version.size_bytes, version.lines)
            )
        return JobsResult(tuple(entries))

    def close(self) -> None:
        """Kill what still runs and commit what it printed."""
        for job in list(self._own.values()):
            if not job.done.is_set():
                job.supervisor.kill()
                job.done.wait()

    def _number(self, handle: str) -> int:
        ref = parse_handle(handle).artifact
        if not isinstance(ref, ArtifactRef):
            raise HandleNotFoundError(f"{handle} is no run; list the jobs to see those that still run.")
        self._ctx.store.artifact(self._ctx.settings.workspace, ref.number)
        return ref.number

    def _is_over(self, number: int) -> bool:
        job = self._own.get(number)
        if job is not None:
            return job.done.is_set()
        return not self._ctx.store.growing.is_written(self._ctx.settings.workspace, number)

    def _pause(self, number: int, seconds: float) -> None:
        job = self._own.get(number)
        if job is not None:
            job.done.wait(seconds)
        else:
            time.sleep(seconds)

    def _lines(self, number: int) -> int:
        artifact = self._ctx.store.growing.artifact(self._ctx.settings.workspace, number)
        version = artifact and self._ctx.store.growing.version(artifact)
        return version.lines if version else 0

    def _age(self, number: int) -> float:
        artifact = self._ctx.store.growing.artifact(self._ctx.settings.workspace, number)
        return time.time() - artifact.created_at if artifact else 0.0


def _command(ctx: Context, request: Request) -> Command:
    argv = tuple(request.argv)
    if not argv or not argv[0]:
        raise InvalidArgumentError("Give a command to run, and its arguments one by one.")
    if any("\0" in part for part in argv):
        raise InvalidArgumentError("No argument of a command may contain a NUL byte.")
    if request.shell and len(argv) != 1:
        raise InvalidArgumentError("A command for the shell is one string.")
    if request.timeout_seconds is not None and request.timeout_seconds <= 0:
        raise InvalidArgumentError("A timeout is a positive number of seconds.")
    place = ctx.roots.confine(request.cwd or ctx.settings.base_dir)
    if not ctx.roots.is_directory(place):
        raise SourceUnreadableError(f"{place.absolute} is not a directory to run a command in.")
    argv = shell_argv(argv[0]) if request.shell else argv
    if request.only_allowed:
        require_allowed(argv[0], place.absolute, ctx.settings)
    return Command(argv, place.absolute, ctx.settings.run_environment)


def _name(request: Request) -> str:
    line = request.argv[0] if request.shell else shlex.join(request.argv)
    line = " ".join(line.split())
    return line if len(line) <= NAME_CHARS else line[: NAME_CHARS - 1] + "…"
