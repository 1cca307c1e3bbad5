"""The context lease: how much a server may deliver to one agent's context. Pure.

No files, clocks, logs or environment: a state and what happens to it in, the next state out.
"""

from __future__ import annotations

from mcp_offload.lease.ledger import (
    LEAST_TOKENS,
    charged_tokens,
    deliver,
    grant,
    granted_tokens,
    is_held,
    left_tokens,
    report,
    reserve,
    stage_of,
    unreserved,
)
from mcp_offload.lease.model import (
    ContextEvent,
    ContextSize,
    ContextSource,
    DeliveredText,
    Delivery,
    DeliveryKind,
    Grant,
    Held,
    LeaseState,
    Report,
    Stage,
    Terms,
)
from mcp_offload.lease.record import from_record, to_record

__all__ = [
    "LEAST_TOKENS",
    "ContextEvent",
    "ContextSize",
    "ContextSource",
    "DeliveredText",
    "Delivery",
    "DeliveryKind",
    "Grant",
    "Held",
    "LeaseState",
    "Report",
    "Stage",
    "Terms",
    "charged_tokens",
    "deliver",
    "from_record",
    "grant",
    "granted_tokens",
    "is_held",
    "left_tokens",
    "report",
    "reserve",
    "stage_of",
    "to_record",
    "unreserved",
]
