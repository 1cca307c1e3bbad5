"""What a plan takes for granted, each with its reason, so that a measured value can replace it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Assumptions:
    """Numbers that neither the model's configuration nor the data sheet tells.

    Attributes:
        utilization: share of each GPU's memory that the engine takes.
        overhead_bytes: of that, what is neither weights nor KV cache: activations, CUDA graphs, NCCL.
        bandwidth_efficiency: share of the HBM's peak that a decode step reaches.
        parallel_layer_seconds: added to each layer of a step where several GPUs share it.
        sparse_layer_seconds: added to each layer with routed experts.
        prefill_efficiency: share of the arithmetic peak that prefill reaches.
        busy: share of the live agents that decode at the same moment; the others wait for their tools.
        output_tokens: of one turn.
        fresh_share: share of a turn's prompt that no cached prefix covers.
    """

    utilization: float = 0.92
    overhead_bytes: float = 4e9
    bandwidth_efficiency: float = 0.75
    parallel_layer_seconds: float = 45e-6
    sparse_layer_seconds: float = 100e-6
    prefill_efficiency: float = 0.5
    busy: float = 1.0
    output_tokens: int = 444
    fresh_share: float = 0.05


DEFAULTS: Final = Assumptions()

SOURCES: Final = {
    "utilization": "the engine's default, vllm/config/cache.py of 0.33.0",
    "overhead_bytes": "assumed; the engine logs the true figure while it profiles",
    "bandwidth_efficiency": "fitted to aiconfigurator 0.12's decode times of Llama 70B FP8 on H100 SXM, TP1",
    "parallel_layer_seconds": "fitted to the same for TP2 to TP8: two all-reduces a layer",
    "sparse_layer_seconds": "fitted to the same for gpt-oss 120B and Qwen3 30B-A3B, 70 to 165 us",
    "prefill_efficiency": "assumed",
    "busy": "assumed; 1 is the worst case",
    "output_tokens": "median of public agent traces, vLLM blog of 2026-09-08",
    "fresh_share": "over 95 % prefix hits in the same traces",
}
"""Where each field of :class:`Assumptions` is from."""
