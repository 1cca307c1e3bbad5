"""The thread that writes later what need not be written now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

COUNT_SECONDS: Final = 0.005
IDLE_SECONDS: Final = 10.0
"""After so long without anything to do, what was set aside for it is given back."""


class Keeper:
    """Calls ``count`` soon after it was woken, ``settle`` a while after, and ``give_back`` after silence.

    Its thread starts with the first wake and does not keep the process alive.
    """

    def __init__(
        self,
        after_seconds: float,
        count: Callable[[], None],
        settle: Callable[[], None],
        give_back: Callable[[], None],
    ) -> None:
        self._after_seconds = after_seconds
        self._count = count
        self._settle = settle
        self._give_back = give_back
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Say that something waits; costs next to nothing where that was said already."""
        if self._woken.is_set():
            return
        with self._lock:
            self._woken.set()
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._run, name="lease-keeper", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for that."""
        with self._lock:
            self._stopped.set()
            self._woken.set()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        idle_seconds: float | None = None
        while True:
            woken = self._woken.wait(idle_seconds)
            if self._stopped.is_set():
                return
            if not woken:
                self._give_back()
                idle_seconds = None
                continue
            until = time.monotonic() + self._after_seconds
            while time.monotonic() < until:
                if self._stopped.wait(COUNT_SECONDS):
                    return
                self._count()
            self._woken.clear()  # first: what comes meanwhile wakes it again
            self._settle()
            idle_seconds = IDLE_SECONDS
