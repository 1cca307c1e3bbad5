"""The four ways in which a node that serves agents fails, found in series of its counters.

The thresholds are settings chosen on simulated load, not facts; the runbook says what to do about each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from serving.telemetry.engine import EngineSample

_AS_MANY = 0.8
"""Part of the streams of before that counts as no fewer: one or two may just have ended at a look."""


class Mode(StrEnum):
    """A way to fail."""

    SLOW_DOWN_SPIRAL = "slow_down_spiral"
    """Contexts grow, each step takes longer, answers take longer, and nothing more comes out for it."""

    EVICTION_STORM = "eviction_storm"
    """Idle agents' prefixes are evicted and computed again, or running requests are preempted."""

    PREFILL_FREEZE = "prefill_freeze"
    """Long prompts hold up every stream that decodes."""

    STATIC_WASTE = "static_waste"
    """Requests wait for room that is promised to others and not used by them."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a node.

    Attributes:
        seconds: when, on any clock that never goes back.
        engine: counters since the engine started.
        recompute_share: as the gate measures it; None without a gate.
        leased: share of the leasable blocks that are leased; None without a gate.
        gate_waiting: requests that wait at the gate.
    """

    seconds: float
    engine: EngineSample
    recompute_share: float | None = None
    leased: float | None = None
    gate_waiting: int = 0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a mode is called.

    Attributes:
        periods: that a mode must hold without a break.
        slower: a spiral: the step of a stream takes this many times as long as in the first of the periods.
        gain: a spiral: and the node writes less than this many times as much.
        recompute_share: a storm: time spent computing again.
        preempted: a storm: preemptions per request that ended.
        frozen: a freeze: share of the streams' time that they stand still in steps of over a second; each
            such step counts for one second, the least that it took.
        unused: waste: leased less active, share of the pool, while requests wait.
    """

    periods: int = 3
    slower: float = 1.8
    gain: float = 1.1
    recompute_share: float = 0.25
    preempted: float = 0.05
    frozen: float = 0.05
    unused: float = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """A mode that held for a while.

    Attributes:
        mode: which.
        begin_seconds, end_seconds: of the readings between which it held.
        evidence: the worst period, in a sentence.
    """

    mode: Mode
    begin_seconds: float
    end_seconds: float
    evidence: str


@dataclass(frozen=True, slots=True)
class _Period:
    """What happened between two readings."""

    begin: float
    end: float
    step_seconds: float | None
    slow_share: float
    written_per_second: float
    frozen: bool
    preempted: float
    running: float
    recompute_share: float
    unused: float
    waiting: float


def find_modes(readings: Sequence[Look], thresholds: Thresholds | None = None) -> tuple[Found, ...]:
    """Every mode that held for long enough, in the order of :class:`Mode` and of time.

    Readings across a restart of the engine, whose counters fall, are not compared.
    """
    rule = thresholds or Thresholds()
    periods = [_period(before, after) for before, after in pairwise(readings)]
    known = [period for period in periods if period is not None]
    found = [*_spirals(known, rule)]
    for mode, holds, told in _checks(rule):
        found.extend(_lasting(mode, known, holds, told, rule.periods))
    return tuple(found)


def _period(before: Look, after: Look) -> _Period | None:
    first, last = before.engine, after.engine
    seconds = after.seconds - before.seconds
    if seconds <= 0 or last.steps < first.steps or last.generation_tokens < first.generation_tokens:
        return None
    steps = last.steps - first.steps
    written = last.generation_tokens - first.generation_tokens
    slow = steps - (last.steps_within_second - first.steps_within_second) if last.steps_within_second else 0.0
    passed = last.step_seconds - first.step_seconds
    ended = last.finished - first.finished
    preempted = last.preemptions - first.preemptions
    return _Period(
        begin=before.seconds,
        end=after.seconds,
        step_seconds=passed / steps if steps else None,
        slow_share=min(1.0, slow / passed) if passed > 0 else 0.0,
        written_per_second=written / seconds,
        frozen=written == 0 and first.running > 0 and last.running > 0 and seconds > 1,
        preempted=preempted / max(1.0, ended),
        running=last.running,
        recompute_share=after.recompute_share or 0.0,
        unused=max(0.0, (after.leased or 0.0) - last.kv_usage),
        waiting=last.waiting + after.gate_waiting,
    )


_Check = tuple[Mode, Callable[[_Period], bool], Callable[[_Period], str]]


def _checks(rule: Thresholds) -> Iterator[_Check]:
    yield (
        Mode.EVICTION_STORM,
        lambda p: p.recompute_share > rule.recompute_share or p.preempted > rule.preempted,
        lambda p: f"{p.recompute_share:.0%} of the time recomputed, {p.preempted:.2f} preemptions a request",
    )
    yield (
        Mode.PREFILL_FREEZE,
        lambda p: p.frozen or p.slow_share > rule.frozen,
        lambda p: (
            "nothing was written"
            if p.frozen
            else f"streams stood still for {p.slow_share:.0%} of their time or more, over a second at once"
        ),
    )
    yield (
        Mode.STATIC_WASTE,
        lambda p: p.unused > rule.unused and p.waiting > 0,
        lambda p: f"{p.unused:.0%} of the pool is leased and not used while {p.waiting:.0f} requests wait",
    )


def _lasting(
    mode: Mode,
    periods: Sequence[_Period],
    holds: Callable[[_Period], bool],
    told: Callable[[_Period], str],
    least: int,
) -> Iterator[Found]:
    row: list[_Period] = []
    for period in [*periods, None]:
        if period is not None and holds(period) and (not row or row[-1].end == period.begin):
            row.append(period)
            continue
        if len(row) >= least:
            yield Found(mode, row[0].begin, row[-1].end, told(row[len(row) // 2]))
        row = [period] if period is not None and holds(period) else []


def _spirals(periods: Sequence[_Period], rule: Thresholds) -> Iterator[Found]:
    """Steps that take longer from period to period while no more is written and no fewer streams run."""
    row: list[_Period] = []
    for period in [*periods, None]:
        if period is not None and period.step_seconds is not None and _follows(row, period):
            row.append(period)
            continue
        yield from _spiral(row, rule)
        row = [period] if period is not None and period.step_seconds is not None else []


def _follows(row: Sequence[_Period], period: _Period) -> bool:
    if not row:
        return True
    last = row[-1]
    return last.end == period.begin and (period.step_seconds or 0) > (last.step_seconds or 0)


def _spiral(row: Sequence[_Period], rule: Thresholds) -> Iterator[Found]:
    if len(row) <= rule.periods:
        return
    first, last = row[0], row[-1]
    slower = (last.step_seconds or 0) / (first.step_seconds or 1)
    gained = last.written_per_second / max(first.written_per_second, 1e-9)
    if slower >= rule.slower and gained < rule.gain and last.running >= _AS_MANY * first.running:
        told = f"a step takes {slower:.1f} times as long, and the node writes {gained:.2f} times as much"
        yield Found(Mode.SLOW_DOWN_SPIRAL, first.begin, last.end, told)
