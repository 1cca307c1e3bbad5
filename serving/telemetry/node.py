"""The node whose work is told: its model, how that is stored, and its GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from serving.profile.architecture import Architecture
from serving.profile.formats import KvFormat, WeightFormat
from serving.profile.gpu import Gpu
from serving.profile.memory import SequenceBytes, sequence_bytes


@dataclass(frozen=True)
class Node:
    """What runs where.

    Attributes:
        model: its shape.
        weights: how its weights are stored.
        kv: how its keys and values are.
        gpu: each of the node.
        tensor_parallel: GPUs that share one copy of the model.
        copies: of the model on the node: data-parallel ranks and servers.
        draft: a draft model's shape; None where there is none.
        draft_weights: how that is stored.
    """

    model: Architecture
    weights: WeightFormat
    kv: KvFormat
    gpu: Gpu
    tensor_parallel: int = 1
    copies: int = 1
    draft: Architecture | None = None
    draft_weights: WeightFormat | None = None

    @property
    def gpus(self) -> int:
        """All of them."""
        return self.tensor_parallel * self.copies

    @property
    def sequence(self) -> SequenceBytes:
        """What one sequence takes on its copy's GPUs together, its state once."""
        return sequence_bytes(self.model, self.kv, tensor_parallel=self.tensor_parallel)

    @property
    def peak_flops(self) -> float:
        """Of the node, dense, in the format that projections are multiplied in."""
        gpu = self.gpu
        return self.gpus * (gpu.fp8_flops if self.computes_fp8 and gpu.fp8_flops else gpu.bf16_flops)

    @property
    def computes_fp8(self) -> bool:
        """Whether projections are multiplied in FP8."""
        return self.weights.computes_fp8 and self.gpu.fp8_flops is not None

    @property
    def bandwidth_bytes_per_second(self) -> float:
        """Of the node's HBM at its peak."""
        return self.gpus * self.gpu.bandwidth_bytes_per_second

    def step_bytes(self, contexts_tokens: float, streams: int, tokens_each: int = 1) -> float:
        """What one step of one copy reads, over its GPUs: weights, and each stream's keys, values and state.

        Args:
            contexts_tokens: of all streams together; windows are taken at the streams' mean.
            streams: that take part.
            tokens_each: that each of them verifies; 1 without speculation.
        """
        weights = self.weights.read_bytes(self.model.parameters, streams * tokens_each)
        return weights + streams * self.sequence.at(contexts_tokens / streams if streams else 0)

    def velocity_bound(self, context_tokens: float, tokens_per_step: float = 1.0, streams: int = 1) -> float:
        """Tokens per second of one stream that nothing exceeds: HBM at its peak, nothing else in the way."""
        copy = self.tensor_parallel * self.gpu.bandwidth_bytes_per_second
        return tokens_per_step * copy / self.step_bytes(context_tokens * streams, streams)
