"""Caps live agents when, and only as far as, their prefixes are recomputed; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """What was measured over the last control period.

    Attributes:
        recompute_share: time spent computing prompt tokens that had been computed before, over the
            time that passed; see :func:`recompute_share`. What an agent computes when it first gets a
            session lease is not counted: its prefix was not promised to be there.
        preempted_share: requests that the engine preempted, over those that ended.
        session_share: session leases over leasable blocks at its end.
        sessions_wait: whether a new agent waited for a session lease.
    """

    recompute_share: float
    preempted_share: float
    session_share: float
    sessions_wait: bool


@dataclass(frozen=True, slots=True)
class CapRule:
    """When the cap falls and rises. The constants are settings, not facts; measure your own load.

    Attributes:
        high: a recompute share above this lowers the cap, so that no new agent comes in.
        severe: above this the youngest agents lose their leases too.
        low: below this it may rise.
        preempted: a preempted share above this lowers the cap.
        fall: the factor by which it falls, from what session leases came to.
        rise: what is added when it rises.
        near: within this part of where it last fell from it rises by a quarter of that.
        hold: periods after a fall in which it stays, because requests that began before tell of then.
        least: it never falls below this.
        release: above this it is lifted altogether.
    """

    high: float = 0.10
    severe: float = 0.25
    low: float = 0.03
    preempted: float = 0.005
    fall: float = 0.85
    rise: float = 0.04
    near: float = 0.85
    hold: int = 5
    least: float = 0.5
    release: float = 4.0


class SessionCap:
    """The share of the pool that session leases may come to; infinite until recomputation is measured.

    A lightly loaded node never recomputes, hence is never capped.

    Attributes:
        share: for the next period.
        trim: whether agents that are live already must fit in it.
    """

    def __init__(self, rule: CapRule | None = None) -> None:
        self._rule = rule or CapRule()
        self.share = math.inf
        self.trim = False
        self._held = 0
        self._failed = math.inf

    def update(self, window: Window) -> float:
        """The share for the next period."""
        rule = self._rule
        self.trim = False
        if self._held:
            self._held -= 1
        elif window.recompute_share > rule.high or window.preempted_share > rule.preempted:
            self._fall(window)
        elif window.recompute_share < rule.low and window.sessions_wait and math.isfinite(self.share):
            self._rise()
        return self.share

    def _fall(self, window: Window) -> None:
        rule = self._rule
        self._failed = window.session_share
        self._held = rule.hold
        self.trim = window.recompute_share > rule.severe
        self.share = max(rule.least, window.session_share * rule.fall)

    def _rise(self) -> None:
        rule = self._rule
        close = self.share > rule.near * self._failed
        self.share += rule.rise / 4 if close else rule.rise
        if self.share > rule.release:
            self.share = math.inf


def recompute_share(
    prompt_tokens: int, cached_tokens: int, new_tokens: int, prefill_seconds_per_token: float, seconds: float
) -> float:
    """The part of the time that went into prompt tokens computed before.

    Args:
        prompt_tokens: of all requests that ended in the period.
        cached_tokens: what the engine took from its prefix cache.
        new_tokens: what no earlier request of the same session held: each prompt less the prompt and
            the output before it.
        prefill_seconds_per_token: of the node.
        seconds: the period.
    """
    if seconds <= 0:
        return 0.0
    excess = max(0, prompt_tokens - cached_tokens - new_tokens)
    return min(1.0, excess * prefill_seconds_per_token / seconds)
