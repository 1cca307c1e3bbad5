"""Our arithmetic against vLLM's own estimator: where that is right, and each of its known errors."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from serving.profile.arithmetic import attention_flops, span_flops
from serving.profile.catalog import find_model
from serving.telemetry import Node
from tests.serving import environment
from tests.unit.serving.telemetry.runs import node

pytestmark = [pytest.mark.serving, pytest.mark.timeout(300)]

ASKER = Path(__file__).with_name("perf_counters.py")
STREAMS, CONTEXT_TOKENS, VERIFIED_TOKENS, PROMPT_TOKENS = 18, 32_000, 5, 8_000
WEIGHTS = {
    "llama-3.1-70b-fp8": None, "llama-3.1-8b": None, "qwen2.5-coder-32b": "bf16",
    "qwen3-coder-30b-a3b": "bf16", "gpt-oss-120b": None,
}  # fmt: skip
"""How the weights of each are stored in the configuration that vLLM is given; None for as it says itself."""
DENSE = ("llama-3.1-70b-fp8", "llama-3.1-8b", "qwen2.5-coder-32b")


@cache
def _all() -> dict[str, dict[str, Any]]:
    home = environment.ENVIRONMENTS / "perf"
    for model in WEIGHTS:
        text = files("serving.profile").joinpath(f"data/models/{model}.json").read_text()
        (home / model).mkdir(parents=True, exist_ok=True)
        (home / model / "config.json").write_text(json.dumps(json.loads(text)["config"]))
    line = [str(environment.python()), str(ASKER), *(str(home / model) for model in WEIGHTS)]
    variables = environment.variables(home) | {"VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(line, env=variables, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    return dict(zip(WEIGHTS, told, strict=True))


def counted(model: str) -> dict[str, Any]:
    """What vLLM's estimator says of a model with FP8 KV cache on one GPU."""
    return _all()[model]


def ours(model: str, kv: str = "fp8") -> Node:
    found = find_model(model, hub_cache="/nowhere", weights=WEIGHTS[model])
    return replace(node(model, gpus=1, kv=kv), weights=found.weights)


@pytest.mark.parametrize("model", DENSE)
def test_plain_decoding_of_dense_models_agrees(model: str) -> None:
    bytes_read = ours(model).step_bytes(STREAMS * CONTEXT_TOKENS, STREAMS)
    assert counted(model)["decode_read_bytes"] == pytest.approx(bytes_read, rel=0.005)
    shape = ours(model).model
    flops = STREAMS * (2 * shape.parameters.active + attention_flops(shape, CONTEXT_TOKENS))
    assert counted(model)["decode_flops"] == pytest.approx(flops, rel=0.005)


@pytest.mark.parametrize("model", DENSE)
def test_a_step_that_verifies_is_billed_with_kv_in_two_bytes(model: str) -> None:
    """Ours with a 16-bit KV cache comes to what it counts, and what is read is a third less."""
    billed = ours(model, kv="16bit").step_bytes(STREAMS * CONTEXT_TOKENS, STREAMS)
    assert counted(model)["verify_read_bytes"] == pytest.approx(billed, rel=0.01)
    assert counted(model)["verify_read_bytes"] > 1.5 * ours(model).step_bytes(
        STREAMS * CONTEXT_TOKENS, STREAMS
    )


@pytest.mark.parametrize("model", DENSE)
def test_a_prompts_attention_is_counted_twice(model: str) -> None:
    causal = span_flops(ours(model).model, 0, PROMPT_TOKENS)
    assert counted(model)["prompt_attention_flops"] == pytest.approx(2 * causal, rel=0.001)


def test_every_token_is_taken_to_read_experts_of_its_own() -> None:
    """18 streams x 8 experts are more than the 128 there are: it has all of them read, we some 88."""
    shape = ours("qwen3-coder-30b-a3b")
    parameters = shape.model.parameters
    read = shape.step_bytes(STREAMS * CONTEXT_TOKENS, STREAMS)
    spared = shape.weights.read_bytes(parameters, 10**6) - shape.weights.read_bytes(parameters, STREAMS)
    assert spared / read > 0.2
    assert counted("qwen3-coder-30b-a3b")["decode_read_bytes"] == pytest.approx(read + spared, rel=0.005)


def test_what_it_does_not_understand_it_leaves_out() -> None:
    """Of gpt-oss it counts the head alone, and says so nowhere on the page."""
    read = ours("gpt-oss-120b").step_bytes(STREAMS * CONTEXT_TOKENS, STREAMS)
    told = counted("gpt-oss-120b")
    assert told["decode_read_bytes"] < 0.05 * read
    assert set(told["breakdown"]) == {"unembed.unembed"}
