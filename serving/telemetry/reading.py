"""What a metric read: a figure with bounds, and what is wrong with it where something is."""

from __future__ import annotations

from dataclasses import dataclass

from serving.profile.figure import Figure


@dataclass(frozen=True)
class Reading(Figure):
    """A figure that was read from a run.

    Attributes:
        low, high: what the value lies between; None where no bound is known. ``bounds`` says of which kind.
        bounds: what the bounds are, as ``95 % interval of requests``.
        samples: how many requests, or other events, it rests on; None where that means nothing.
        impossible: why no machine can have done this, so that the measurement is wrong; empty where it can.
        note: what to keep in mind; where ``value`` is None, what is missing.
        group: distinguishes readings of one name, as a depth bucket does.
    """

    low: float | None = None
    high: float | None = None
    bounds: str = ""
    samples: int | None = None
    impossible: str = ""
    note: str = ""
    group: str = ""
