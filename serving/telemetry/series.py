"""Looks at a node as JSON lines, so that what a detector saw can be kept and shown to it again; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, cast

from serving.telemetry.engine import EngineSample, Scrape, total
from serving.telemetry.modes import Look

_EMPTY: Final = EngineSample()
_KNOWN: Final = frozenset(EngineSample.__slots__)


def look_of(seconds: float, scrape: Scrape, gate: Mapping[str, Any] | None = None) -> Look:
    """One look, from a metrics page and from what ``/gate/status`` answered at the same time."""
    ranks: list[Mapping[str, Any]] = list((gate or {}).get("ranks", {}).values())
    leasable = sum(rank["leasable"] for rank in ranks)
    return Look(
        seconds,
        total(scrape),
        recompute_share=gate.get("recompute_share") if gate else None,
        leased=sum(rank["leased"] for rank in ranks) / leasable if leasable else None,
        gate_waiting=sum(sum(rank.get("waiting", {}).values()) for rank in ranks),
    )


def as_line(look: Look) -> str:
    """A look as one line of JSON; counters that are 0 are left out."""
    engine = {
        name: value
        for name in EngineSample.__slots__
        if (value := getattr(look.engine, name)) != getattr(_EMPTY, name)
    }
    told = {field.name: getattr(look, field.name) for field in fields(Look) if field.name != "engine"}
    return json.dumps({**told, "engine": engine}, separators=(",", ":"))


def parse_series(lines: Iterable[str]) -> Iterator[Look]:
    """Looks of a series, one JSON object a line; blank lines and those that begin with ``#`` are passed over.

    Raises:
        ValueError: a line is no look, or its time lies before the last one's; the message names the line.
    """
    last: float | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            look = _look(json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            told = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"line {number} is no look at a node: {told}") from error
        if last is not None and look.seconds < last:
            raise ValueError(f"line {number} is from before the line above it")
        last = look.seconds
        yield look


def _look(value: object) -> Look:
    if not isinstance(value, dict):
        raise TypeError("it is no JSON object")
    told = cast("Mapping[str, Any]", value)
    counters: Mapping[str, Any] = told["engine"]
    if unknown := counters.keys() - _KNOWN:
        raise ValueError(f"{', '.join(sorted(unknown))} is no counter of an engine")
    engine = EngineSample(**{name: _counter(name, counters[name]) for name in counters})
    share, leased = told.get("recompute_share"), told.get("leased")
    return Look(
        float(told["seconds"]),
        engine,
        recompute_share=None if share is None else float(share),
        leased=None if leased is None else float(leased),
        gate_waiting=int(told.get("gate_waiting", 0)),
    )


def _counter(name: str, value: Any) -> Any:
    """A value of its field's type; texts and switches stay as they are."""
    if isinstance(getattr(_EMPTY, name), (int, float)) and not isinstance(value, (int, float)):
        raise TypeError(f"{name} cannot be {value!r}")
    return value
