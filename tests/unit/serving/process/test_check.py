"""What `check` concludes from what a node answers; a node that a real engine cannot be made to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from serving.errors import EngineError
from serving.process.ask import expected_pool
from serving.process.check import Check, Expected, Finding
from serving.profile.load import load_profile
from serving.profile.model import Profile, Speculation

SMOKE = replace(load_profile("cpu-smoke"), max_num_batched_tokens=512)


@dataclass
class Node:
    """Answers as an engine behind a gate does.

    Attributes:
        budget: prompt tokens of a step.
        caches: prefixes are reused.
        drafts: drafted and accepted tokens of each request.
    """

    version: str = "0.32.0"
    dtype: str = "fp8_e4m3"
    blocks: int = 729
    budget: int = 512
    caches: bool = True
    drafts: tuple[int, int] = (0, 0)
    details: bool = True
    bypasses: bool = False
    has_gate: bool = True

    def __post_init__(self) -> None:
        self.seen: set[tuple[int, ...]] = set()
        self.hits = self.drafted = self.accepted = self.prefill_steps = self.largest = self.requests = 0

    def get(self, path: str) -> bytes:
        if path == "/v1/models":
            return json.dumps({"data": [{"id": "m"}]}).encode()
        if path == "/version":
            return json.dumps({"version": self.version}).encode()
        if path == "/metrics":
            return self._metrics().encode()
        if path == "/gate/status" and self.has_gate:
            return json.dumps(self._status()).encode()
        raise EngineError(f"{path} answered 404")

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if path.endswith("/render"):
            raise EngineError(f"{path} answered 404")
        prompt: list[int] = body["prompt"]
        cached = (len(prompt) - 1) // 128 * 128 if self.caches and tuple(prompt) in self.seen else 0
        self.seen.add(tuple(prompt))
        self.requests += 1
        self.hits += cached
        self.drafted += self.drafts[0]
        self.accepted += self.drafts[1]
        rest = len(prompt) - cached
        self.prefill_steps += -(-rest // self.budget)
        self.largest = max(self.largest, min(rest, self.budget))
        return {"usage": {"prompt_tokens": len(prompt), "prompt_tokens_details": {"cached_tokens": cached}}}

    def _metrics(self) -> str:
        counters = {
            "vllm:prefix_cache_hits_total": self.hits,
            "vllm:spec_decode_num_draft_tokens_total": self.drafted,
            "vllm:spec_decode_num_accepted_tokens_total": self.accepted,
        }
        pool = (
            f'vllm:cache_config_info{{engine="0",num_gpu_blocks="{self.blocks}",block_size="128",'
            f'cache_dtype="{self.dtype}",kv_cache_size_tokens="{(self.blocks - 1) * 128}"}} 1.0'
        )
        lines = [f'{name}{{engine="0"}} {value}' for name, value in counters.items()]
        return "\n".join([pool, *lines, ""])

    def _status(self) -> dict[str, Any]:
        process = {
            "iteration_details": self.details,
            "prefill_steps": self.prefill_steps,
            "largest_prefill_tokens": self.largest,
        }
        return {"outcomes": {"bypassed": self.requests if self.bypasses else 0}, "process": process}


def findings(node: Node, profile: Profile = SMOKE, **more: Any) -> dict[str, Finding]:
    told: dict[str, Any] = {"expected": Expected(93_207, "1 GiB", exact=True), "has_kv_scales": False, **more}
    check = Check(node, profile, told["expected"], has_kv_scales=told["has_kv_scales"], salt=77)
    return {finding.name: finding for finding in check.run()}


def test_a_node_as_its_profile_says() -> None:
    told = findings(Node())
    assert {name: finding.verdict for name, finding in told.items()} == dict.fromkeys(
        [
            "version", "kv_cache_dtype", "kv_scales", "blocks", "prefix_caching", "chunked_prefill",
            "speculation", "counting",
        ],
        "passed",
    )  # fmt: skip
    assert "1.0" in told["kv_scales"].evidence
    assert "3 steps" in told["chunked_prefill"].evidence


@pytest.mark.parametrize(
    ("node", "point"),
    [
        (Node(version="0.33.0"), "version"),
        (Node(dtype="auto"), "kv_cache_dtype"),
        (Node(blocks=365), "blocks"),
        (Node(caches=False), "prefix_caching"),
        (Node(budget=4096), "chunked_prefill"),
        (Node(drafts=(5, 2)), "speculation"),
        (Node(bypasses=True), "counting"),
        (Node(has_gate=False), "counting"),
    ],
)
def test_each_point_fails_alone(node: Node, point: str) -> None:
    failed = {name for name, finding in findings(node).items() if finding.verdict == "failed"}
    assert failed == {point}


def test_what_cannot_be_measured_is_said() -> None:
    told = findings(Node(details=False), expected=Expected(None, "no shape"), has_kv_scales=None)
    unknown = {name for name, finding in told.items() if finding.verdict == "not measurable"}
    assert unknown == {"chunked_prefill", "blocks", "kv_scales"}
    assert "--iteration-details" in told["chunked_prefill"].evidence


@pytest.mark.parametrize(
    ("method", "drafts", "verdict"),
    [
        ("draft_model", (10, 4), "passed"),
        ("draft_model", (10, 0), "failed"),
        ("draft_model", (0, 0), "failed"),
        ("ngram", (0, 0), "not measurable"),
    ],
)
def test_speculation(method: Any, drafts: tuple[int, int], verdict: str) -> None:
    profile = replace(SMOKE, speculation=Speculation(method, 3, model="d"))
    assert findings(Node(drafts=drafts), profile)["speculation"].verdict == verdict


def test_the_pool_that_is_expected_of_shipped_profiles() -> None:
    """70B in FP8 on two H100 leaves 2 x 80e9 x 0.92 less weights; its tokens take 163,840 bytes in FP8."""
    told = expected_pool(load_profile("llama-3.1-70b-fp8-2xh100"), "/nowhere")
    assert told.tokens is not None
    assert not told.exact
    assert 200_000 < told.tokens < 500_000
    assert expected_pool(SMOKE, "/nowhere").tokens is None


def test_keys_in_float32_take_twice_the_bytes(tmp_path: Path) -> None:
    shape = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 576, "vocab_size": 49152,
        "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
        "num_key_value_heads": 3, "max_position_embeddings": 8192, "head_dim": 64,
        "tie_word_embeddings": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(shape))
    profile = replace(SMOKE, model=str(tmp_path), kv_cache_dtype="auto")
    half, full = (
        expected_pool(replace(profile, dtype=dtype), "/nowhere").tokens for dtype in ("auto", "float32")
    )
    # 30 layers of 2 x 3 x 64 elements.
    assert half == pytest.approx(2**30 / (30 * 384 * 2))
    assert full == pytest.approx(2**30 / (30 * 384 * 4))
