"""A checkpoint that can be planned for: its shape and how it is stored. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from serving.profile.architecture import Architecture
from serving.profile.formats import WeightFormat


@dataclass(frozen=True)
class Model:
    """A model that can be planned for.

    Attributes:
        name: as it was asked for.
        checkpoint: what the engine loads: a name on the hub or a folder.
        source: where its configuration is from.
        reconstructed: True where that was written down instead of read.
        architecture: its shape.
        weights: how the checkpoint stores its weights.
        has_kv_scales: True where it carries scales for an FP8 KV cache.
        quantized_in_checkpoint: False where the weights' format was asked for and is not the checkpoint's.
        has_vision: True where it also reads images.
        tool_call_parser, reasoning_parser: the engine's names for how it calls tools and thinks.
    """

    name: str
    checkpoint: str
    source: str
    reconstructed: bool
    architecture: Architecture
    weights: WeightFormat
    has_kv_scales: bool
    quantized_in_checkpoint: bool = True
    has_vision: bool = False
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
