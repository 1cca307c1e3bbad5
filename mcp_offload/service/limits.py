"""What one reply may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The budget of one reply, all framing included."""

    max_tokens: int
    max_bytes: int
