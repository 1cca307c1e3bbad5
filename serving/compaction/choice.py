"""Which texts of a history are replaced next, and by how little; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from serving.compaction.settings import CompactionSettings

LEAST_TOKENS = 64
"""Shorter texts cost hardly more than the line that would stand for them."""


class Form(IntEnum):
    """How a text is shown; each takes no more room than the one before."""

    WHOLE = 0
    NOTICE = 1
    LINE = 2


class Stage(IntEnum):
    """How far a step goes: each goes on where the one before was not enough."""

    OLD = 1
    """Long texts become notices, but for the most recent."""
    AGED = 2
    """The most recent as well."""
    LINES = 3
    """Notices become lines."""
    SHORT = 4
    """Short texts become lines."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An aged text: what it costs, in o200k tokens, and how it is shown now."""

    tokens: int
    form: Form


def choose(candidates: Sequence[Candidate], stage: Stage, settings: CompactionSettings) -> dict[int, Form]:
    """The texts that change in a step, by index, and what they become.

    A text only ever takes less room than before. All that may change does so in one step, since each
    step has the engine compute what follows the first change again.

    Args:
        candidates: all aged texts of a history, oldest first.
        stage: how far to go.
        settings: the thresholds.
    """
    first_kept = _first_kept(candidates, settings.keep_tokens) if stage is Stage.OLD else len(candidates)
    chosen: dict[int, Form] = {}
    for index, candidate in enumerate(candidates):
        if candidate.form is Form.WHOLE:
            if candidate.tokens >= settings.threshold_tokens and index < first_kept:
                chosen[index] = Form.NOTICE
            elif stage is Stage.SHORT and candidate.tokens >= LEAST_TOKENS:
                chosen[index] = Form.LINE
        elif stage >= Stage.LINES and candidate.form is Form.NOTICE:
            chosen[index] = Form.LINE
    return chosen


def _first_kept(candidates: Sequence[Candidate], keep_tokens: int) -> int:
    """The first of the most recent texts that together cost no more than may be kept."""
    room = keep_tokens
    for index in range(len(candidates) - 1, -1, -1):
        if candidates[index].form is Form.WHOLE:
            room -= candidates[index].tokens
        if room < 0:
            return index + 1
    return 0
