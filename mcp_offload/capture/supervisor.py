"""Our side of a run: starts the keeper, tells it what to do, and learns how the run ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_offload.capture.notes import LOST, Outcome, read_outcome, read_started
from mcp_offload.capture.processes import kill_group

_MAIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from mcp_offload.capture.keeper import main; main(sys.argv[2:])"
)
_MOST_NOTES_BYTES: Final = 4 * 1024 * 1024
_SHELL: Final = "/bin/sh"


@dataclass(frozen=True, slots=True)
class Command:
    """What to run.

    Attributes:
        argv: the program and its arguments; no shell looks at them.
        cwd: absolute directory, already confined by the caller.
        environment: every variable it gets.
    """

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use; None = no limit.

    Attributes:
        timeout_seconds: from the start; it is then asked to end, and killed after ``grace_seconds``.
        output_bytes: of both streams together; what fits is kept.
        memory_bytes: resident, of all its processes together, looked at five times a second (Linux).
        free_bytes: of the output's disk, below which it is ended.
    """

    timeout_seconds: float | None = None
    output_bytes: int
    memory_bytes: int | None = None
    free_bytes: int = 0
    grace_seconds: float = 2.0


def shell_argv(line: str) -> tuple[str, ...]:
    """What runs a command line in the system's shell."""
    return (_SHELL, "-c", line)


class Supervisor:
    """A running command. Thread-safe.

    It runs on without us only as long as this process lives: the keeper notices when we are gone.

    Args:
        output_fd: opened for appending, where everything printed goes.
        notes_fd: opened for appending and reading; see :mod:`mcp_offload.capture.notes`. Both stay the
            caller's.
        stdin_fd: what the command reads; None = nothing.

    Raises:
        OSError: the keeper cannot be started. (A command that cannot is a run that ends with 126 or 127.)
    """

    def __init__(
        self, command: Command, limits: Limits, *, output_fd: int, notes_fd: int, stdin_fd: int | None = None
    ) -> None:
        self._notes_fd = notes_fd
        control, self._control = os.pipe()
        spec = {
            "output_fd": output_fd,
            "notes_fd": notes_fd,
            "control_fd": control,
            "timeout_seconds": limits.timeout_seconds,
            "output_bytes": limits.output_bytes,
            "memory_bytes": limits.memory_bytes,
            "free_bytes": limits.free_bytes,
            "grace_seconds": limits.grace_seconds,
            "locale_is_ours": "LC_CTYPE" not in command.environment,
        }
        root = str(Path(__file__).parents[2])
        try:
            # -I -S: nothing but the standard library, whatever the environment says. A session of its
            # own: what ends ours does not end the one that has to clear up.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _MAIN, root, json.dumps(spec), command.cwd, *command.argv],
                stdin=subprocess.DEVNULL if stdin_fd is None else stdin_fd,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=dict(command.environment),
                pass_fds=(output_fd, notes_fd, control),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._control)
            raise
        finally:
            os.close(control)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all is over, or so long; True where it is."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def interrupt(self) -> None:
        """Send SIGINT to the command's group, as Ctrl-C would."""
        self._order(b"I")

    def cancel(self) -> None:
        """Ask the command to end and kill it after the grace; called again, kill it now."""
        self._order(b"T")

    def _order(self, order: bytes) -> None:
        with suppress(OSError):  # it has ended by itself
            os.write(self._control, order)

    def kill(self) -> None:
        """Kill everything now and wait until it is gone."""
        control, self._control = self._control, -1
        if control >= 0:
            os.close(control)
        self.wait()

    def outcome(self) -> Outcome:
        """How it ended, once :meth:`wait` said so; what a killed keeper left running is killed."""
        notes = os.pread(self._notes_fd, _MOST_NOTES_BYTES, 0)
        outcome = read_outcome(notes)
        if outcome is not None:
            return outcome
        started = read_started(notes)
        if started is not None:
            kill_group(started.group, signal.SIGKILL)
        return LOST

    def close(self) -> None:
        """Kill what still runs, and let go of the keeper."""
        self.kill()
