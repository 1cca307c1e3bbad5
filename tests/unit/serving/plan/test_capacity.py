"""Pools, agents and velocities, held to a table that was computed apart from this code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.plan.assumptions import DEFAULTS
from serving.plan.engine import Draft, Engine
from serving.plan.law import Rates, full_pool_steps_per_second, tokens_above
from serving.plan.topology import Topology, topologies
from serving.profile.catalog import find_gpu, find_model
from serving.profile.formats import KV_16BIT, KV_FP8, KvFormat

H100 = find_gpu("h100-sxm")


def engine(name: str, gpus: int, kv: KvFormat = KV_FP8, draft: Draft | None = None) -> Engine:
    model = find_model(name, hub_cache="/nowhere")
    window = KV_16BIT if model.architecture.has_window and kv is KV_FP8 else None
    return Engine(model.architecture, model.weights, kv, H100, Topology(gpus), draft=draft, window_kv=window)


# 0.92 of 85.0e9 bytes less 4e9 a GPU, weights FP8 with embedding and head in 16 bits, no speculation:
# (model, GPUs, pool GB, agents of 18k in 16 bits and FP8, of 64k in both, bound of one stream at 18k and 64k,
# all streams of a full pool together at 18k and 64k)
DENSE = [
    ("llama-3.1-70b-fp8", 1, 1.6, (0, 0), (0, 0), (46, 41), None),
    ("llama-3.1-70b-fp8", 2, 75.8, (12, 25), (3, 7), (91, 83), (1160, 325)),
    ("llama-3.1-70b-fp8", 4, 224.2, (38, 76), (10, 21), (182, 165), (3455, 967)),
    ("llama-3.1-70b-fp8", 8, 521.0, (88, 176), (24, 49), (365, 331), (8000, 2247)),
    ("qwen2.5-coder-32b", 1, 39.9, (8, 16), (2, 4), (95, 81), (759, 201)),
    ("qwen2.5-coder-32b", 2, 114.1, (24, 48), (6, 13), (191, 163), (2202, 614)),
    ("qwen2.5-coder-32b", 4, 262.5, (55, 111), (15, 31), (381, 325), (5047, 1418)),
    ("qwen2.5-coder-32b", 8, 559.3, (118, 237), (33, 66), (762, 651), (10729, 3016)),
    ("qwen3-coder-30b-a3b", 1, 43.1, (24, 48), (6, 13), (793, 517), (2243, 739)),
    ("qwen3-coder-30b-a3b", 4, 265.7, (150, 300), (42, 84), (3173, 2067), (13583, 3820)),
    ("qwen3-coder-30b-a3b", 8, 562.5, (158, 317), (44, 89), (5247, 2783), (14364, 4040)),
]


@pytest.mark.parametrize(("name", "gpus", "pool", "at_18k", "at_64k", "alone", "full"), DENSE)
def test_capacity_and_bounds(
    name: str,
    gpus: int,
    pool: float,
    at_18k: tuple[int, int],
    at_64k: tuple[int, int],
    alone: tuple[float, float],
    full: tuple[float, float] | None,
) -> None:
    wide, narrow = engine(name, gpus, KV_16BIT), engine(name, gpus)
    assert narrow.pool_bytes / 1e9 == pytest.approx(pool, abs=0.11)
    assert (wide.agents_in_memory(18_000), narrow.agents_in_memory(18_000)) == at_18k
    assert (wide.agents_in_memory(64_000), narrow.agents_in_memory(64_000)) == at_64k
    for depth, bound, together in zip((18_000, 64_000), alone, full or (0, 0), strict=True):
        assert narrow.velocity(1, depth, least_time=True) == pytest.approx(bound, rel=0.015)
        streams = narrow.agents_in_memory(depth)
        if streams:
            assert streams * narrow.velocity(streams, depth, least_time=True) == pytest.approx(
                together, rel=0.006
            )


# The same with one state of 16 bits a sequence; the engine keeps two, in float32 where the model says so.
HYBRID = [
    ("qwen3.6-27b", 1, 44.8, (35, 67), (10, 20)),
    ("qwen3.6-27b", 2, 119.0, (94, 178), (27, 54)),
    ("qwen3.6-27b", 8, 564.2, (231, 448), (66, 132)),
    ("gpt-oss-120b", 1, 9.0, (13, 26), (3, 7)),
    ("gpt-oss-120b", 2, 83.2, (124, 247), (35, 70)),
    ("gpt-oss-120b", 4, 231.6, (346, 688), (97, 195)),
    ("gpt-oss-120b", 8, 528.4, (790, 1570), (223, 446)),
]


@pytest.mark.parametrize(("name", "gpus", "pool", "at_18k", "at_64k"), HYBRID)
def test_capacity_with_windows_and_states(
    name: str, gpus: int, pool: float, at_18k: tuple[int, int], at_64k: tuple[int, int]
) -> None:
    for kv, index in ((KV_16BIT, 0), (KV_FP8, 1)):
        one = replace(engine(name, gpus, kv), prefix_caching=False)
        assert one.pool_bytes / 1e9 == pytest.approx(pool, abs=0.11)
        layers = tuple(
            replace(kind, state_bytes_per_element=2) if hasattr(kind, "state_bytes_per_element") else kind
            for kind in one.model.layers
        )
        one = replace(one, model=replace(one.model, layers=layers))
        for depth, expected in ((18_000, at_18k), (64_000, at_64k)):
            held = int(one.pool_bytes // one.sequence.at(depth))
            assert abs(held - expected[index]) <= max(1, round(0.005 * expected[index])), (kv.name, depth)


def test_what_the_engine_keeps_of_a_hybrid_costs_more_than_the_closed_form() -> None:
    # Two float32 states, and whole blocks of 1,568 tokens: 18,000 tokens take 12 of them.
    own = engine("qwen3.6-27b", 1)
    assert own.sequence.state == 2 * 153_944_064
    each = 12 * 1568 * 32_768 + 2 * 153_944_064
    assert own.agents_in_memory(18_000) == int(own.pool_bytes // each) == 48


def test_eight_gpus_at_64k_by_format() -> None:
    # bf16 weights and KV: 545.6 - 141.1 = 452.5 GB of 21.0 GB each is 21; FP8 weights 24; all FP8 49.
    model = engine("llama-3.1-70b-fp8", 8, KV_16BIT)
    from serving.profile.formats import WEIGHT_FORMATS

    assert replace(model, weights=WEIGHT_FORMATS["bf16"]).agents_in_memory(64_000) == 21
    assert model.agents_in_memory(64_000) == 24
    assert replace(model, kv=KV_FP8).agents_in_memory(64_000) == 49


def test_a_draft_model_takes_its_share_of_the_pool() -> None:
    draft = find_model("llama-3.1-8b", hub_cache="/nowhere")
    drafted = engine(
        "llama-3.1-70b-fp8",
        8,
        draft=Draft("draft_model", 3, 0.7, draft.architecture, draft.weights),
    )
    # 65,536 bytes a token more in FP8, 40 %; and 16 GB of its weights: (521.0 - 16.1) / (64,000 x 229,376).
    assert drafted.draft_sequence.per_token == 65_536
    assert drafted.agents_in_memory(64_000) == 34


# The law in tokens, for Llama 70B FP8 on eight H100 at 65 % of the bandwidth: 30 tok/s allow 3.11M tokens in
# context, 172 x 18k or 48 x 64k; 50 tok/s 1.70M, 94 or 26.
@pytest.mark.parametrize(
    ("floor", "tokens", "at_18k", "at_64k"), [(30, 3.11e6, 172, 48), (50, 1.70e6, 94, 26)]
)
def test_the_velocity_law(floor: float, tokens: float, at_18k: int, at_64k: int) -> None:
    one = engine("llama-3.1-70b-fp8", 8)
    rates = Rates(8 * 3.35e12, 0.65, one.step_bytes(0, 0), one.sequence.per_token)
    allowed = tokens_above(rates, floor)
    assert allowed == pytest.approx(tokens, rel=0.005)
    assert (int(allowed / 18_000), int(allowed / 64_000)) == (at_18k, at_64k)
    assert tokens_above(rates, 1e6) == 0


def test_a_full_pool_steps_45_times_a_second_whatever_the_model() -> None:
    assert full_pool_steps_per_second(3.35e12, 74.2e9) == pytest.approx(45, abs=0.2)


# Tokens per second of a stream that NVIDIA's aiconfigurator 0.12 gives for Llama 70B FP8 on H100 SXM with an
# FP8 KV cache, decoding alone, from its table of measured kernels: (GPUs, streams, at 2k, 16k and 64k).
ESTIMATED = [
    (1, 1, (35.9, 34.9, 30.3)),
    (2, 1, (60.4, 58.9, 53.1)),
    (4, 1, (93.9, 90.1, 80.8)),
    (8, 1, (134.5, 127.1, 110.5)),
    (8, 18, (113.2, 90.7, 58.3)),
    (8, 24, (111.4, 84.5, 49.7)),
    (8, 36, (105.7, 73.8, 39.1)),
]


@pytest.mark.parametrize(("gpus", "streams", "estimated"), ESTIMATED)
def test_what_is_expected_is_near_an_estimator_made_of_measured_kernels(
    gpus: int, streams: int, estimated: tuple[float, ...]
) -> None:
    one = engine("llama-3.1-70b-fp8", gpus)
    for depth, velocity in zip((2_000, 16_000, 64_000), estimated, strict=True):
        assert one.velocity(streams, depth) == pytest.approx(velocity, rel=0.25)
        assert one.velocity(streams, depth, least_time=True) > velocity


# A cold prompt of 100k tokens on eight GPUs: projections 2 x 69.5e9 x 1e5 = 1.39e16 at 8 x 1,978e12,
# attention 4 x 64 x 128 x 50,000 x 80 x 1e5 = 1.31e16 at 8 x 989e12: 0.88 + 1.66 s.
def test_the_floor_of_a_cold_prefill() -> None:
    one = engine("llama-3.1-70b-fp8", 8)
    assert one.prefill_seconds(100_000, least=True) == pytest.approx(2.54, abs=0.01)
    assert one.prefill_seconds(100_000) == pytest.approx(2 * 2.54, abs=0.02)
    halves = one.prefill_seconds(50_000) + one.prefill_seconds(50_000, 50_000)
    assert halves == pytest.approx(one.prefill_seconds(100_000))


@given(st.integers(1, 500), st.integers(1, 128_000), st.sampled_from([1, 2, 4, 8]))
def test_nothing_is_expected_to_exceed_its_bound(streams: int, depth: int, gpus: int) -> None:
    for name in ("llama-3.1-70b-fp8", "qwen3.6-27b", "gpt-oss-120b"):
        one = engine(name, gpus)
        assert 0 < one.velocity(streams, depth) < one.velocity(streams, depth, least_time=True)
        assert one.velocity(streams + 1, depth) < one.velocity(streams, depth)


@given(st.floats(5, 200), st.integers(1000, 128_000))
def test_the_floor_holds_for_as_many_as_are_said_and_not_for_one_more(floor: float, depth: int) -> None:
    one = engine("qwen3.6-35b-a3b", 2)
    streams = one.streams_above(floor, depth)
    assert streams == 0 or one.velocity(streams, depth) >= floor
    assert one.velocity(streams + 1, depth) < floor


def test_ranks_that_share_experts_hold_them_once() -> None:
    shared = replace(engine("qwen3-coder-next", 1), topology=Topology(1, 8, expert_parallel=True))
    alone = engine("qwen3-coder-next", 1)
    experts = alone.model.parameters.experts
    assert alone.weight_bytes - shared.weight_bytes == pytest.approx(experts * 7 / 8)
    assert shared.pool_bytes > 0 > alone.pool_bytes
    # Together the ranks read no more of the experts than one rank with all their streams.
    assert shared.step_bytes(10, 1000) < alone.step_bytes(10, 1000)


def test_topologies_divide_heads_and_gpus() -> None:
    llama = engine("llama-3.1-70b-fp8", 1).model
    assert [str(topology) for topology in topologies(8, llama)] == ["TP8", "TP4 DP2", "TP2 DP4", "TP1 DP8"]
    assert [str(topology) for topology in topologies(3, llama)] == ["TP1 DP3"]
    sparse = engine("gpt-oss-120b", 1).model
    assert "4 x TP2" in [str(topology) for topology in topologies(8, sparse)]
    assert all(topology.gpus == 8 for topology in topologies(8, sparse))


def test_assumptions_can_be_replaced() -> None:
    one = engine("llama-3.1-70b-fp8", 8)
    better = replace(one, assume=replace(DEFAULTS, bandwidth_efficiency=1.0, parallel_layer_seconds=0))
    assert better.velocity(1, 1000) == pytest.approx(one.velocity(1, 1000, least_time=True))
