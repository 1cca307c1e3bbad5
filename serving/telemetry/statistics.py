"""Intervals and quantiles in closed form; exact, without a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def quantile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least this part of them does not exceed.

    Raises:
        ValueError: there are none.
    """
    if not values:
        raise ValueError("there is no quantile of nothing")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def proportion_bounds(events: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Between what the true probability lies, exactly; each end at ``confidence``.

    Both ends are one-sided, so that either may be claimed alone; without any event the upper one is
    1 - (1 - confidence)^(1 / trials), the "rule of three" (3 / trials at 95 %).
    Source: Clopper, Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).

    Raises:
        ValueError: there are more events than trials.
    """
    if not 0 <= events <= trials:
        raise ValueError(f"{events} events cannot come of {trials} trials")
    if trials == 0:
        return 0.0, 1.0
    alpha = 1 - confidence
    low = 0.0 if events == 0 else _bisect(lambda p: 1 - _at_most(events - 1, trials, p) >= alpha)
    high = 1.0 if events == trials else _bisect(lambda p: _at_most(events, trials, p) <= alpha)
    return low, high


def clean_trials_needed(share: float, confidence: float = 0.95) -> int:
    """Trials without any event after which the probability is under ``share`` at that confidence."""
    return math.ceil(math.log(1 - confidence) / math.log1p(-share))


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Order statistics between which the true median lies; None where there are too few values.

    Whatever the distribution: each value lies below the median with probability one half.
    """
    ordered, count = sorted(values), len(values)
    beyond = 0.0
    rank = -1
    while rank + 1 < count / 2:
        beyond += math.comb(count, rank + 1) / 2**count
        if 2 * beyond > 1 - confidence:
            break
        rank += 1
    return None if rank < 0 else (ordered[rank], ordered[count - 1 - rank])


def _at_most(events: int, trials: int, share: float) -> float:
    """The probability of at most so many events."""
    if share <= 0:
        return 1.0
    if share >= 1:
        return float(events >= trials)
    odds, rest = math.log(share), math.log1p(-share)
    whole = math.lgamma(trials + 1)
    terms = (
        whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * odds + (trials - k) * rest
        for k in range(events + 1)
    )
    return min(1.0, math.fsum(math.exp(term) for term in terms))


def _bisect(reached: Callable[[float], bool]) -> float:
    """The least share at which a condition that stays true once it is comes true."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if reached(middle):
            high = middle
        else:
            low = middle
    return high
