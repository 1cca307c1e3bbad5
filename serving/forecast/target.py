"""What of a run is forecast: tokens of its peak, KV-cache blocks, or bytes of the engine's processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from serving.forecast.context import blocks
from serving.forecast.runs import Run
from serving.profile.memory import SequenceBytes


@dataclass(frozen=True)
class Target:
    """One quantity.

    Attributes:
        name, unit: as tables show them.
        truth: what it was in a run.
        of_tokens: what it is for a peak of so many tokens, in closed form.
    """

    name: str
    unit: str
    truth: Callable[[Run], float]
    of_tokens: Callable[[float], float]


PEAK_TOKENS: Final = Target(
    "peak context", "tokens", lambda run: float(run.peak_tokens), lambda tokens: tokens
)


def kv_blocks(block_tokens: int) -> Target:
    """Whole blocks of the KV cache that a session's largest context takes."""
    return Target(
        "KV cache of a session",
        "blocks",
        lambda run: float(blocks(run.peak_tokens, block_tokens)),
        lambda tokens: float(blocks(tokens, block_tokens)),
    )


def process_bytes(sequence: SequenceBytes, resident_bytes: float) -> Target:
    """Memory of the engine's processes.

    Args:
        sequence: the KV cache of a sequence, by kind of layer.
        resident_bytes: weights and activations, as measured.
    """
    return Target(
        "memory of the engine's processes",
        "bytes",
        lambda run: float(run.process_bytes or 0),
        lambda tokens: resident_bytes + sequence.at(tokens),
    )
