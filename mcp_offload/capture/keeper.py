"""The keeper: a process that runs one command, writes down its output, and outlives nobody.

Started by :mod:`mcp_offload.capture.supervisor`; standard library only, one thread. What it is given:
descriptors of the output (opened for appending), of the notes and of the control pipe. On the control
pipe ``I`` interrupts the command, ``T`` ends it, and the end of the pipe means that whoever started the
run is gone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp_offload.capture.arrivals import Arrivals
from mcp_offload.capture.notes import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    EndedBy,
    Outcome,
    Started,
    outcome_line,
    started_line,
)
from mcp_offload.capture.output import Output, OutputLimitError
from mcp_offload.capture.processes import (
    become_subreaper,
    descendants,
    die_with_parent,
    kill_all,
    kill_group,
    resident_bytes,
)

_READ_BYTES: Final = 1 << 16
_DRAIN_SECONDS: Final = 2.0
_MEMORY_EVERY_SECONDS: Final = 0.2
_KILLING_SECONDS: Final = 5.0
_BETWEEN_KILLS_SECONDS: Final = 0.01
_LEAVING_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Spec:
    """What the keeper is told. Seconds and bytes; None = no limit.

    Attributes:
        output_fd, notes_fd, control_fd: see the module.
        free_bytes: of the output's disk, below which the run is ended.
        grace_seconds: between asking the command to end and killing it.
        locale_is_ours: the interpreter set LC_CTYPE, not whoever started the run.
    """

    output_fd: int
    notes_fd: int
    control_fd: int
    timeout_seconds: float | None
    output_bytes: int
    memory_bytes: int | None
    free_bytes: int
    grace_seconds: float
    locale_is_ours: bool


class Keeper:
    """One run, from the start of the command to the last byte and the last process."""

    def __init__(self, spec: Spec, cwd: str, argv: list[str]) -> None:
        self._spec = spec
        self._output = Output(spec.output_fd, spec.output_bytes, spec.free_bytes)
        self._arrivals = Arrivals()
        self._unread: deque[int] = deque()
        self._pipes: dict[int, bool] = {}
        self._ended_by: EndedBy | None = None
        self._ended: int | None = None
        self._kill_at: float | None = None
        self._drain_until: float | None = None
        self._memory_at = 0.0
        self._started_at = time.monotonic()
        self._told_to_end = False
        self._waker = self._wake_on_signals()
        self._process = self._start(cwd, argv)

    def _start(self, cwd: str, argv: list[str]) -> subprocess.Popen[bytes]:
        # Waited on before the command exists, so that the order of its first words is seen as well.
        ends = [self._pipe(is_stderr=False), self._pipe(is_stderr=True)]
        for fd in (self._spec.control_fd, self._waker):
            os.set_blocking(fd, False)
            self._arrivals.add(fd)
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                stdout=ends[0],
                stderr=ends[1],
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        finally:
            for end in ends:
                os.close(end)
        note(self._spec.notes_fd, started_line(Started(os.getpid(), process.pid)))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)  # the command alone reads what it was given
        os.close(null)
        return process

    def _pipe(self, *, is_stderr: bool) -> int:
        """A pipe that is read from here; its other end."""
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        self._pipes[reads] = is_stderr
        self._arrivals.add(reads)
        return writes

    def run(self) -> Outcome:
        """Keep going until the command and, where it was stopped, all it started have ended."""
        while not self._over():
            ready = self._arrivals.wait(0.0 if self._unread else self._patience())
            self._unread += (fd for fd in ready if fd in self._pipes and fd not in self._unread)
            for _ in range(len(self._unread)):
                self._take(self._unread.popleft())
            if self._spec.control_fd in ready:
                self._obey()
            if self._waker in ready:
                _empty(self._waker)
            if self._told_to_end:
                self._told_to_end = False
                self._cancel()
            self._reap()
            self._keep_limits()
        left = self._clear()
        status = self._ended
        return Outcome(
            status=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            ended_by=self._ended_by,
            seconds=round(time.monotonic() - self._started_at, 3),
            stderr=tuple(self._output.stderr),
            stderr_cut=self._output.stderr_cut,
            left_behind=left,
        )

    def _over(self) -> bool:
        """The command has ended, and nothing more is to be expected of its pipes."""
        if self._ended is None:
            return False
        return not self._pipes or time.monotonic() >= (self._drain_until or 0.0)

    def _patience(self) -> float | None:
        """Seconds until something has to be done unasked; None where there is nothing."""
        now = time.monotonic()
        moments = [self._kill_at, self._drain_until]
        if self._ended_by is None and self._ended is None:
            if self._spec.timeout_seconds is not None:
                moments.append(self._started_at + self._spec.timeout_seconds)
            if self._spec.memory_bytes is not None:
                moments.append(self._memory_at)
        return min((moment - now for moment in moments if moment is not None), default=None)

    def _take(self, fd: int) -> None:
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._arrivals.remove(fd)
            del self._pipes[fd]
            os.close(fd)
            return
        if len(data) == _READ_BYTES or self._arrivals.has_ended(fd):
            self._unread.append(fd)  # there may be more, of which nothing will be told
        try:
            self._output.write(data, is_stderr=self._pipes[fd])
        except OutputLimitError:
            self._stop("output", at_once=True)
        except OSError:
            self._stop("disk", at_once=True)

    def _obey(self) -> None:
        """Follow what was ordered; to the last byte, since nothing is told of it again."""
        while True:
            try:
                orders = os.read(self._spec.control_fd, 64)
            except BlockingIOError:
                return
            if not orders:
                self._arrivals.remove(self._spec.control_fd)
                self._stop("orphaned", at_once=True)
                return
            for order in orders:
                if order == ord("T"):
                    self._cancel()
                elif self._ended is None:
                    kill_group(self._process.pid, signal.SIGINT)

    def _cancel(self) -> None:
        """End the run politely; asked again, at once."""
        self._stop("cancelled", at_once=self._ended_by is not None)

    def _reap(self) -> None:
        """Take in who has ended: the command, and orphans that the kernel made ours."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._process.pid:
                self._ended = os.waitstatus_to_exitcode(status)
                self._process.returncode = self._ended
                self._drain_until = time.monotonic() + _DRAIN_SECONDS

    def _keep_limits(self) -> None:
        now, spec = time.monotonic(), self._spec
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = None
            self._kill_everything()
        if self._ended_by is not None or self._ended is not None:
            return
        if spec.timeout_seconds is not None and now >= self._started_at + spec.timeout_seconds:
            self._stop("timeout")
        elif spec.memory_bytes is not None and now >= self._memory_at:
            self._memory_at = now + _MEMORY_EVERY_SECONDS
            if resident_bytes(descendants(os.getpid())) > spec.memory_bytes:
                self._stop("memory", at_once=True)

    def _stop(self, reason: EndedBy, *, at_once: bool = False) -> None:
        """End the run: politely first, or at once."""
        if self._ended_by is None and self._ended is None:
            self._ended_by = reason
        if at_once:
            self._kill_at = None
            self._kill_everything()
        elif self._kill_at is None:
            self._kill_at = time.monotonic() + self._spec.grace_seconds
            kill_group(self._process.pid, signal.SIGTERM)

    def _kill_everything(self) -> None:
        """Kill the group and, where we can see them, all that was started below us, until none is left."""
        give_up_at = time.monotonic() + _KILLING_SECONDS
        while time.monotonic() < give_up_at:
            grouped = self._ended is None and kill_group(self._process.pid, signal.SIGKILL)
            below = descendants(os.getpid())
            kill_all(below)
            self._reap()
            if not below and not (grouped and self._ended is None):
                break
            time.sleep(_BETWEEN_KILLS_SECONDS)

    def _clear(self) -> bool:
        """End what is left of the group; True where a command that ended by itself left something."""
        if self._ended_by is not None:
            kill_group(self._process.pid, signal.SIGKILL)
            self._kill_everything()
            return False
        # Who has closed its output may still be on its way out.
        give_up_at = time.monotonic() + (0.0 if self._pipes else _LEAVING_SECONDS)
        self._reap()
        while time.monotonic() < give_up_at and kill_group(self._process.pid, 0):
            time.sleep(_BETWEEN_KILLS_SECONDS)
            self._reap()
        return kill_group(self._process.pid, signal.SIGKILL)

    def _wake_on_signals(self) -> int:
        """A pipe that becomes readable when a child ends or somebody wants the run ended."""
        reads, writes = os.pipe()
        os.set_blocking(writes, False)

        def end(*_: object) -> None:
            self._told_to_end = True

        signal.signal(signal.SIGTERM, end)
        # Handled by doing nothing, since the command would inherit that they are ignored.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, _no_one_dies)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        return reads


def _empty(fd: int) -> None:
    try:
        while os.read(fd, 4096):
            pass
    except BlockingIOError:
        return


def _no_one_dies(number: int, frame: object) -> None:
    """Handle a signal by going on."""


def keep(spec: Spec, cwd: str, argv: list[str]) -> Outcome:
    """Run a command to its end; one that cannot be started ends as it would in a shell."""
    try:
        keeper = Keeper(spec, cwd, argv)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and error.filename != cwd
        said = "command not found" if missing else error.strerror
        told = f"{error.filename or argv[0]}: {said}\n".encode("utf-8", "surrogateescape")
        note(spec.output_fd, told)
        return Outcome(NOT_FOUND if missing else NOT_EXECUTABLE, seconds=0.0, stderr=((0, len(told)),))
    return keeper.run()


def note(fd: int, line: bytes) -> None:
    """Append a line; on a full disk the run goes on without it."""
    with suppress(OSError):
        os.write(fd, line)


def main(argv: list[str]) -> None:
    """Run the command in ``argv``: the specification as JSON, the directory, then the command itself."""
    fields: dict[str, Any] = json.loads(argv[0])
    spec = Spec(**fields)
    become_subreaper()
    if spec.locale_is_ours:
        os.unsetenv("LC_CTYPE")
    outcome = keep(spec, argv[1], argv[2:])
    note(spec.notes_fd, outcome_line(outcome))
