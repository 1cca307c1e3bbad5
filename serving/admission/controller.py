"""Caps live agents when, and only as far as, their prefixes are recomputed; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """What was measured over the last control period.

    Attributes:
        recompute_share: time spent computing prompt tokens that had been computed before, over the
            time that passed; see :func:`recompute_share`.
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
        high: a recompute share above this lowers the cap.
        low: below this it may rise.
        preempted: a preempted share above this lowers the cap.
        fall: the factor by which it falls.
        rise: what is added when it rises.
        least: it never falls below this.
        release: above this it is lifted altogether.
    """

    high: float = 0.10
    low: float = 0.03
    preempted: float = 0.005
    fall: float = 0.85
    rise: float = 0.05
    least: float = 0.5
    release: float = 4.0


class SessionCap:
    """The share of the pool that session leases may come to; infinite until recomputation is measured.

    A lightly loaded node never recomputes, hence is never capped.
    """

    def __init__(self, rule: CapRule | None = None) -> None:
        self._rule = rule or CapRule()
        self.share = math.inf

    def update(self, window: Window) -> float:
        """The share for the next period."""
        rule = self._rule
        if window.recompute_share > rule.high or window.preempted_share > rule.preempted:
            start = min(self.share, max(window.session_share, rule.least))
            self.share = max(rule.least, start * rule.fall)
        elif window.recompute_share < rule.low and window.sessions_wait and math.isfinite(self.share):
            self.share += rule.rise
            if self.share > rule.release:
                self.share = math.inf
        return self.share


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
