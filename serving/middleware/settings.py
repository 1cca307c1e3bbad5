"""How the lease gate behaves; made once by whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from serving.admission import CapRule, Policy


class Mode(StrEnum):
    """What the gate does with its decisions."""

    OFF = "off"
    """Nothing is decided; everything passes."""
    SHADOW = "shadow"
    """Decisions are made and counted; everything passes."""
    ON = "on"
    """Requests wait, run or are refused as decided."""


class OnStale(StrEnum):
    """What happens while the engine's metrics cannot be read."""

    OPEN = "open"
    """Requests pass without a lease and are counted."""
    CLOSED = "closed"
    """Requests are refused with status 503."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Attributes of the lease gate.

    Attributes:
        mode: see :class:`Mode`.
        on_stale: see :class:`OnStale`.
        policy: what the ledger decides by.
        cap: when the cap on live agents falls and rises.
        cap_sessions: whether that cap may fall at all.
        watermark: the part of the pool that is never leased.
        queue_seconds: the longest a request waits before it is refused with status 429.
        max_output_tokens: what a request may write; one that asks for more, or sets no limit, is given
            this limit under strict leases.
        velocity_floor: tokens a second that each stream keeps at least; None for no floor.
        scrape_seconds: between two readings of the engine's metrics.
        stale_seconds: metrics older than this are stale.
        control_seconds: between two decisions on the cap.
        keep_alive_seconds: a stream that got no byte for so long is sent a comment.
        body_limit_bytes: larger requests are refused with status 413.
        tenant_weights: shares of the node by tenant; 1 where a tenant is not named.
    """

    mode: Mode = Mode.SHADOW
    on_stale: OnStale = OnStale.OPEN
    policy: Policy = field(default_factory=Policy)
    cap: CapRule = field(default_factory=CapRule)
    cap_sessions: bool = True
    watermark: float = 0.0
    queue_seconds: float = 120.0
    max_output_tokens: int = 8192
    velocity_floor: float | None = 30.0
    scrape_seconds: float = 2.0
    stale_seconds: float = 15.0
    control_seconds: float = 5.0
    keep_alive_seconds: float = 15.0
    body_limit_bytes: int = 32 * 2**20
    tenant_weights: dict[str, float] = field(default_factory=dict[str, float])
