"""Whether an engine that still runs has stopped to do anything; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from serving.process.log import Cause
from serving.telemetry import Scrape

HUNG: Final = "hung"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an engine may do nothing before it counts as hung; infinite for ever.

    Attributes:
        start_seconds: from its start until it answers.
        silent_seconds: while it starts, between two lines of its log.
        hang_seconds: once it served, without an answer to its health check.
        stall_seconds: with requests and no step, as its own counters say.
    """

    start_seconds: float = 3600.0
    silent_seconds: float = 900.0
    hang_seconds: float = 60.0
    stall_seconds: float = 300.0


class Pulse:
    """Tells of one life of an engine whether it hangs.

    A health check alone does not show it: the API server answers while the engine behind it stands still.

    Args:
        patience: see there.
        began: the moment of its start, in seconds on a clock that never goes back.
    """

    def __init__(self, patience: Patience, began: float) -> None:
        self._patience = patience
        self._began = began
        self._printed = began
        self._healthy: float | None = None
        self._moved: float | None = None
        self._counters: tuple[float, ...] = ()

    def printed(self, now: float) -> None:
        """It wrote to its log."""
        self._printed = now

    def starting(self, now: float, phase: str) -> Cause | None:
        """Why a start counts as failed that has not ended; None while there is hope."""
        silent, lasted = now - self._printed, now - self._began
        if silent >= self._patience.silent_seconds:
            what = f"printed nothing for {silent:.0f} s in phase '{phase}'"
            return _hung(what, "if that phase may take longer, raise --silent-seconds")
        if lasted >= self._patience.start_seconds:
            what = f"was not ready after {lasted:.0f} s, in phase '{phase}'"
            return _hung(what, "if it only needs longer, raise --start-seconds")
        return None

    def serving(self, now: float, *, healthy: bool, page: Scrape | None) -> Cause | None:
        """Why an engine that was ready counts as hung.

        Args:
            now: the moment.
            healthy: whether it just answered its health check.
            page: its metrics; None where they could not be read.
        """
        if healthy or self._healthy is None:
            self._healthy = now
        if now - self._healthy >= self._patience.hang_seconds:
            return _hung(f"did not answer its health check for {now - self._healthy:.0f} s", "")
        counters = self._counters if page is None else _counters(page)
        waited_for = page is not None and _has_requests(page)
        if self._moved is None or counters != self._counters or not waited_for:
            self._moved, self._counters = now, counters
        if now - self._moved >= self._patience.stall_seconds:
            return _hung(f"has requests and made no step for {now - self._moved:.0f} s", "")
        return None


def _hung(what: str, advice: str) -> Cause:
    more = f"{advice}; " if advice else ""
    return Cause(HUNG, f"the engine {what} and was killed; {more}the log tells more", lasting=False)


def _counters(page: Scrape) -> tuple[float, ...]:
    return tuple(
        value
        for _, sample in sorted(page.engines.items())
        for value in (
            sample.iterations, sample.prompt_tokens, sample.generation_tokens, sample.finished,
            sample.preemptions,
        )
    )  # fmt: skip


def _has_requests(page: Scrape) -> bool:
    return any(sample.running or sample.waiting for sample in page.engines.values())
