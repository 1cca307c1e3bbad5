"""Bytes of a sequence's KV cache and state, by kind of layer. Pure.

For tensor parallelism over T GPUs the figures are those of the whole group. A GPU holds
``max(1, kv_heads / T)`` heads, so with fewer KV heads than GPUs each is held several times; the latent of
multi-head latent attention is held by every GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from serving.profile.architecture import Architecture, AttentionLayers, LatentLayers, LinearLayers
from serving.profile.formats import KvFormat


@dataclass(frozen=True)
class SequenceBytes:
    """What a sequence takes on one tensor-parallel group.

    Attributes:
        per_token: for every token, without end.
        per_window_token: for every token of the window, beside ``per_token``; the sum over all windows'
            layers where they have one width.
        window_tokens: the widest window; 0 where there is none.
        state: whatever the length.
    """

    per_token: int
    per_window_token: int
    window_tokens: int
    state: int

    def at(self, tokens: float) -> float:
        """Bytes of a sequence of that length."""
        return self.per_token * tokens + self.per_window_token * min(tokens, self.window_tokens) + self.state

    def longest(self, room_bytes: float) -> int:
        """The longest sequence that fits; 0 where not even the state does."""
        if room_bytes < self.at(0):
            return 0
        in_window = (room_bytes - self.state) / max(1, self.per_token + self.per_window_token)
        if in_window <= self.window_tokens or not self.per_token:
            return int(min(in_window, self.window_tokens) if not self.per_token else in_window)
        return int((room_bytes - self.at(0) - self.per_window_token * self.window_tokens) / self.per_token)

    def __add__(self, other: SequenceBytes) -> SequenceBytes:
        """Both together, as a model and its draft."""
        return SequenceBytes(
            self.per_token + other.per_token,
            self.per_window_token + other.per_window_token,
            max(self.window_tokens, other.window_tokens),
            self.state + other.state,
        )


def sequence_bytes(
    model: Architecture,
    kv: KvFormat,
    *,
    tensor_parallel: int = 1,
    state_copies: int = 1,
    window_kv: KvFormat | None = None,
) -> SequenceBytes:
    """What a sequence of a model takes.

    Args:
        model: its shape.
        kv: the format of keys and values.
        tensor_parallel: GPUs that share the model.
        state_copies: states that a sequence of a hybrid holds at once: one, and with prefix caching one more
            for the last checkpoint, and one per speculative token. Source: MambaSpec.max_memory_usage_bytes
            of vLLM 0.33.0.
        window_kv: the format in layers with a window, where it differs.
    """
    per_token = per_window_token = window_tokens = state = 0
    for layers in model.layers:
        if isinstance(layers, LinearLayers):
            state += layers.count * _state(layers)
        elif isinstance(layers, AttentionLayers) and layers.window:
            per_window_token += token_bytes(layers, window_kv or kv, tensor_parallel)
            window_tokens = max(window_tokens, layers.window)
        else:
            per_token += token_bytes(layers, kv, tensor_parallel)
    return SequenceBytes(per_token, per_window_token, window_tokens, state * state_copies)


def mtp_bytes(model: Architecture, kv: KvFormat, *, tensor_parallel: int = 1) -> SequenceBytes:
    """What multi-token-prediction layers add, which keep keys and values of their own."""
    per_token = token_bytes(model.mtp, kv, tensor_parallel) if model.mtp else 0
    return SequenceBytes(per_token, 0, 0, 0)


def token_bytes(layers: AttentionLayers | LatentLayers, kv: KvFormat, tensor_parallel: int) -> int:
    """Bytes of one token in all these layers, on the whole group."""
    if isinstance(layers, LatentLayers):
        elements = layers.rank + layers.rope_dim
        return layers.count * tensor_parallel * (elements * kv.element_bytes + kv.scale_bytes_per_vector)
    heads = tensor_parallel * max(1, layers.kv_heads // tensor_parallel)
    return layers.count * heads * 2 * (layers.head_dim * kv.element_bytes + kv.scale_bytes_per_vector)


def _state(layers: LinearLayers) -> int:
    """Bytes of one layer's state; the convolution keeps the model's 16 bits."""
    convolution = layers.conv_channels * (layers.conv_kernel - 1) * 2
    return layers.recurrent_elements * layers.state_bytes_per_element + convolution


def replication(model: Architecture, tensor_parallel: int) -> float:
    """How many times a group stores each key and value; 1 where nothing is stored twice."""
    worst = 1.0
    for layers in model.layers:
        if isinstance(layers, AttentionLayers):
            worst = max(worst, tensor_parallel / min(layers.kv_heads, tensor_parallel))
        elif isinstance(layers, LatentLayers):
            worst = max(worst, float(tensor_parallel))
    return worst


BLOCK_TOKENS = 16
"""Tokens of a block where all layers keep keys and values. Source: CacheConfig of vLLM 0.33.0."""


def block_tokens(model: Architecture, kv: KvFormat, tensor_parallel: int) -> int:
    """Tokens of one block of the engine's pool.

    In a hybrid a block of keys and values must be as large as a state, which makes it long: prefix hits
    land on its ends, and each sequence leaves half of one unused. Source: Platform's alignment of
    block sizes in vLLM 0.33.0, vllm/platforms/interface.py.
    """
    attention = [layers for layers in model.layers if not isinstance(layers, LinearLayers)]
    linear = [layers for layers in model.layers if isinstance(layers, LinearLayers)]
    if not linear or not attention:
        return BLOCK_TOKENS
    state = max(_state(layers) for layers in linear) / tensor_parallel
    token = token_bytes(attention[0], kv, tensor_parallel) / attention[0].count / tensor_parallel
    return BLOCK_TOKENS * math.ceil(state / (BLOCK_TOKENS * token))
