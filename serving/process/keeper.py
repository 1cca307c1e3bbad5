"""The keeper: a process that runs one engine and lets nothing of it outlive whoever started it.

Run as a program with the standard library alone: ``keeper.py CONTROL GRACE_SECONDS PROGRAM [ARGUMENT...]``.
CONTROL is the descriptor of a socket. On it the engine's process number is told; ``T`` ends the engine, its
processes are killed after GRACE_SECONDS or at a second ``T``, and when the socket ends they are killed at
once, since nobody is left to be served.
The exit status is the engine's, or 128 and the signal that ended it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

LINUX: Final = sys.platform == "linux"
NOT_FOUND: Final = 127

# Source: prctl(2), linux/prctl.h.
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_KILLING_SECONDS: Final = 10.0


def _prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the thread that started this process ends. Linux alone."""
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def session_members(session: int) -> list[int]:
    """Processes of a session that are not zombies. Source: proc_pid_stat(5), fields 3 and 6."""
    found: list[int] = []
    for name in os.listdir("/proc") if LINUX else ():
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b") ")[2].split()
                if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
                    found.append(int(name))
    return found


def kill_session(session: int) -> None:
    """Kill every process of a session, those included that appear meanwhile."""
    until = time.monotonic() + _KILLING_SECONDS
    while True:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(session, signal.SIGKILL)
        members = session_members(session)
        for process in members:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not members or time.monotonic() > until:
            return
        select.select([], [], [], 0.01)


def _reap() -> None:
    """Collect descendants that came to us when their own parent ended; not before the engine itself."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def keep(control: int, grace_seconds: float, argv: list[str]) -> int:
    """Run the engine until it ends or has to; returns the exit status."""
    # Whoever kept us ends us by the socket; a terminal's signals go to them alone.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    waker, wakes = os.pipe()
    for end in (waker, wakes, control):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, _wake)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    try:
        engine = subprocess.Popen(argv, start_new_session=True, preexec_fn=_become_engine, close_fds=True)
    except OSError as error:
        sys.stderr.write(f"{argv[0]} cannot be started: {error.strerror}\n")
        return NOT_FOUND
    try:
        os.write(control, b"%d" % engine.pid)
        _watch(engine, control, waker, grace_seconds)
    except OSError:
        pass  # whoever started us is gone
    finally:
        kill_session(engine.pid)
    status = engine.wait()
    _reap()
    return status if status >= 0 else 128 - status


def _wake(number: int, frame: FrameType | None) -> None:
    """Python writes to the waker only where a signal has a handler."""


def _become_engine() -> None:
    """What was ignored by the keeper is not by the engine."""
    for restored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(restored, signal.SIG_DFL)
    die_with_parent()


def _watch(engine: subprocess.Popen[bytes], control: int, waker: int, grace_seconds: float) -> None:
    kill_at: float | None = None
    while engine.poll() is None:
        patience = None if kill_at is None else max(0.0, kill_at - time.monotonic())
        ready, _, _ = select.select([control, waker], [], [], patience)
        if waker in ready:
            os.read(waker, 4096)
        if control in ready:
            orders = os.read(control, 64)  # ends the run where it fails
            if not orders or kill_at is not None or len(orders) > 1:
                return
            engine.send_signal(signal.SIGTERM)
            kill_at = time.monotonic() + grace_seconds
        if kill_at is not None and time.monotonic() >= kill_at:
            return


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
