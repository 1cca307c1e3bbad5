"""The claims that the project began with, each judged, and how tables of claims are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serving.audit.claim import SHIPPED, Claim, load_claims
from serving.audit.claims import judge
from serving.audit.finding import Judged, Verdict
from serving.errors import ServingUsageError

IMPOSSIBLE, CONTRADICTORY = Verdict.IMPOSSIBLE, Verdict.CONTRADICTORY
DOUBTFUL, POSSIBLE = Verdict.DOUBTFUL, Verdict.POSSIBLE

# name: verdict, check, what it is held against. Bounds worked out apart from this code.
GOLDEN: dict[str, tuple[Verdict, str, float]] = {
    "kv-per-token": (IMPOSSIBLE, "KV bytes per token", 327_680),
    "kv-72k": (IMPOSSIBLE, "KV bytes of a sequence", 23.6e9),
    "kv-64k": (IMPOSSIBLE, "KV bytes of a sequence", 21.0e9),
    "fp8-on-one-gpu": (DOUBTFUL, "memory", 0),
    "agents-static": (POSSIBLE, "memory", 21),
    "agents-paged": (POSSIBLE, "memory", 21),
    "agents-chunked": (POSSIBLE, "memory", 49),
    "agents-speculative": (DOUBTFUL, "memory", 34),
    "agents-speculative-16bit": (IMPOSSIBLE, "memory", 31),
    "agents-saturate-a100": (CONTRADICTORY, "saturation", 25),
    "fp8-slope": (IMPOSSIBLE, "KV format", 2),
    "draft-triples-34": (CONTRADICTORY, "own speed-up", 1.72),
    "draft-triples-58": (CONTRADICTORY, "own speed-up", 2.03),
    "draft-triples-28": (CONTRADICTORY, "own speed-up", 1.91),
    "spiral": (IMPOSSIBLE, "slow-down", 1.03),
    "mesh-velocity": (POSSIBLE, "bandwidth", 103.4),
    "mfu-first": (IMPOSSIBLE, "arithmetic", 0.000228),
    "mfu-second": (IMPOSSIBLE, "arithmetic", 0.129),
    "mfu-third": (IMPOSSIBLE, "arithmetic", 0.129),
    "mfu-fourth": (IMPOSSIBLE, "arithmetic", 0.129),
    "mfu-fifth": (IMPOSSIBLE, "arithmetic", 0.060),
    "a100-case": (DOUBTFUL, "bandwidth", 62.9),
    "deep-but-bounded": (CONTRADICTORY, "depth", 18_000),
    "cold-prefill": (POSSIBLE, "prefill", 2.55),
}


@pytest.fixture(scope="module")
def judged() -> dict[str, Judged]:
    return {found.name: found for found in judge(load_claims(SHIPPED), hub_cache="/nowhere")}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_design_notes(judged: dict[str, Judged], name: str) -> None:
    verdict, check, bound = GOLDEN[name]
    found = judged[name]
    assert found.verdict is verdict
    held = next(finding for finding in found.findings if finding.check == check)
    assert held.bound == pytest.approx(bound, rel=0.02)
    assert held.why
    assert found.source.startswith("design notes")


def test_no_claim_is_left_out(judged: dict[str, Judged]) -> None:
    assert judged.keys() == GOLDEN.keys()


def test_the_forgotten_groups_are_named(judged: dict[str, Judged]) -> None:
    assert "one KV head for each query head would take at 1 B" in judged["kv-per-token"].findings[0].why


def test_what_prefill_would_have_to_fill(judged: dict[str, Judged]) -> None:
    assert "14,275 uncached" in judged["mfu-fifth"].findings[-1].why
    assert "uncached prompt tok/s" in judged["mfu-first"].findings[-1].why


def one(**fields: Any) -> Judged:
    base = {"name": "x", "model": "qwen3-coder-30b-a3b", "gpu": "h100-sxm"}
    return judge([Claim(**{**base, **fields})], hub_cache="/nowhere")[0]


def test_true_figures_pass() -> None:
    assert one(kv_bytes_per_token=98_304).verdict is POSSIBLE
    assert one(kv_bytes_per_token=49_152, kv="fp8").verdict is POSSIBLE
    assert one(kv_bytes_per_token=49_152, kv="16bit").verdict is IMPOSSIBLE
    assert one(depth_tokens=18_000, velocity=700.0).verdict is POSSIBLE
    assert one(depth_tokens=18_000, velocity=750.0).verdict is DOUBTFUL
    assert one(depth_tokens=18_000, velocity=900.0).verdict is IMPOSSIBLE
    assert one(depth_tokens=18_000, velocity=900.0, draft_tokens=3).verdict is POSSIBLE


def test_nothing_to_hold_on_to() -> None:
    assert one().verdict is Verdict.UNCHECKED
    assert one(mfu=1.2).verdict is IMPOSSIBLE


def test_a_prefill_faster_than_the_arithmetic() -> None:
    assert one(depth_tokens=100_000, first_token_seconds=0.01).verdict is IMPOSSIBLE


@pytest.mark.parametrize("suffix", [".json", ".csv", ".toml"])
def test_tables_of_three_kinds(tmp_path: Path, suffix: str) -> None:
    text = {
        ".json": json.dumps({"claims": [{"name": "x", "gpus": 2, "velocity": 3.5, "saturated": True}]}),
        ".csv": "name,gpus,velocity,saturated,model\nx,2,3.5,true,\n",
        ".toml": '[[claims]]\nname = "x"\ngpus = 2\nvelocity = 3.5\nsaturated = true\n',
    }[suffix]
    path = tmp_path / f"claims{suffix}"
    path.write_text(text)
    assert load_claims(path) == (Claim(name="x", gpus=2, velocity=3.5, saturated=True),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"name": "x", "speed": 3}]', "speed is no field"),
        ('[{"gpus": 3}]', "has no name"),
        ('[{"name": "x", "gpus": 1.5}]', r"gpus cannot be 1\.5"),
        ('[{"name": "x", "velocity": -1}]', "velocity cannot be -1"),
        ('[{"name": "x", "saturated": 3}]', "saturated cannot be 3"),
        ('[{"name": "x"}, {"name": "x"}]', "twice"),
        ('{"rows": []}', "no list of claims"),
        ("{", "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "claims.json"
    path.write_text(text)
    with pytest.raises(ServingUsageError, match=told):
        load_claims(path)


def test_an_unknown_format_is_said() -> None:
    with pytest.raises(ServingUsageError, match="kv cannot be 'int1'"):
        one(kv="int1")
