"""How many operations a model takes. Pure; what keys and values take lies in ``memory``."""

from __future__ import annotations

from collections.abc import Iterator

from serving.profile.architecture import Architecture, AttentionLayers, LatentLayers


def attention_flops(model: Architecture, context_tokens: float) -> float:
    """Operations by which one token attends: 4 x heads x dimension x context, per layer that keeps keys."""
    total = 0.0
    for flops, window in _attending(model):
        total += flops * min(context_tokens, window or context_tokens)
    return total


def span_flops(model: Architecture, first_token: int, last_token: int) -> float:
    """Operations by which the tokens at ``first_token`` up to, not including, ``last_token`` attend.

    The token at position p, from 0, attends to itself and what is before it, p + 1 tokens, or to the window.
    """
    total = 0.0
    for flops, window in _attending(model):
        total += flops * (_seen(last_token, window) - _seen(first_token, window))
    return total


def projection_flops(model: Architecture, tokens: float, sampled_tokens: float) -> float:
    """Operations outside attention: two for each parameter a token is multiplied with.

    Args:
        model: its shape.
        tokens: that pass the layers.
        sampled_tokens: from which a next token is drawn; only those pass the head.
    """
    head = model.parameters.head_or_tied
    return 2 * (model.parameters.active - head) * tokens + 2 * head * sampled_tokens


def _attending(model: Architecture) -> Iterator[tuple[int, int | None]]:
    """Operations for each token that is looked at, and how many are; linear layers keep no keys."""
    for layers in model.layers:
        if isinstance(layers, AttentionLayers):
            yield layers.count * 4 * layers.heads * layers.head_dim, layers.window
        elif isinstance(layers, LatentLayers):
            # Absorbed: every head attends over the latent and its rotary part.
            yield layers.count * 2 * layers.heads * (2 * layers.rank + layers.rope_dim), None


def _seen(tokens: int, window: int | None) -> int:
    """Tokens that the first ``tokens`` look at, together."""
    growing = tokens if window is None else min(tokens, window)
    return growing * (growing + 1) // 2 + (tokens - growing) * (window or 0)
