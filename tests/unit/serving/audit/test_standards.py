"""The five standards, each passed, failed and not measurable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from serving.audit.rendering import standards_markdown
from serving.audit.standards import Evidence, Standard, Status, audit, failed
from serving.profile.load import load_profile
from serving.telemetry import EngineSample, Observed, ServedRequest
from tests.unit.serving.telemetry.runs import node, request

PROFILE = load_profile("llama-3.1-70b-fp8-8xh100")
ENGINE = EngineSample(
    blocks=30_000, block_tokens=16, cache_dtype="fp8", kv_usage=0.5, steps=10_000, steps_within_second=10_000
)
SYNTAX = {"on": {"generations": 500, "errors": 10}, "off": {"generations": 500, "errors": 10}}
OFFLOAD = {"delivered": {"sessions": [{}, {}], "kept_out_tokens": 120_000}}


def deep(speed: float) -> ServedRequest:
    return request(prompt_tokens=40_000, output_tokens=4001, last_seconds=1 + 4000 / speed)


def whole(**fields: Any) -> Evidence:
    observed = Observed([deep(40), deep(50)], ENGINE, None, node("llama-3.1-70b-fp8"))
    return replace(Evidence(observed, PROFILE, SYNTAX, OFFLOAD), **fields)


def by_name(evidence: Evidence) -> dict[str, Standard]:
    return {standard.name: standard for standard in audit(evidence)}


def test_a_node_that_keeps_them_all() -> None:
    found = by_name(whole())
    assert {name: standard.status for name, standard in found.items()} == dict.fromkeys(found, Status.PASSED)
    assert len(found) == 5
    assert not any(standard.missing for standard in found.values())


def test_nothing_is_passed_without_evidence() -> None:
    found = by_name(Evidence(Observed()))
    assert {standard.status for standard in found.values()} == {Status.NOT_MEASURABLE}
    assert all(standard.missing for standard in found.values())
    assert not failed(tuple(found.values()))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("sustained_velocity", {"observed": Observed([deep(29), deep(50)], ENGINE)}),
        ("paged_memory", {"observed": Observed((), replace(ENGINE, block_tokens=PROFILE.max_model_len))}),
        ("chunked_prefill", {"profile": replace(PROFILE, max_num_batched_tokens=8192)}),
        ("chunked_prefill", {"observed": Observed((), replace(ENGINE, steps_within_second=9_900))}),
        ("low_bit_kv", {"observed": Observed((), replace(ENGINE, cache_dtype="auto"))}),
        ("low_bit_kv", {"syntax": {**SYNTAX, "on": {"generations": 500, "errors": 100}}}),
        ("offloading", {"offload": {"delivered": {"sessions": [], "kept_out_tokens": None}}}),
        ("offloading", {"offload": {"delivered": {"sessions": [{}], "kept_out_tokens": -5}}}),
    ],
)
def test_each_fails(name: str, fields: dict[str, Any]) -> None:
    found = by_name(whole(**fields))[name]
    assert found.status is Status.FAILED
    assert found.evidence


def test_a_cap_on_a_prompts_chunk_counts() -> None:
    profile = replace(PROFILE, max_num_batched_tokens=8192, long_prefill_token_threshold=1024)
    assert by_name(whole(profile=profile))["chunked_prefill"].status is Status.PASSED


def test_few_generations_decide_nothing() -> None:
    few = {"on": {"generations": 20, "errors": 0}, "off": {"generations": 20, "errors": 0}}
    found = by_name(whole(syntax=few))["low_bit_kv"]
    assert found.status is Status.NOT_MEASURABLE
    assert "13.9% more" in found.missing[0]


def test_an_impossible_velocity_passes_nothing() -> None:
    observed = Observed([deep(40), deep(4000)], ENGINE, None, node("llama-3.1-70b-fp8"))
    assert by_name(whole(observed=observed))["sustained_velocity"].status is Status.NOT_MEASURABLE


def test_a_hybrids_state_is_not_halved() -> None:
    observed = Observed((), ENGINE, None, node("qwen3.6-27b", gpus=1))
    assert "1/1.8" in by_name(whole(observed=observed))["low_bit_kv"].evidence[1]


@pytest.mark.parametrize("counts", [{}, {"on": {"generations": 1, "errors": 2}, "off": {}}])
def test_malformed_counts_are_said(counts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="generations"):
        audit(whole(syntax=counts))


def test_malformed_statistics_are_said() -> None:
    with pytest.raises(ValueError, match="delivered"):
        audit(whole(offload={"artifacts": 3}))


def test_markdown_is_a_table() -> None:
    lines = "\n".join(standards_markdown(audit(whole()))).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 7
    assert lines[-1] == "5 passed"
