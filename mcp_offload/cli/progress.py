"""Progress of long operations on a terminal."""

from __future__ import annotations

import time
from typing import Final

from mcp_offload.cli.console import Console

_QUIET_SECONDS: Final = 1.0
_INTERVAL_SECONDS: Final = 0.1


class ConsoleMonitor:
    """A monitor that shows a line once an operation has lasted a second, where a person can see it.

    A context manager: leaving it removes the line. Interruption comes by KeyboardInterrupt, which every
    operation lets through, so this never cancels.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = False
        self._next = time.monotonic() + _QUIET_SECONDS

    def __enter__(self) -> ConsoleMonitor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._console.progress("")

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        """Show the state, at most ten times a second."""
        now = time.monotonic()
        if now < self._next or not self._console.shows_progress:
            return
        self._next = now + _INTERVAL_SECONDS
        self._shown = True
        share = f"{100 * done // total}%" if total else f"{done:,}"
        self._console.progress(f"{message} {share}".strip())
