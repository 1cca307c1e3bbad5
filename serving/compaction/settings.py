"""What an operator can set of compaction, as one frozen value; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CompactionMode(StrEnum):
    """``off`` passes histories as they are, ``shadow`` counts what it would do, ``on`` does it."""

    OFF = "off"
    SHADOW = "shadow"
    ON = "on"


class Retrieval(StrEnum):
    """Who reads back what was replaced.

    ``auto``: the client's own tools of mcp-offload where the request shows them, else the gate's; ``gate``:
    always the gate's, as where the client's tools see another store; ``client``: never the gate's.
    """

    AUTO = "auto"
    GATE = "gate"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """Attributes of compaction; tokens are the engine's where nothing else is said.

    Attributes:
        mode: see :class:`CompactionMode`.
        lease_tokens: what a prompt may come to.
        target: the part of it that a step goes below where it can, so that steps are rare.
        threshold_tokens: o200k tokens from which a text is replaced.
        keep_tokens: o200k tokens of the most recent aged texts that stay while that is enough.
        notice_tokens: o200k tokens of what stands for a text.
        retrieval: see :class:`Retrieval`.
        result_tokens: o200k tokens of one result that the gate's tools give.
        rounds: how many times in one turn of the model the gate answers calls of its tools.
    """

    mode: CompactionMode = CompactionMode.OFF
    lease_tokens: int = 18_000
    target: float = 0.75
    threshold_tokens: int = 256
    keep_tokens: int = 2_000
    notice_tokens: int = 200
    retrieval: Retrieval = Retrieval.AUTO
    result_tokens: int = 2_000
    rounds: int = 8
