"""What is told of leases, and of what was delivered and kept out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseResult:
    """A session's lease as it stands. Counts are exact o200k tokens delivered by this server.

    Attributes:
        session: whose it is, as far as the transport tells.
        mode: ``off``, ``advisory`` or ``hard``.
        limit_tokens, reserve_tokens: in the model's own tokens.
        tokenizer_factor: tokens of the model for one o200k token.
        lease_tokens: what may be delivered.
        charged_tokens: what was delivered and is held to be in the context still.
        left_tokens: what may still be delivered; negative where an advisory lease was exceeded.
        stage: form in which answers come now: ``full``, ``head``, ``card`` or ``refused``.
        delivered_tokens: ever, of every kind, refusals included; ``delivered`` tells them by kind. Of
            these the lease bounds all but ``refusal``, and lists and instructions that were sent again.
        refusals: how often something was refused.
        holds: handles whose text is held to be in the context, oldest first.
        agents: what sub-agents were given of the lease, by name.
        context_tokens: size of the whole context as ``context_source`` reported it, in the model's own
            tokens; null where nobody did. The server itself knows nothing of it.
        context_reported_at: POSIX seconds.
    """

    session: str
    mode: str
    limit_tokens: int
    reserve_tokens: int
    tokenizer_factor: float
    lease_tokens: int
    charged_tokens: int
    left_tokens: int
    stage: str
    delivered_tokens: int
    delivered: Mapping[str, int]
    refusals: int
    holds: tuple[str, ...]
    agents: Mapping[str, int]
    context_tokens: int | None
    context_source: str | None
    context_reported_at: float | None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What one tool delivered, and what it kept out of the contexts of those who called it."""

    tool: str
    calls: int
    delivered_tokens: int
    kept_out_tokens: int | None


@dataclass(frozen=True, slots=True)
class ArtifactUse:
    """What was delivered about one artifact; ``inline_tokens`` is what its text would have cost inline."""

    handle: str
    name: str
    delivered_tokens: int
    inline_tokens: int | None
    kept_out_tokens: int | None


@dataclass(frozen=True, slots=True)
class SessionUse:
    """What one session was sent; ``delivered`` is by kind, definitions and refusals included."""

    session: str
    delivered: Mapping[str, int]
    delivered_tokens: int
    inline_tokens: int | None
    kept_out_tokens: int | None
    unmeasured: int


@dataclass(frozen=True, slots=True)
class DeliveryStats:
    """What this server delivered in a workspace, and what it kept out. Exact o200k tokens, or null.

    Attributes:
        delivered_tokens: everything that was sent: replies, errors, definitions, instructions, refusals.
        inline_tokens: what the contents that were asked for would have cost inline, once each.
        kept_out_tokens: the second less the first; negative where more was sent than that.
        unmeasured: contents whose tokens nobody has counted: they are in no sum.
    """

    delivered_tokens: int
    inline_tokens: int | None
    kept_out_tokens: int | None
    unmeasured: int
    sessions: tuple[SessionUse, ...]
    tools: tuple[ToolUse, ...]
    artifacts: tuple[ArtifactUse, ...]
