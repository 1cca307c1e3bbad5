"""One engine's KV pool and its steps: what fits, and how long a step takes at least and probably.

All figures are those of one pool: one tensor-parallel group of GPUs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from serving.plan.assumptions import DEFAULTS, Assumptions
from serving.plan.topology import Topology
from serving.profile.architecture import Architecture
from serving.profile.arithmetic import attention_flops
from serving.profile.formats import KvFormat, WeightFormat
from serving.profile.gpu import Gpu
from serving.profile.memory import SequenceBytes, block_tokens, mtp_bytes, sequence_bytes


@dataclass(frozen=True)
class Draft:
    """What drafts tokens.

    Attributes:
        method: draft_model, mtp, eagle3, ngram or suffix.
        tokens: drafted per step.
        acceptance: the probability that a drafted token is accepted, given that those before it were.
        architecture: the draft model's shape; None but for draft_model.
        weights: how its weights are stored.
    """

    method: str
    tokens: int
    acceptance: float
    architecture: Architecture | None = None
    weights: WeightFormat | None = None

    @property
    def expected_tokens(self) -> float:
        """Tokens that one verified step yields: (1 - a^(k+1)) / (1 - a).

        Source: Leviathan et al., Fast inference from transformers via speculative decoding, 2023.
        """
        return (1 - self.acceptance ** (self.tokens + 1)) / (1 - self.acceptance)


@dataclass(frozen=True)
class Engine:
    """A model on one tensor-parallel group.

    Attributes:
        model: its shape.
        weights: how they are stored.
        kv: how keys and values are stored.
        gpu: each of the group.
        topology: of the node.
        assume: what is taken for granted.
        draft: None decodes one token a step.
        prefix_caching: a hybrid's sequences then hold one more state.
        window_kv: how layers with a window store keys and values, where that differs.
    """

    model: Architecture
    weights: WeightFormat
    kv: KvFormat
    gpu: Gpu
    topology: Topology
    assume: Assumptions = DEFAULTS
    draft: Draft | None = None
    prefix_caching: bool = True
    window_kv: KvFormat | None = None

    # --- memory ---------------------------------------------------------------------------------

    @property
    def weight_bytes(self) -> float:
        """Weights on the group, with the draft's."""
        parameters = self.model.parameters
        total: float = self.weights.stored_bytes(parameters)
        if self.topology.expert_parallel:
            experts = parameters.experts * self.weights.expert_bits / 8
            total -= experts * (1 - 1 / self.topology.data_parallel)
        return total + self._draft_weight_bytes

    @property
    def _draft_weight_bytes(self) -> float:
        if self.draft is None:
            return 0
        if self.draft.method == "mtp":
            return self.model.mtp_parameters * self.weights.linear_bits / 8
        if self.draft.architecture is not None and self.draft.weights is not None:
            return self.draft.weights.stored_bytes(self.draft.architecture.parameters)
        return 0

    @property
    def pool_bytes(self) -> float:
        """What is left for KV cache and state; negative where not even the weights fit."""
        usable = self.gpu.memory_bytes * self.assume.utilization - self.assume.overhead_bytes
        return self.topology.tensor_parallel * usable - self.weight_bytes

    @property
    def sequence(self) -> SequenceBytes:
        """What one sequence takes, with its draft's keys and values."""
        return self.own_sequence + self.draft_sequence

    @property
    def own_sequence(self) -> SequenceBytes:
        """What one sequence takes in the model itself."""
        speculative = self.draft.tokens if self.draft else 0
        return sequence_bytes(
            self.model,
            self.kv,
            tensor_parallel=self.topology.tensor_parallel,
            state_copies=1 + self.prefix_caching + speculative,
            window_kv=self.window_kv,
        )

    @property
    def draft_sequence(self) -> SequenceBytes:
        """What one sequence takes in the draft, which shares the pool."""
        tensor_parallel = self.topology.tensor_parallel
        if self.draft is not None and self.draft.method == "mtp":
            return mtp_bytes(self.model, self.kv, tensor_parallel=tensor_parallel)
        if self.draft is not None and self.draft.architecture is not None:
            return sequence_bytes(self.draft.architecture, self.kv, tensor_parallel=tensor_parallel)
        return SequenceBytes(0, 0, 0, 0)

    def agents_in_memory(self, depth_tokens: int) -> int:
        """Sequences of that length that the pool holds at once, in whole blocks."""
        blocks = math.ceil(depth_tokens / self.block_tokens)
        return max(0, int(self.pool_bytes // self.sequence.at(blocks * self.block_tokens)))

    @property
    def block_tokens(self) -> int:
        """Tokens of one block of the pool."""
        return block_tokens(self.model, self.kv, self.topology.tensor_parallel)

    # --- time -----------------------------------------------------------------------------------

    def step_bytes(self, streams: float, depth_tokens: float, tokens_each: int = 1) -> float:
        """Bytes that the group reads in one step: weights, and every stream's keys, values and state.

        A hybrid's state is read once, whatever the copies, and written once more.
        """
        parameters = self.model.parameters
        if self.topology.expert_parallel:
            ranks = self.topology.data_parallel
            everywhere = self.weights.read_bytes(parameters, streams * ranks * tokens_each)
            none = self.weights.read_bytes(parameters, 0)
            weights = none + (everywhere - none) / ranks
        else:
            weights = self.weights.read_bytes(parameters, streams * tokens_each)
        own = self.own_sequence
        copies = 1 + self.prefix_caching + (self.draft.tokens if self.draft else 0)
        return weights + streams * (own.at(depth_tokens) - own.state + own.state / copies)

    def step_flops(self, streams: float, depth_tokens: float, tokens_each: int = 1) -> float:
        """Operations of one step: two per active parameter, and attention over the context."""
        each = 2 * self.model.parameters.active + attention_flops(self.model, depth_tokens)
        return streams * tokens_each * each

    def least_step_seconds(self, streams: float, depth_tokens: float, tokens_each: int = 1) -> float:
        """A step cannot be faster: all bytes at the HBM's peak, all operations at the arithmetic's."""
        group = self.topology.tensor_parallel
        reading = self.step_bytes(streams, depth_tokens, tokens_each)
        computing = self.step_flops(streams, depth_tokens, tokens_each)
        return max(
            reading / (group * self.gpu.bandwidth_bytes_per_second), computing / (group * self.peak_flops)
        )

    def step_seconds(self, streams: float, depth_tokens: float, tokens_each: int = 1) -> float:
        """What a step probably takes: the bound over an efficiency, and a cost for each layer."""
        bound = self.least_step_seconds(streams, depth_tokens, tokens_each)
        return bound / self.assume.bandwidth_efficiency + self.model.depth * self._layer_seconds(self.model)

    def _layer_seconds(self, model: Architecture) -> float:
        shared = self.topology.tensor_parallel > 1 or self.topology.expert_parallel
        seconds = self.assume.parallel_layer_seconds if shared else 0.0
        return seconds + (self.assume.sparse_layer_seconds if model.is_sparse else 0.0)

    @property
    def peak_flops(self) -> float:
        """Of the format that the projections are multiplied in."""
        if self.weights.computes_fp8 and self.gpu.fp8_flops:
            return self.gpu.fp8_flops
        return self.gpu.bf16_flops

    def draft_seconds(self, streams: float, depth_tokens: float) -> float:
        """One drafted token: the draft's own step. Looking up n-grams or suffixes takes none worth naming."""
        draft = self.draft
        if draft is None or draft.method in ("ngram", "suffix"):
            return 0.0
        group = self.topology.tensor_parallel * self.gpu.bandwidth_bytes_per_second
        kept = self.draft_sequence.at(depth_tokens) * streams
        if draft.architecture is not None and draft.weights is not None:
            read = draft.weights.read_bytes(draft.architecture.parameters, streams) + kept
            layers = draft.architecture.depth * self._layer_seconds(draft.architecture)
            return read / group / self.assume.bandwidth_efficiency + layers
        # One layer and the head, which mtp and eagle heads share with the model.
        heads = 2 * self.model.parameters.head_or_tied
        layer = self.model.parameters.linear * self.weights.linear_bits / 8 / self.model.depth
        return (heads + layer + kept) / group / self.assume.bandwidth_efficiency + self._layer_seconds(
            self.model
        )

    def prefill_seconds(self, new_tokens: float, context_tokens: float = 0, *, least: bool = False) -> float:
        """Fill ``new_tokens`` behind a context that is cached already; nothing else runs meanwhile.

        With ``least`` the floor: projections in the weights' format, attention in bf16, both at their peak.
        """
        group = self.topology.tensor_parallel
        projections = 2 * self.model.parameters.active * new_tokens / (group * self.peak_flops)
        mean_context = context_tokens + new_tokens / 2
        attending = attention_flops(self.model, mean_context) * new_tokens / (group * self.gpu.bf16_flops)
        return (projections + attending) / (1 if least else self.assume.prefill_efficiency)

    # --- velocity -------------------------------------------------------------------------------

    def velocity(self, streams: float, depth_tokens: float, *, least_time: bool = False) -> float:
        """Tokens per second of one stream beside the others; with ``least_time`` none can exceed it.

        Under speculation: tokens of a step over the time to draft and verify them. The bound then leaves out
        the time to draft.
        """
        tokens_each = 1 + (self.draft.tokens if self.draft else 0)
        expected = self.draft.expected_tokens if self.draft else 1.0
        if least_time:
            return expected / self.least_step_seconds(streams, depth_tokens, tokens_each)
        drafting = self.draft.tokens * self.draft_seconds(streams, depth_tokens) if self.draft else 0.0
        return expected / (self.step_seconds(streams, depth_tokens, tokens_each) + drafting)

    def streams_above(self, floor_tokens_per_second: float, depth_tokens: float) -> int:
        """The most streams of that length that all decode at the floor or faster; found by bisection."""
        if self.velocity(1, depth_tokens) < floor_tokens_per_second:
            return 0
        low, high = 1, 2
        while high < 1 << 20 and self.velocity(high, depth_tokens) >= floor_tokens_per_second:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.velocity(middle, depth_tokens) >= floor_tokens_per_second:
                low = middle
            else:
                high = middle
        return low
