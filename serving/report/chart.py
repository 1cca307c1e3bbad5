"""What a picture shows, without the library that draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]
Kind: TypeAlias = Literal["line", "dashed", "points", "steps", "area"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        label: what it measures, with its unit.
        log: its scale is logarithmic.
        from_zero: it begins at 0.
        ticks: where it is marked, and by what; empty for what suits.
    """

    label: str
    log: bool = False
    from_zero: bool = False
    ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour.

    Attributes:
        label: in the legend; a series without one is not named there.
        points: x and y; an empty series is left out.
        kind: ``line`` and ``dashed`` join them; ``steps`` holds each value until the next; ``area`` is steps
            filled down to 0; ``points`` joins nothing.
        intervals: between what each point's true y lies, drawn as bars.
        names: written beside the points.
        color: a place in the palette; series that belong together share one. None takes the next.
    """

    label: str
    points: Sequence[Point]
    kind: Kind = "line"
    intervals: Sequence[tuple[float, float]] = ()
    names: Sequence[str] = ()
    color: int | None = None

    def __post_init__(self) -> None:
        for what, values in (("intervals", self.intervals), ("names", self.names)):
            if values and len(values) != len(self.points):
                raise ValueError(f"{self.label!r} has {len(self.points)} points and {len(values)} {what}")


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: above it.
        x, y: its axes.
        series: drawn in order, the last above the others.
        levels: horizontal lines, as a limit or a goal, by their names.
    """

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    levels: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture: panels side by side.

    Attributes:
        title: above all panels.
        panels: one at least.
        note: beneath, small: machine, versions, or that nothing here may be quoted.
        columns: panels in a row.
    """

    title: str
    panels: Sequence[Panel]
    note: str = ""
    columns: int = 2
