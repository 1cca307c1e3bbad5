"""Which mode the gate should run in, by what it saw in shadow mode. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from serving.admission import Reason

ENOUGH_REQUESTS: Final = 200
"""Below, an event of which one in a hundred requests suffers may well not have been seen."""

_RECOMPUTE_SHARE: Final = 0.1
_OVERRUN_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do, and why.

    Attributes:
        mode: ``shadow`` or ``on``; None while too little was seen.
        reserve: ``expected`` or ``strict`` for mode on; None otherwise.
        why: one line.
    """

    mode: str | None
    reserve: str | None
    why: str

    def __str__(self) -> str:
        """As a person reads it."""
        if self.mode is None:
            return self.why
        what = "leave it in shadow" if self.mode == "shadow" else f"on, {self.reserve}"
        return f"{what}: {self.why}"


def recommend(status: Mapping[str, Any]) -> Recommendation:
    """Judge the counters of a gate in shadow mode.

    Args:
        status: what :func:`serving.middleware.status.status` tells.
    """
    ranks: list[Mapping[str, Any]] = list(status["ranks"].values())
    requests = sum(status["outcomes"].values())
    held = sum(_held(rank) for rank in ranks)
    overruns = sum(rank["overruns"] for rank in ranks)
    preemptions = sum(engine["preemptions"] for engine in status["engine"].values())
    recompute: float = status["recompute_share"] or 0.0
    if requests < ENOUGH_REQUESTS:
        return Recommendation(None, None, f"too early to say: {requests} of {ENOUGH_REQUESTS} requests seen")
    if not held and not preemptions:
        return Recommendation("shadow", None, f"nothing of {requests:,} requests would have waited")
    if not preemptions and recompute < _RECOMPUTE_SHARE:
        why = f"{held:,} of {requests:,} requests would have waited, yet the engine preempted nothing"
        return Recommendation("shadow", None, why)
    lost = f"{preemptions:,} preemptions since the engine started, {recompute:.0%} of the time recomputing"
    if overruns > _OVERRUN_SHARE * requests:
        why = f"{lost}; {overruns:,} of {requests:,} requests wrote more than expected of them"
        return Recommendation("on", "strict", why)
    return Recommendation("on", "expected", f"{lost}; {held:,} of {requests:,} requests would have waited")


def _held(rank: Mapping[str, Any]) -> int:
    """Requests that would not have run at once; those that waited too long were counted as they came."""
    denied = (count for reason, count in rank["shadow_denied"].items() if reason != Reason.DEADLINE.value)
    return sum(rank["shadow_delayed"].values()) + sum(denied)
