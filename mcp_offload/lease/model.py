"""What a lease is made of: its terms, its state, what is delivered under it and what is told about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_offload.settings import LeaseMode

DeliveryKind = Literal["definitions", "instructions", "result", "error", "prompt", "resource", "refusal"]
Stage = Literal["full", "head", "card", "refused"]
ContextEvent = Literal["compacted", "cleared"]
ContextSource = Literal["client", "model", "gateway"]

STANDING: Final = ("definitions", "instructions")
"""Kinds that a client holds once, however often they are sent."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a lease grants, in o200k tokens unless said otherwise.

    Attributes:
        limit_tokens: of the model's whole context, in the model's own tokens.
        reserve_tokens: of that, for what the server cannot see.
        factor: tokens of the model's tokenizer for one o200k token.
        standing_tokens: what the server's own lists and instructions take, sent by now or not.
    """

    mode: LeaseMode
    limit_tokens: int
    reserve_tokens: int
    factor: float = 1.0
    standing_tokens: int = 0

    @property
    def lease_tokens(self) -> int:
        """What may be delivered."""
        return self.in_o200k(self.limit_tokens - self.reserve_tokens)

    def in_o200k(self, model_tokens: int) -> int:
        """The o200k tokens that surely fit into so many of the model's; negative for negative ones."""
        return math.floor(model_tokens / self.factor)


@dataclass(frozen=True, slots=True)
class Held:
    """A text that was delivered and is, for all we know, still in the client's context.

    Attributes:
        tokens: of every copy that was delivered.
        stamp: tells whether a text is the one that was delivered last.
        confirmed_at: POSIX seconds when the client last said that it still holds it.
    """

    tokens: int
    stamp: str | None = None
    confirmed_at: float | None = None


@dataclass(frozen=True, slots=True)
class ContextSize:
    """The size of the whole context as somebody who sees it reported it, in the model's own tokens."""

    tokens: int
    source: ContextSource
    at: float


@dataclass(frozen=True, slots=True)
class LeaseState:
    """Everything a ledger remembers of one lease. Counts are exact o200k tokens.

    Attributes:
        delivered: ever, by kind.
        refusals: how often something was refused.
        standing: of lists and instructions, by the name of what they are; held once.
        loose: charged, and not known to belong to a handle.
        held: charged, by handle, oldest first.
        room: what was left after the last report of the context's size, less what came since.
        agents: what sub-agents were given of this lease, by name.
        share: what this lease may deliver where it is a sub-agent's; None = what the terms say.
        terms: those under which it was last delivered to, for whoever reports from elsewhere.
        reserved: charged for what processes may be sending, by the name of the process.
    """

    delivered: Mapping[str, int] = field(default_factory=dict[str, int])
    refusals: int = 0
    standing: Mapping[str, int] = field(default_factory=dict[str, int])
    loose: int = 0
    held: Mapping[str, Held] = field(default_factory=dict[str, Held])
    room: int | None = None
    context: ContextSize | None = None
    agents: Mapping[str, int] = field(default_factory=dict[str, int])
    share: int | None = None
    terms: Terms | None = None
    reserved: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class DeliveredText:
    """The part of a reply that one handle names; ``stamp`` changes with the text."""

    handle: str
    tokens: int
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One reply, counted as sent.

    Attributes:
        tokens: of the whole reply.
        name: of the tool or prompt; of the server for definitions and instructions.
        texts: its parts that have handles, together at most ``tokens``.
    """

    kind: DeliveryKind
    tokens: int
    name: str = ""
    texts: tuple[DeliveredText, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What the client, its model or the serving gateway tells of the context.

    Attributes:
        event: the context was compacted or cleared since the last call.
        context_tokens: size of the whole context now, in the model's own tokens.
        gone: handles whose text is no longer in it; ``f12`` stands for all of its parts.
        holds: handles whose text is still in it.
        agent_started: name of a sub-agent that gets ``share_tokens`` (o200k) of this lease.
        agent_ended: name of one that gives them back.
    """

    event: ContextEvent | None = None
    context_tokens: int | None = None
    source: ContextSource = "client"
    gone: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    agent_started: str | None = None
    share_tokens: int | None = None
    agent_ended: str | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """What the next reply may cost, and in which form it should come.

    Attributes:
        max_tokens: of the whole reply.
        left_tokens: of the lease, before the reply.
        confirmed: whether the client has said of any text that it holds it.
    """

    stage: Stage
    max_tokens: int
    left_tokens: int
    confirmed: bool = False
