"""Whole plans: what is chosen, what is refused, what is advised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serving import DoesNotFitError, ServingUsageError
from serving.plan.assumptions import DEFAULTS
from serving.plan.engine import Draft
from serving.plan.load import Load
from serving.plan.plan import Plan, make_plan
from serving.plan.request import Request
from serving.plan.speculation import candidate_drafts, judged
from serving.profile.catalog import find_gpu, find_model, gpus
from serving.profile.figure import Basis
from serving.profile.formats import KV_16BIT, KV_FP8


def request(name: str, count: int, agents: int, depth: int, gpu: str = "h100-sxm") -> Request:
    return Request(find_model(name, hub_cache="/nowhere"), find_gpu(gpu), count, Load(agents, depth))


def planned(name: str, count: int, agents: int, depth: int, gpu: str = "h100-sxm") -> Plan:
    return make_plan(request(name, count, agents, depth, gpu), gpus().values())


# --- what cannot be -----------------------------------------------------------------------------


def test_seventy_billion_on_one_card_hold_no_agent_of_18k() -> None:
    # 74.2 - 72.66 = 1.54 GB are left; an agent takes 18,000 x 163,840 = 2.95 GB.
    with pytest.raises(
        DoesNotFitError, match=r"2\.95 GB of fp8 KV cache, and 1\.54 GB are left, 9,4"
    ) as refused:
        planned("llama-3.1-70b-fp8", 1, 1, 18_000)
    assert refused.value.alternatives == (
        "one agent of at most 9,000 tokens (--agents 1 --depth 9k)",
        "2 x H100 SXM5 80 GB (--gpus 2)",
        "1 x H100 NVL 94 GB (--gpu h100-nvl)",
    )


def test_every_alternative_holds() -> None:
    assert planned("llama-3.1-70b-fp8", 1, 1, 9_000).carries
    assert planned("llama-3.1-70b-fp8", 2, 1, 18_000).carries
    assert planned("llama-3.1-70b-fp8", 1, 1, 18_000, "h100-nvl").carries


def test_weights_that_do_not_fit() -> None:
    with pytest.raises(DoesNotFitError, match=r"weights of qwen3-coder-next alone, 80\.4 GB") as refused:
        planned("qwen3-coder-next", 1, 1, 18_000)
    assert "2 x H100 SXM5 80 GB (--gpus 2)" in refused.value.alternatives


def test_an_fp8_cache_may_be_what_is_missing() -> None:
    wide = replace(request("llama-3.1-70b-fp8", 2, 1, 128_000), kv=KV_16BIT)
    assert make_plan(wide).carries
    with pytest.raises(DoesNotFitError) as refused:
        make_plan(replace(wide, model=replace(wide.model, weights=_bf16()), gpus=2))
    assert refused.value.alternatives


def _bf16():
    from serving.profile.formats import WEIGHT_FORMATS

    return WEIGHT_FORMATS["bf16"]


def test_a_floor_that_nothing_reaches() -> None:
    fast = request("llama-3.1-70b-fp8", 2, 1, 18_000)
    with pytest.raises(DoesNotFitError, match="under the floor of 500"):
        make_plan(replace(fast, load=Load(1, 18_000, 500.0)))


def test_a_depth_beyond_the_model() -> None:
    with pytest.raises(ServingUsageError, match="made for 32,768 tokens"):
        planned("qwen2.5-coder-32b", 8, 1, 41_000)


def test_a_load_that_exceeds_the_node_is_planned_and_said_not_to_be_carried() -> None:
    plan = planned("llama-3.1-70b-fp8", 8, 200, 41_000)
    assert not plan.carries
    assert plan.chosen.limit < 200
    assert "contexts bounded to 18,000 tokens by offloading (--depth 18k)" not in plan.alternatives
    assert f"{plan.chosen.limit} agents of 41,000 tokens (--agents {plan.chosen.limit})" in plan.alternatives
    bounded = planned("llama-3.1-70b-fp8", 8, 150, 41_000)
    assert "contexts bounded to 18,000 tokens by offloading (--depth 18k)" in bounded.alternatives


# --- what is chosen -----------------------------------------------------------------------------


def test_one_large_group_where_every_head_has_a_gpu() -> None:
    plan = planned("llama-3.1-70b-fp8", 8, 50, 41_000)
    assert str(plan.chosen.topology) == "TP8"
    assert plan.chosen.stored_times == 1
    assert "TP8 gives" in plan.why


def test_no_group_larger_than_the_kv_heads_where_copies_would_cost_the_load() -> None:
    # Two KV heads: TP4 stores each key twice, TP8 four times.
    plan = planned("qwen3.6-35b-a3b", 8, 256, 41_000)
    assert plan.chosen.topology.tensor_parallel <= 2
    assert plan.chosen.stored_times == 1
    wasteful = next(found for found in plan.candidates if str(found.topology) == "TP8")
    assert wasteful.stored_times == 4
    assert wasteful.in_memory < plan.chosen.in_memory / 2


def test_fp8_keys_of_256_elements_wait_for_depth() -> None:
    assert request("qwen3.6-27b", 1, 1, 4_000).kv_format is KV_16BIT
    assert request("qwen3.6-27b", 1, 1, 8_000).kv_format is KV_FP8
    assert request("llama-3.1-70b-fp8", 2, 1, 4_000).kv_format is KV_FP8
    shallow = planned("qwen3.6-27b", 1, 1, 4_000)
    assert shallow.profile.kv_cache_dtype == "auto"
    assert "256 elements" in shallow.profile.notes["kv_cache_dtype"]


def test_windows_stay_in_16_bits() -> None:
    assert planned("gpt-oss-120b", 2, 8, 41_000).profile.kv_cache_dtype_skip_layers == ("sliding_window",)


def test_the_profile_is_the_choice() -> None:
    plan = planned("qwen3-coder-next", 8, 100, 41_000)
    topology, profile = plan.chosen.topology, plan.profile
    assert profile.tensor_parallel * profile.data_parallel * profile.replicas == profile.gpus == 8
    assert (profile.expert_parallel, profile.data_parallel) == (
        topology.expert_parallel,
        topology.data_parallel,
    )
    assert profile.max_model_len >= 41_000
    assert profile.max_num_seqs <= plan.chosen.engine.agents_in_memory(41_000)


# --- speculation --------------------------------------------------------------------------------


# E = (1 - a^(k+1)) / (1 - a): for a .7 and k 3 it is (1 - .2401) / .3 = 2.533.
def test_tokens_of_a_drafted_step() -> None:
    assert Draft("ngram", 3, 0.7).expected_tokens == pytest.approx(2.533)


# A draft of 8.33 ms a token beside a step of 8.25 ms, k 1: with .6 accepted 1.6 / 16.58 ms = 97 tok/s,
# with .9 115, both under the 121 without. A model that drafts for itself is such a case.
def test_a_slow_draft_loses_whatever_is_accepted() -> None:
    own = request("llama-3.1-8b", 1, 1, 32_000)
    twin = find_model("llama-3.1-8b", hub_cache="/nowhere")
    draft = Draft("draft_model", 1, 0.9, twin.architecture, twin.weights)
    verdict = judged(own.engine(), draft, own.load, 1)
    assert verdict.alone < 1
    assert verdict.break_even_acceptance is None
    assert not verdict.pays(1)


def test_break_even_lies_between_losing_and_gaining() -> None:
    own = request("llama-3.1-70b-fp8", 8, 1, 32_000)
    small = find_model("llama-3.1-8b", hub_cache="/nowhere")
    engine = make_plan(own).chosen.engine

    def gain(acceptance: float) -> float:
        draft = Draft("draft_model", 3, acceptance, small.architecture, small.weights)
        return judged(engine, draft, own.load, 1).loaded

    draft = Draft("draft_model", 3, 0.7, small.architecture, small.weights)
    even = judged(engine, draft, own.load, 1).break_even_acceptance
    assert even is not None
    assert gain(even - 0.05) < 1 < gain(even + 0.05)


def test_drafting_is_recommended_only_where_acceptance_was_measured() -> None:
    own = request("qwen3.6-27b", 2, 4, 18_000)
    drafts = candidate_drafts(own.engine(), None)
    assert [draft.method for draft in drafts] == ["mtp", "ngram"]
    guessed = make_plan(replace(own, drafts=drafts))
    assert guessed.speculation[0].pays(4)
    assert guessed.profile.speculation is None
    measured = make_plan(replace(own, drafts=drafts, acceptance_measured=True))
    assert measured.profile.speculation is not None
    assert measured.profile.speculation.method == "mtp"


# --- advice -------------------------------------------------------------------------------------


def test_a_light_load_needs_nothing() -> None:
    advice = planned("llama-3.1-70b-fp8", 8, 10, 18_000).advice
    assert not advice.gate_matters
    assert not advice.cpu_tier_matters
    assert not advice.offloading_matters
    assert advice.gate.startswith("Nothing")
    assert advice.cpu_tier.startswith("Nothing")
    assert advice.offloading.startswith("Nothing")


def test_an_overcommitted_load_needs_a_cap() -> None:
    # 75.7 GB hold 11 agents of 41k; 40 are 3.6 times as many.
    advice = planned("llama-3.1-70b-fp8", 2, 40, 41_000).advice
    assert advice.occupancy == pytest.approx(40 / 11)
    assert advice.gate_matters
    assert "about 14 live" in advice.gate
    assert advice.cpu_tier_matters
    assert advice.offloading_matters


def test_a_slightly_overcommitted_load_is_watched_first() -> None:
    advice = planned("llama-3.1-70b-fp8", 2, 12, 41_000).advice
    assert advice.gate.startswith("Perhaps")


def test_a_load_that_only_velocity_forbids() -> None:
    slow = replace(request("qwen3.6-35b-a3b", 2, 60, 41_000), load=Load(60, 41_000, 80.0))
    advice = make_plan(slow).advice
    assert advice.gate_matters
    assert "velocity limit" in advice.gate


# --- figures ------------------------------------------------------------------------------------


def test_every_figure_has_a_basis_and_an_origin() -> None:
    plan = planned("qwen3.6-27b", 2, 20, 41_000)
    assert len({figure.name for figure in plan.figures}) == len(plan.figures) > 25
    for figure in plan.figures:
        assert figure.formula or figure.source, figure.name
        assert figure.unit
    assumed = {figure.name for figure in plan.figures if figure.basis is Basis.ASSUMED}
    assert assumed >= {"utilization", "overhead_bytes", "bandwidth_efficiency", "gpu_memory_bytes"}
    assert not [figure for figure in plan.figures if figure.basis is Basis.MEASURED]


def test_a_gpu_without_fp8_says_so() -> None:
    plan = planned("qwen3.6-27b", 8, 20, 41_000, "a100-80")
    peak = next(figure for figure in plan.figures if figure.name == "gpu_fp8_flops")
    assert peak.value is None
    assert "no FP8" in peak.formula


def test_agents_that_wait_for_tools_leave_room_for_others() -> None:
    own = request("llama-3.1-70b-fp8", 8, 50, 41_000)
    half = replace(own, assume=replace(DEFAULTS, busy=0.5))
    all_busy, half_busy = make_plan(own).chosen, make_plan(half).chosen
    assert half_busy.velocity > all_busy.velocity
    assert half_busy.above_floor == pytest.approx(2 * all_busy.above_floor, abs=2)
    assert half_busy.in_memory == all_busy.in_memory


def test_memory_alone_may_be_what_is_short() -> None:
    patient = replace(request("llama-3.1-70b-fp8", 2, 40, 41_000), load=Load(40, 41_000, 1.0))
    advice = make_plan(patient).advice
    assert advice.gate.startswith("Much")


def test_only_so_many_gpus_are_named_as_carry_the_load() -> None:
    # 11 agents of 41k fit two GPUs, 33 four, 77 eight.
    plan = planned("llama-3.1-70b-fp8", 2, 50, 41_000)
    assert [told for told in plan.alternatives if "--gpus" in told] == ["8 x H100 SXM5 80 GB (--gpus 8)"]
