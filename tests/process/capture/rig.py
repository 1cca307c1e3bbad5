"""Runs of real commands under a real keeper, without a store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import psutil

from mcp_offload.capture.notes import Outcome, read_started
from mcp_offload.capture.supervisor import Command, Limits, Supervisor

PATIENCE_SECONDS = 40.0
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so; what is tested is that it comes to be, not how fast."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_SECONDS * 100)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it never came to be")


def gone(pids: list[int]) -> bool:
    """True once none of these processes is there any more."""
    there = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(there, timeout=PATIENCE_SECONDS)
    return not alive


class Run:
    """One run. ``output`` is what was printed so far."""

    def __init__(self, folder: Path, argv: list[str], stdin_fd: int | None, **limits: float) -> None:
        self._fds = [os.open(folder / name, _FLAGS, 0o600) for name in ("out", "notes")]
        given = {"output_bytes": 1 << 20, **limits}
        self.supervisor = Supervisor(
            Command(argv, str(folder), {"PATH": os.environ["PATH"]}),
            Limits(**given),  # type: ignore[arg-type]
            output_fd=self._fds[0],
            notes_fd=self._fds[1],
            stdin_fd=stdin_fd,
        )

    @property
    def output(self) -> bytes:
        return os.pread(self._fds[0], 1 << 21, 0)

    @property
    def keeper_pid(self) -> int:
        until(lambda: read_started(os.pread(self._fds[1], 4096, 0)))
        started = read_started(os.pread(self._fds[1], 4096, 0))
        assert started is not None
        return started.keeper_pid

    def pids(self) -> list[int]:
        """The keeper and all that runs below it."""
        keeper = psutil.Process(self.keeper_pid)
        return [keeper.pid, *(child.pid for child in keeper.children(recursive=True))]

    def outcome(self) -> Outcome:
        """How it ended, when it has."""
        assert self.supervisor.wait(PATIENCE_SECONDS)
        return self.supervisor.outcome()

    def close(self) -> None:
        self.supervisor.close()
        for fd in self._fds:
            os.close(fd)
