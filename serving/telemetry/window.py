"""What was seen of a node lately, bounded by time and by number; knows no clock of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from serving.telemetry.engine import Scrape, total
from serving.telemetry.modes import Look
from serving.telemetry.report import Observed
from serving.telemetry.requests import ServedRequest
from serving.telemetry.series import look_of

MOST_REQUESTS: Final = 10_000
MOST_LOOKS: Final = 1_000


class Window:
    """Requests and looks of the last seconds.

    Attributes:
        seconds: how far it reaches back.
        restarts: of the engine, seen as a page whose process began at another time than the one before.

    Args:
        seconds: see above.
        base: what is known of the node beside what is seen; its ``requests``, ``engine`` and ``gate`` are
            those of the window.
    """

    def __init__(self, seconds: float, base: Observed | None = None) -> None:
        self.seconds = seconds
        self.restarts = 0
        self._base = base or Observed()
        self._requests: deque[ServedRequest] = deque(maxlen=MOST_REQUESTS)
        self._pages: deque[tuple[float, Scrape]] = deque(maxlen=MOST_LOOKS)
        self._looks: deque[Look] = deque(maxlen=MOST_LOOKS)
        self._gate: Mapping[str, Any] | None = None

    def saw(self, now: float, scrape: Scrape | None, gate: Mapping[str, Any] | None = None) -> Look | None:
        """Take what a metrics page and the gate's status said; None where there was no page."""
        self._gate = gate
        look = None
        if scrape is not None and scrape.engines:
            if self._pages and self._pages[-1][1].started_seconds != scrape.started_seconds:
                self.restarts += 1
            self._pages.append((now, scrape))
            look = look_of(now, scrape, gate)
            self._looks.append(look)
        self._forget(now)
        return look

    def served(self, requests: Iterable[ServedRequest]) -> None:
        """Take requests that ended."""
        self._requests.extend(requests)

    def looks(self) -> tuple[Look, ...]:
        """Those of the window, oldest first."""
        return tuple(self._looks)

    def requests(self, since: float) -> tuple[ServedRequest, ...]:
        """Those that ended since a moment."""
        return tuple(request for request in self._requests if _ended(request) >= since)

    def observed(self, now: float) -> Observed:
        """All that is known of the window: requests that ended in it, and counters since its first page.

        Work that reaches across an edge of the window is counted where its request ends, which evens out.
        """
        if not self._pages:
            requests = self.requests(now - self.seconds)
            return replace(self._base, requests=requests, gate=self._gate, restarts_seen=self.restarts)
        (began, first), (_, last) = self._pages[0], self._pages[-1]
        return replace(
            self._base,
            requests=self.requests(began),
            engine=total(last, first),
            gate=self._gate,
            restarts_seen=self.restarts,
            seconds=now - began if now > began else None,
        )

    def _forget(self, now: float) -> None:
        for kept in (self._pages, self._looks):
            # The last one before the window stays: counters are told from there on.
            while len(kept) > 1 and _when(kept[1]) <= now - self.seconds:
                kept.popleft()


def _when(kept: tuple[float, Scrape] | Look) -> float:
    return kept.seconds if isinstance(kept, Look) else kept[0]


def _ended(request: ServedRequest) -> float:
    return request.arrived_unix_seconds + (request.last_seconds or request.waited_seconds)
