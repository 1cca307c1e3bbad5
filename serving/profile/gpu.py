"""What a GPU can do at most, as its maker states it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Gpu:
    """One GPU's data sheet. Rates are peaks: nothing reaches them, nothing exceeds them.

    Attributes:
        name: as typed, for instance ``h100-sxm``.
        title: as its maker calls it.
        memory_bytes: what the driver offers to one process, less than the capacity that is sold.
        bandwidth_bytes_per_second: of its HBM.
        bf16_flops: dense, without structured sparsity.
        fp8_flops: likewise; None where its tensor cores have no FP8.
        int8_ops: likewise, integer operations.
        link_bytes_per_second: to the other GPUs of the node, one direction.
        host_link_bytes_per_second: to the host, one direction.
        compute_capability: as CUDA numbers it; FP8 storage needs 8.0, FP8 arithmetic 8.9.
        sources: where each field is from.
    """

    name: str
    title: str
    memory_bytes: int
    bandwidth_bytes_per_second: float
    bf16_flops: float
    fp8_flops: float | None
    int8_ops: float
    link_bytes_per_second: float
    host_link_bytes_per_second: float
    compute_capability: float
    sources: dict[str, str] = field(default_factory=dict[str, str], hash=False)
