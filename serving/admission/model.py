"""What the lease ledger is told and what it answers; pure values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum


class Reserve(StrEnum):
    """How much output a run lease holds room for."""

    STRICT = "strict"
    """All that the request may write. Only this mode may promise that nothing is preempted, and only
    where every request to the engine passes the gate."""
    EXPECTED = "expected"
    """What requests of its class wrote so far on average, and one pooled margin for all that run."""


class Reason(StrEnum):
    """Why a request waits or was refused."""

    MEMORY = "memory"
    """The run leases leave too few KV-cache blocks."""
    VELOCITY = "velocity"
    """The tokens in context would push decoding under the floor."""
    SESSIONS = "sessions"
    """The live agents' projected peaks leave no room for one more agent."""
    TOO_LARGE = "too large"
    """The request can never fit, even alone."""
    QUEUE_FULL = "queue full"
    """As many requests wait as may."""
    DEADLINE = "deadline"
    """The request waited as long as it may."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The KV-cache blocks of one engine, or of one data-parallel rank.

    Attributes:
        blocks: usable blocks; for vLLM its ``num_gpu_blocks`` less the null block.
        block_tokens: tokens a block holds.
        state_blocks: blocks that each running request takes besides its tokens (recurrent state).
        watermark: the part of the blocks that is never leased; at least what the engine keeps free.
    """

    blocks: int
    block_tokens: int
    state_blocks: int = 0
    watermark: float = 0.0

    @property
    def leasable(self) -> int:
        """Blocks that run leases may hold in all."""
        return math.floor(self.blocks * (1.0 - self.watermark))

    @property
    def leasable_tokens(self) -> int:
        """Tokens that one request alone may come to."""
        return max(0, self.leasable - self.state_blocks) * self.block_tokens

    def blocks_for(self, tokens: int) -> int:
        """Blocks that a running request of so many tokens takes."""
        return -(-tokens // self.block_tokens) + self.state_blocks


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that wants to run.

    Attributes:
        request_id: names it until it is released; never used twice.
        session_id: the agent whose cached prefix it extends.
        tenant: whose share of the node it counts against.
        agent_class: requests whose lengths resemble each other.
        priority: larger goes first; 0 is ordinary.
        prompt_tokens: the whole prompt. Blocks of a cached prefix count too, because a block that
            nothing used was free until this request revives it.
        max_output_tokens: the request's own limit, which the engine enforces.
        weight: the tenant's share against other tenants'.
        deadline_seconds: from this moment on it is refused where it does not fit.
    """

    request_id: str
    session_id: str
    prompt_tokens: int
    max_output_tokens: int
    tenant: str = ""
    agent_class: str = ""
    priority: int = 0
    weight: float = 1.0
    deadline_seconds: float = math.inf


@dataclass(frozen=True, slots=True)
class Policy:
    """How a ledger decides.

    Attributes:
        reserve: what run leases hold.
        look_ahead_tokens: tokens that the engine allocates ahead of those written: draft tokens of a
            speculative step and the scheduler's own look-ahead.
        tail_deviations: the pooled margin of expected leases, in standard deviations of their sum.
        renew_tokens: the step by which a lease grows once its request wrote more than was expected.
        queue_limit: requests that may wait.
        patience_seconds: after so long a request goes before all others and nothing overtakes it.
        session_patience_seconds: after so long a new agent may end the session leases of idle ones.
        idle_seconds: the longest a session lease outlives its session's last request.
        idle_quantile: of a class's tool times; a lease ends earlier once its session was idle for
            ``idle_factor`` times that. An agent that is gone holds its lease so long for nothing, one that
            comes back later finds its place taken.
        idle_factor: see there.
        peak_quantile: the quantile of a class's peaks that a session lease holds.
    """

    reserve: Reserve = Reserve.STRICT
    look_ahead_tokens: int = 0
    tail_deviations: float = 2.0
    renew_tokens: int = 256
    queue_limit: int = 1024
    patience_seconds: float = 30.0
    session_patience_seconds: float = 600.0
    idle_seconds: float = 120.0
    idle_quantile: float = 0.95
    idle_factor: float = 2.0
    peak_quantile: float = 0.55


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that may run now; ``blocks`` is its run lease.

    ``resumed`` says that its session held a session lease, so that its prefix should still be cached.
    """

    request_id: str
    session_id: str
    blocks: int
    resumed: bool
    waited_seconds: float
    waited_for: Reason | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that will not run; ``retry_after_seconds`` is when it might, None where never."""

    request_id: str
    session_id: str
    reason: Reason
    retry_after_seconds: float | None
    waited_seconds: float = 0.0


Outcome = Admitted | Refused


@dataclass(frozen=True, slots=True)
class State:
    """The ledger at one moment; blocks but where a name says otherwise.

    Attributes:
        leasable: what run leases may hold in all.
        leased: what they hold.
        tail: the pooled margin on top of them.
        overrun: what requests wrote past leases that could not grow.
        running: requests that run.
        running_tokens: tokens in their contexts.
        waiting: requests that wait, by reason.
        sessions: sessions that hold a session lease.
        session_blocks: what those hold.
        session_share: session leases over leasable blocks may come to so much; infinite where uncapped.
        context_limit_tokens: what running contexts may come to; None where decoding has no floor.
    """

    leasable: int
    leased: int
    tail: int
    overrun: int
    running: int
    running_tokens: int
    waiting: dict[Reason, int]
    sessions: int
    session_blocks: int
    session_share: float
    context_limit_tokens: int | None


@dataclass(slots=True)
class Counters:
    """What happened since the ledger was made."""

    admitted: int = 0
    refused: dict[Reason, int] = field(default_factory=dict[Reason, int])
    waited: dict[Reason, int] = field(default_factory=dict[Reason, int])
    overruns: int = 0
    session_leases: int = 0
    session_breaks: int = 0
    session_expiries: int = 0
    released: int = 0
