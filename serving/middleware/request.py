"""A generating request on its way through the gate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from serving.admission import Admitted
from serving.compaction.dialects import Body, Dialect
from serving.middleware.asgi import Answer, Client, Scope
from serving.middleware.demand import Demand
from serving.middleware.gate import Gate
from serving.middleware.identity import Identity
from serving.middleware.records import Record
from serving.middleware.watch import Watch


@dataclass(slots=True)
class Request:
    """What is known of a request; fields fill in as it goes."""

    request_id: str
    arrived_seconds: float
    arrived_unix_seconds: float
    path: str
    dialect: Dialect
    scope: Scope
    body: Body
    raw: bytes
    identity: Identity
    answer: Answer
    watch: Watch
    client: Client
    demand: Demand | None = None
    admitted: Admitted | None = None
    gate: Gate | None = None
    outcome: str = "answered"
    reason: str | None = None


def record_of(request: Request, new_tokens: int | None) -> Record:
    """What is written down of a request that ended."""
    watch, admitted, start = request.watch, request.admitted, request.arrived_seconds
    return Record(
        request_id=request.request_id,
        arrived_unix_seconds=request.arrived_unix_seconds,
        session_id=request.identity.session_id,
        session_source=request.identity.source,
        agent_class=request.identity.agent_class,
        tenant=request.identity.tenant,
        path=request.path,
        stream=request.body.get("stream") is True,
        outcome=request.outcome,
        reason=request.reason or (admitted.waited_for.value if admitted and admitted.waited_for else None),
        status=request.answer.status,
        prompt_tokens=request.demand.prompt_tokens if request.demand else watch.usage.prompt_tokens,
        cached_tokens=watch.usage.cached_tokens,
        new_tokens=new_tokens,
        output_tokens=watch.output_tokens,
        output_exact=watch.usage.output_tokens is not None,
        leased_blocks=admitted.blocks if admitted else None,
        waited_seconds=admitted.waited_seconds if admitted else 0.0,
        first_byte_seconds=None if watch.first_seconds is None else watch.first_seconds - start,
        last_byte_seconds=None if watch.last_seconds is None else watch.last_seconds - start,
    )


def decoded(raw: bytes) -> Body | None:
    """A request's body; None where it is no JSON object."""
    try:
        body: Any = json.loads(raw)
    except ValueError:
        return None
    return cast("Body", body) if isinstance(body, dict) else None


def cannot_lease(body: Body) -> str | None:
    """Why the need of a request cannot be computed, and what to send instead; None where it can."""
    if body.get("use_beam_search"):
        return "beam search takes KV cache that cannot be leased; send the request without use_beam_search"
    if body.get("previous_response_id"):
        return "a request by previous_response_id cannot be counted; send the whole input instead"
    return None
