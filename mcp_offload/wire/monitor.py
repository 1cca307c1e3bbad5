"""How a running call hears that it is cancelled, and how far it says it is."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from mcp_offload.errors import OperationCancelledError


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an operation is, in its own unit; ``total`` None = unknown."""

    done: float
    total: float | None
    message: str


class CallMonitor:
    """A :class:`mcp_offload.models.Monitor` between a worker thread and whoever waits for it."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._latest = Progress(0, None, "")
        self._finished_units = 0

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        """Note progress; costs an attribute store.

        Raises:
            OperationCancelledError: :meth:`cancel` was called.
        """
        if self._cancelled.is_set():
            raise OperationCancelledError("The call was cancelled; nothing was acknowledged.")
        before = self._latest
        if done + self._finished_units < before.done:
            # A next phase counts from zero again, and progress may never run backwards.
            self._finished_units = int(before.done)
        whole = None if total is None else total + self._finished_units
        self._latest = Progress(done + self._finished_units, whole, message)

    def cancel(self) -> None:
        """Stop the operation at its next report."""
        self._cancelled.set()

    @property
    def latest(self) -> Progress:
        """The last report."""
        return self._latest
