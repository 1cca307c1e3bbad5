"""A lease's state as text, for the ledger. Pure."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

from mcp_offload.lease.model import ContextSize, Held, LeaseState, Terms


def to_record(state: LeaseState) -> str:
    """The state on one line."""
    context = state.context
    return json.dumps(
        {
            "delivered": dict(state.delivered),
            "refusals": state.refusals,
            "standing": dict(state.standing),
            "loose": state.loose,
            "held": {h: [one.tokens, one.stamp, one.confirmed_at] for h, one in state.held.items()},
            "room": state.room,
            "context": None if context is None else astuple(context),
            "agents": dict(state.agents),
            "share": state.share,
            "terms": None if state.terms is None else astuple(state.terms),
            "reserved": dict(state.reserved),
        },
        separators=(",", ":"),
    )


def from_record(text: str) -> LeaseState:
    """The state that :func:`to_record` wrote.

    Raises:
        ValueError, KeyError, TypeError: it did not.
    """
    data: dict[str, Any] = json.loads(text)
    context, terms = data["context"], data["terms"]
    return LeaseState(
        delivered=data["delivered"],
        refusals=data["refusals"],
        standing=data["standing"],
        loose=data["loose"],
        held={handle: Held(*one) for handle, one in data["held"].items()},
        room=data["room"],
        context=None if context is None else ContextSize(*context),
        agents=data["agents"],
        share=data["share"],
        terms=None if terms is None else Terms(*terms),
        reserved=data.get("reserved", {}),
    )
