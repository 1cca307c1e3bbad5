"""Each way to fail: a series that shows it, and one like it that must not be called so.

The series are simulated: counters grow from period to period as given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.telemetry import EngineSample
from serving.telemetry.modes import Found, Look, Mode, find_modes

GAUGES = ("running", "waiting", "kv_usage")


def series(periods: Sequence[Mapping[str, float]], **gate: Sequence[float]) -> list[Look]:
    """Looks ten seconds apart; counters of each period are added to those before."""
    sample = EngineSample(running=4)
    looks = [Look(0.0, replace(sample))]
    for place, period in enumerate(periods):
        for name, value in period.items():
            setattr(sample, name, value if name in GAUGES else getattr(sample, name) + value)
        told = {name: values[place] for name, values in gate.items()}
        looks.append(Look(10.0 * (place + 1), replace(sample), **told))  # type: ignore[arg-type]
    return looks


def decoding(step_seconds: float, streams: float, **more: float) -> dict[str, float]:
    """Ten seconds in which each stream makes steps of this length, one token each."""
    steps = streams * 10 / step_seconds
    return {
        "steps": steps,
        "step_seconds": steps * step_seconds,
        "steps_within_second": steps if step_seconds <= 1 else 0,
        "generation_tokens": steps,
        "running": streams,
        "finished": 20,
        **more,
    }


def modes(looks: Sequence[Look]) -> list[Mode]:
    return [found.mode for found in find_modes(looks)]


def test_a_spiral() -> None:
    """The same eight streams; contexts grow and steps go from 20 to 60 ms."""
    looks = series([decoding(0.020 * 1.25**i, 8) for i in range(6)])
    (found,) = find_modes(looks)
    assert found.mode is Mode.SLOW_DOWN_SPIRAL
    assert (found.begin_seconds, found.end_seconds) == (0, 60)
    assert "3.1 times as long, and the node writes 0.33" in found.evidence


def test_more_streams_are_no_spiral() -> None:
    """Steps take as much longer, but because three times as many streams write more together."""
    assert modes(series([decoding(0.020 * 1.25**i, 8 * 1.35**i) for i in range(6)])) == []


def test_a_step_that_varies_is_no_spiral() -> None:
    assert modes(series([decoding(0.020 + 0.015 * (i % 2), 8) for i in range(12)])) == []


def test_a_storm_without_one_preemption() -> None:
    """As in a pool overcommitted by idle agents: the engine's own counters look healthy."""
    looks = series([decoding(0.03, 8, kv_usage=0.88)] * 6, recompute_share=[0.1, 0.4, 0.5, 0.5, 0.1, 0.1])
    (found,) = find_modes(looks)
    assert found == Found(
        Mode.EVICTION_STORM, 10, 40, "50% of the time recomputed, 0.00 preemptions a request"
    )


def test_a_storm_that_the_engine_sees() -> None:
    assert modes(series([decoding(0.03, 8, preemptions=3)] * 4)) == [Mode.EVICTION_STORM]


def test_new_agents_are_no_storm() -> None:
    """One period of much prefill, and a preemption now and then."""
    shares = [0.0, 0.6, 0.2, 0.0, 0.0, 0.3]
    assert modes(series([decoding(0.03, 8, preemptions=0.5)] * 6, recompute_share=shares)) == []


def test_a_freeze_by_slow_steps() -> None:
    slow = decoding(0.03, 8)
    slow["steps_within_second"] *= 0.95
    assert modes(series([decoding(0.03, 8), slow, slow, slow])) == [Mode.PREFILL_FREEZE]


def test_a_freeze_in_which_nothing_is_written() -> None:
    silent = {"running": 8.0}
    (found,) = find_modes(series([decoding(0.03, 8), silent, silent, silent, decoding(0.03, 8)]))
    assert (found.mode, found.evidence) == (Mode.PREFILL_FREEZE, "nothing was written")


def test_an_idle_node_is_not_frozen() -> None:
    assert modes(series([decoding(0.03, 8), {"running": 0.0}, {}, {}, {}])) == []


def test_waste() -> None:
    looks = series([decoding(0.03, 8, kv_usage=0.2)] * 4, leased=[0.95] * 4, gate_waiting=[3] * 4)
    (found,) = find_modes(looks)
    assert found.mode is Mode.STATIC_WASTE
    assert found.evidence == "75% of the pool is leased and not used while 3 requests wait"


@pytest.mark.parametrize(
    ("leased", "usage", "waiting"),
    [(0.95, 0.2, 0), (0.95, 0.6, 3), (0.3, 0.2, 3)],
    ids=["nobody waits", "it is used", "it is not leased"],
)
def test_what_is_no_waste(leased: float, usage: float, waiting: int) -> None:
    looks = series([decoding(0.03, 8, kv_usage=usage)] * 4, leased=[leased] * 4, gate_waiting=[waiting] * 4)
    assert modes(looks) == []


def test_a_restart_is_not_compared() -> None:
    before = series([decoding(0.02, 8)] * 3)
    after = [replace(look, seconds=look.seconds + 40) for look in series([decoding(0.02, 8)] * 3)]
    assert modes([*before, *after]) == []


def test_nothing_is_found_in_nothing() -> None:
    assert find_modes([]) == ()


@given(st.floats(0.005, 0.9), st.integers(1, 64), st.integers(1, 20))
def test_a_steady_node_has_no_mode(step_seconds: float, streams: int, periods: int) -> None:
    assert modes(series([decoding(step_seconds, streams)] * periods)) == []
