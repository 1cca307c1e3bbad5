"""Asks vLLM's own estimator what steps read and compute: ``python perf_counters.py FOLDER...``.

Run where vLLM is installed; each FOLDER holds a model's config.json. Prints a JSON object for each, a line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from vllm.engine.arg_utils import EngineArgs
from vllm.v1.metrics.perf import ExecutionContext, ModelMetrics

STREAMS, CONTEXT_TOKENS, VERIFIED_TOKENS, PROMPT_TOKENS = 18, 32_000, 5, 8_000


def counted(folder: str) -> dict[str, Any]:
    """What each kind of step comes to, with FP8 KV cache on one GPU."""
    config = EngineArgs(
        model=folder, skip_tokenizer_init=True, load_format="dummy", enforce_eager=True, kv_cache_dtype="fp8"
    ).create_engine_config()
    metrics = ModelMetrics(config)
    told: dict[str, float] = {}
    for name, tokens, prefill in (("decode", 1, False), ("verify", VERIFIED_TOKENS, True)):
        step = ExecutionContext()
        for _ in range(STREAMS):
            step.add(tokens, CONTEXT_TOKENS, is_prefill=prefill)
        told[f"{name}_read_bytes"] = metrics.get_read_bytes(step)
        told[f"{name}_flops"] = metrics.get_num_flops(step)
    prompt = ExecutionContext()
    prompt.add(PROMPT_TOKENS, PROMPT_TOKENS, is_prefill=True)
    breakdown = metrics.get_num_flops_breakdown(prompt)
    told["prompt_attention_flops"] = sum(
        flops for name, flops in breakdown.items() if name in {"attn.attn_qk", "attn.attn_av"}
    )
    told["prompt_flops"] = sum(breakdown.values())
    return {**told, "breakdown": breakdown}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(json.dumps(counted(name)) + "\n")
