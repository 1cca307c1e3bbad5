"""Velocity, preemption, recomputing, saturation and times over made-up runs."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.profile.figure import Basis
from serving.telemetry import EngineSample, Observed, parse, parse_records, readings, total
from serving.telemetry.cache import hits, preemptions, recomputing, saturation, speculation
from serving.telemetry.definitions import DEFINITIONS
from serving.telemetry.requests import new_tokens
from serving.telemetry.speed import bucket_of, times, velocities
from tests.unit.serving.telemetry.runs import node, request


def long(prompt: int, speed: float, **fields: object) -> object:
    return request(prompt_tokens=prompt, output_tokens=4001, last_seconds=1 + 4000 / speed, **fields)


def test_sustained_velocity_by_depth() -> None:
    served = [long(40_000, speed) for speed in range(31, 41)] + [long(1_000, 90)]  # type: ignore[misc]
    found = {(reading.name, reading.group): reading for reading in velocities(served)}  # type: ignore[arg-type]
    deep = found["sustained_velocity_median", "32k-64k"]
    assert (deep.value, deep.samples) == (pytest.approx(35), 10)
    assert (deep.low, deep.high) == (pytest.approx(32), pytest.approx(39))
    assert found["sustained_velocity_p10", "32k-64k"].value == pytest.approx(31)
    assert found["sustained_velocity_median", "0k-2k"].value == pytest.approx(90)
    assert deep.basis is Basis.MEASURED


@pytest.mark.parametrize(
    "fields",
    [{"stream": False}, {"output_exact": False}, {"outcome": "left"}, {"output_tokens": 3999}],
    ids=str,
)
def test_what_is_no_sustained_velocity(fields: dict[str, object]) -> None:
    served = request(**{"prompt_tokens": 40_000, "output_tokens": 4001, **fields})
    first = next(iter(velocities([served])))
    assert (first.name, first.value) == ("sustained_velocity_median", None)
    assert "4,000 tokens" in first.note


def test_a_velocity_above_the_memorys_is_impossible() -> None:
    shape = node("llama-3.1-70b-fp8")
    slow, fast = long(32_000, 300), long(32_000, 400)  # the bound is 353.6
    assert [r.impossible for r in velocities([slow], node=shape)] == ["", "", ""]  # type: ignore[list-item]
    assert all("353.6" in r.impossible for r in velocities([fast], node=shape))  # type: ignore[list-item]
    drafting = EngineSample(drafts=10, draft_tokens=20)
    assert [r.impossible for r in velocities([fast], drafting, shape)] == ["", "", ""]  # type: ignore[list-item]


@given(st.integers(0, 10**6))
def test_every_depth_has_a_bucket(tokens: int) -> None:
    name = bucket_of(tokens)
    low = int(name.split("k")[0]) * 1000
    assert low <= tokens
    assert name.endswith("+") or tokens < int(name.split("-")[1].removesuffix("k")) * 1000


def test_no_preemption_bounds_by_the_rule_of_three() -> None:
    events, hit, claim = preemptions(EngineSample(finished=1000, preemption_requests=1000, at_most_once=1000))
    assert (events.value, hit.value, claim.value) == (0, 0, 5990)
    assert hit.high == pytest.approx(1 - 0.05 ** (1 / 1000))
    assert "4,990 more requests" in hit.note


def test_vllms_first_bucket_hides_requests_that_were_hit_once() -> None:
    """Seven events; two requests were hit at least twice, so 2 to 5 requests were hit."""
    engine = EngineSample(finished=480, preemptions=7, preemption_requests=480, at_most_once=478)
    events, hit, _ = preemptions(engine)
    assert events.value == pytest.approx(7 / 480)
    assert hit.value is None
    assert "between 2 and 5 requests" in hit.note
    assert hit.low is not None
    assert hit.high is not None
    assert hit.low < 2 / 480 < 5 / 480 < hit.high


def test_recompute_factor_by_hand() -> None:
    """Prompts of 1,000 and 2,000 in one session; the second had to compute 2,000 - 1,101 and computed all."""
    served = [
        request(),
        request(arrived_unix_seconds=1011.0, prompt_tokens=2000, cached_tokens=0, last_seconds=9),
    ]
    engine = EngineSample(computed_tokens=3000, prefill_seconds=6.0)
    factor, share = recomputing(served, engine)
    assert factor.value == pytest.approx(3000 / 1899)
    assert share.value == pytest.approx(1101 * 0.002 / 20)
    low = list(recomputing(served, engine, node("llama-3.1-70b-fp8")))[1].low
    assert low == pytest.approx(2 * 68_451_041_280 * 1101 / (8 * 1978e12) / 20)


def test_a_warm_cache_recomputes_nothing() -> None:
    served = [request(), request(arrived_unix_seconds=1011.0, prompt_tokens=2000, cached_tokens=1101)]
    assert next(iter(recomputing(served))).value == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 10**5), st.integers(0, 10**4)), max_size=30))
def test_new_tokens_never_exceed_the_prompts(turns: list[tuple[str, int, int]]) -> None:
    served = [
        request(session_id=s, arrived_unix_seconds=float(i), prompt_tokens=p, output_tokens=o)
        for i, (s, p, o) in enumerate(turns)
    ]
    fresh = new_tokens(served)
    assert all(0 <= tokens <= (served[place].prompt_tokens or 0) for place, tokens in fresh.items())
    firsts = {s: i for i, (s, _, _) in reversed(list(enumerate(turns)))}
    assert all(fresh[place] == served[place].prompt_tokens for place in firsts.values())


def test_without_told_cached_tokens_the_engines_share_stands_in() -> None:
    served = [request(cached_tokens=None)]
    assert next(iter(recomputing(served))).value is None
    factor = next(iter(recomputing(served, EngineSample(prompt_tokens=4000, cached_tokens=1000))))
    assert factor.value == pytest.approx(0.75)
    assert "records lack them" in factor.note


def test_speculation_is_judged_by_time_not_by_tokens() -> None:
    engine = EngineSample(drafts=100, draft_tokens=300, accepted_tokens=150, steps=100, step_seconds=4.0)
    by_name = {reading.name: reading for reading in speculation(engine, 0.02)}
    assert by_name["tokens_per_step"].value == 2.5
    assert by_name["acceptance"].value == 0.5
    assert by_name["speculation_gain"].value == pytest.approx(1.25)
    unknown = {reading.name: reading for reading in speculation(engine)}["speculation_gain"]
    assert (unknown.value, unknown.high) == (None, 2.5)
    assert list(speculation(EngineSample())) == []


def test_the_pool_as_three_see_it() -> None:
    gate = {"ranks": {"0": {"leasable": 800, "leased": 200, "session_blocks": 600, "overruns": 3}}}
    values = {reading.name: reading.value for reading in saturation(EngineSample(kv_usage=0.1), gate)}
    assert values == {"kv_active": 0.1, "kv_leased": 0.25, "kv_warm": 0.75, "lease_overruns": 3}
    assert hits(EngineSample(prefix_queries=100, prefix_hits=95)).value == 0.95


def test_times() -> None:
    served = [
        request(waited_seconds=float(i), first_seconds=i + 1.0, last_seconds=i + 2.0) for i in range(100)
    ]
    values = {
        reading.name: reading.value for reading in times(served, EngineSample(queue_seconds=5, queued=10))
    }
    assert values["queue_wait_p50"] == 49
    assert values["queue_wait_p99"] == 98
    assert values["engine_queue_mean"] == 0.5
    assert values["latency_volatility"] == pytest.approx(100 / 51)


def test_every_reading_is_defined_and_tagged() -> None:
    found = readings(Observed(requests=[request()], price_per_hour=36))
    assert {reading.name for reading in found} <= DEFINITIONS.keys()
    assert all(reading.value is not None or reading.note for reading in found)
    assert {r.name: r.value for r in found}["cost_per_session"] == pytest.approx(0.11)


def test_a_record_file_is_read() -> None:
    line = json.dumps(
        {
            **{k: v for k, v in asdict(request()).items() if k not in ("first_seconds", "last_seconds")},
            "first_byte_seconds": 1.0,
            "last_byte_seconds": 11.0,
        }
    )
    assert list(parse_records([line, "", line])) == [request(), request()]
    with pytest.raises(ValueError, match="line 2 is no record of the gate: it has no 'session_id'"):
        list(parse_records([line, "{}"]))
    with pytest.raises(ValueError, match="no count"):
        list(parse_records([line.replace('"prompt_tokens": 1000', '"prompt_tokens": -1')]))


PAGE = """vllm:request_num_preemptions_bucket{{engine="{0}",le="1.0"}} {1}
vllm:request_num_preemptions_bucket{{engine="{0}",le="2.0"}} 90.0
vllm:request_num_preemptions_count{{engine="{0}"}} {2}
vllm:iteration_tokens_total_count{{engine="{0}"}} 50.0
vllm:kv_cache_usage_perc{{engine="{0}"}} {3}
"""


def test_engines_are_summed_and_what_was_before_subtracted() -> None:
    before = parse(PAGE.format(0, 10, 10, 0.9))
    after = parse(PAGE.format(0, 30, 40, 0.2) + PAGE.format(1, 5, 5, 0.4))
    both = total(after, before)
    assert (both.at_most_once, both.preemption_requests, both.iterations) == (25, 35, 50)
    assert both.kv_usage == pytest.approx(0.3)


def test_a_restart_begins_anew() -> None:
    before = parse(PAGE.format(0, 10, 10, 0.9) + "process_start_time_seconds 1.0\n")
    after = parse(PAGE.format(0, 3, 4, 0.2) + "process_start_time_seconds 2.0\n")
    assert total(after, before).preemption_requests == 4
