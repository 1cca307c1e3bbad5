"""Series of looks: kept, read again, and those in examples/serving/modes, which show each mode and do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.telemetry import EngineSample, parse
from serving.telemetry.modes import Look, Mode, find_modes
from serving.telemetry.series import as_line, look_of, parse_series

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "serving" / "modes"
SHOWN = {
    "eviction-storm": {Mode.EVICTION_STORM},
    "agents-that-fit": set[Mode](),
    "slow-down-spiral": {Mode.SLOW_DOWN_SPIRAL},
    "more-streams": set[Mode](),
    "prefill-freeze": {Mode.PREFILL_FREEZE},
    "prefill-chunked": set[Mode](),
    "static-waste": {Mode.STATIC_WASTE},
    "expected-leases": set[Mode](),
}

numbers = st.integers(0, 10**9).map(float) | st.floats(0, 1e9)


def recorded(name: str) -> list[Look]:
    return list(parse_series((EXAMPLES / f"{name}.jsonl").read_text().splitlines()))


@pytest.mark.parametrize("name", SHOWN)
def test_what_vllms_scheduler_did_on_a_simulated_clock(name: str) -> None:
    assert {found.mode for found in find_modes(recorded(name))} == SHOWN[name]


def test_every_recorded_series_is_held_to_something() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.jsonl")} == SHOWN.keys()


@given(
    st.builds(
        Look,
        numbers,
        st.builds(
            EngineSample, generation_tokens=numbers, kv_usage=st.floats(0, 1), cache_dtype=st.just("fp8")
        ),
        st.none() | st.floats(0, 1),
        st.none() | st.floats(0, 1),
        st.integers(0, 100),
    )
)
def test_a_look_comes_back_as_it_was(look: Look) -> None:
    assert list(parse_series([as_line(look)])) == [look]


def test_a_look_of_a_page_and_a_status() -> None:
    page = parse(
        'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_running{engine="1"} 1.0\n'
        'vllm:kv_cache_usage_perc{engine="0"} 0.5\n'
    )
    rank = {"leasable": 100, "leased": 30, "waiting": {"memory": 2, "velocity": 1}}
    look = look_of(5.0, page, {"ranks": {"0": rank, "1": {**rank, "leased": 50}}, "recompute_share": 0.25})
    assert (look.engine.running, look.engine.kv_usage) == (4, 0.25)
    assert (look.leased, look.gate_waiting, look.recompute_share) == (0.4, 6, 0.25)
    bare = look_of(5.0, page)
    assert (bare.leased, bare.gate_waiting, bare.recompute_share) == (None, 0, None)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[]", "no JSON object"),
        ("{", "line 2 is no look"),
        ('{"engine": {}}', "has no 'seconds'"),
        ('{"seconds": 9, "engine": {"speed": 3}}', "speed is no counter"),
        ('{"seconds": 9, "engine": {"steps": "x"}}', "steps cannot be 'x'"),
        ('{"seconds": 1, "engine": {}}', "line 2 is from before"),
    ],
)
def test_what_is_wrong_with_a_series_is_said(line: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        list(parse_series(['{"seconds": 5, "engine": {}}', line]))
