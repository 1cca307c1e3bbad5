"""How often a server that ends may be started again. Pure."""

from __future__ import annotations

from collections import deque
from typing import Final

MOST_STARTS: Final = 5
WINDOW_SECONDS: Final = 60.0


class Lives:
    """Grants at most ``most_starts`` starts within ``window_seconds``."""

    def __init__(self, most_starts: int = MOST_STARTS, window_seconds: float = WINDOW_SECONDS) -> None:
        self._most_starts = most_starts
        self._window_seconds = window_seconds
        self._starts: deque[float] = deque()

    def take(self, now: float) -> float:
        """Grant a start at ``now`` (seconds of any clock): 0, or the seconds until one would be."""
        while self._starts and now - self._starts[0] >= self._window_seconds:
            self._starts.popleft()
        if len(self._starts) >= self._most_starts:
            return self._window_seconds - (now - self._starts[0])
        self._starts.append(now)
        return 0.0
