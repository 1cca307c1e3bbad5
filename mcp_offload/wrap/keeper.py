"""The keeper of a wrapped server: a process that starts it, outlives us if need be, and ends it.

Started by :mod:`mcp_offload.wrap.process`; standard library only, one thread. The server has the
keeper's standard streams. The end of the control pipe means that whoever wanted the server is gone or
through with it: the server, whose input has ended by then, gets a while to leave by itself, is then
asked to, and is killed at last with all that it started. On Linux it is killed with the keeper, too.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Final

from mcp_offload.capture.processes import (
    become_subreaper,
    descendants,
    die_with_parent,
    kill_all,
    kill_group,
)

# Source: the shell's own, POSIX.1-2024 XCU 2.8.2.
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
SIGNALLED: Final = 128

_KILLING_SECONDS: Final = 5.0
_BETWEEN_KILLS_SECONDS: Final = 0.01


class Keeper:
    """One server, from its start to the end of its last process."""

    def __init__(self, control_fd: int, grace_seconds: float, argv: list[str]) -> None:
        self._control_fd = control_fd
        self._grace_seconds = grace_seconds
        self._ended: int | None = None
        self._waker = _wake_on_signals()
        self._process = subprocess.Popen(argv, start_new_session=True, preexec_fn=die_with_parent)
        # Only the server may hold the pipes, so that each side sees when the other is gone.
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)

    def run(self) -> int:
        """Keep the server until it ends or is unwanted; its exit status, as a shell tells it."""
        if not self._wait(None):
            for number in (None, signal.SIGTERM):
                if number is not None:
                    kill_group(self._process.pid, number)
                if self._wait(self._grace_seconds, unwanted=True):
                    break
        self._clear()
        status = self._ended if self._ended is not None else -int(signal.SIGKILL)
        return status if status >= 0 else SIGNALLED - status

    def _wait(self, seconds: float | None, *, unwanted: bool = False) -> bool:
        """Wait for the server's end (True), or until it is unwanted or so long (False)."""
        until = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._waker, select.POLLIN)
        if not unwanted:
            poll.register(self._control_fd, select.POLLIN)
        while True:
            self._reap()
            if self._ended is not None:
                return True
            left_ms = None if until is None else max(0.0, until - time.monotonic()) * 1000
            ready = dict(poll.poll(left_ms))
            if self._control_fd in ready or (until is not None and not ready):
                return False
            _empty(self._waker)

    def _reap(self) -> None:
        """Take in who has ended: the server, and orphans that the kernel made ours."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._process.pid:
                    self._ended = os.waitstatus_to_exitcode(status)
                    self._process.returncode = self._ended

    def _clear(self) -> None:
        """Kill what is left of the server's group and, where we can see them, of all it started."""
        give_up_at = time.monotonic() + _KILLING_SECONDS
        while time.monotonic() < give_up_at:
            kill_group(self._process.pid, signal.SIGKILL)
            below = descendants(os.getpid())
            kill_all(below)
            self._reap()
            if self._ended is not None and not below:
                return
            time.sleep(_BETWEEN_KILLS_SECONDS)


def _wake_on_signals() -> int:
    """A pipe that becomes readable when a child ends; what ends others does not end the keeper."""
    reads, writes = os.pipe()
    for fd in (reads, writes):
        os.set_blocking(fd, False)
    # Handled by doing nothing, since the server would inherit that they are ignored.
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, _noted)
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    return reads


def _noted(number: int, frame: object) -> None:
    """Handle a signal by going on."""


def _empty(fd: int) -> None:
    with suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass


def main(argv: list[str]) -> None:
    """Keep the server in ``argv``: the specification as JSON, then its command line."""
    spec = json.loads(argv[0])
    become_subreaper()
    if spec["locale_is_ours"]:  # the interpreter set it, not whoever starts the server
        os.unsetenv("LC_CTYPE")
    try:
        keeper = Keeper(spec["control_fd"], spec["grace_seconds"], argv[1:])
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        said = "command not found" if missing else error.strerror
        with suppress(OSError):
            os.write(2, f"{argv[1]}: {said}\n".encode("utf-8", "surrogateescape"))
        sys.exit(NOT_FOUND if missing else NOT_EXECUTABLE)
    sys.exit(keeper.run())
