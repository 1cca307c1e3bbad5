"""Whose request it is, for the lease; and what the request itself reports of its context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from mcp.server.context import ServerRequestContext
from starlette.requests import Request

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.lease import ContextEvent, Report
from mcp_offload.service.names import NAMED, session_name
from mcp_offload.wire.canned import CLIENT_KEY
from mcp_offload.wire.messages import as_object

LEASE_META_KEY: Final = "mcp-offload/lease"
"""Key of a request's ``_meta`` that names its session or reports; of a result's, that tells the lease."""

THREAD_KEYS: Final = ("threadId", "sessionId")
"""Source: Codex 0.171 names the conversation so in the ``_meta`` of its tool calls."""

SESSION_HEADER: Final = "mcp-session-id"
PRINCIPAL: Final = "principal"

_EVENTS: Final[Mapping[object, ContextEvent]] = {"compacted": "compacted", "cleared": "cleared"}
_TEXTS: Final = ("session", "agent", "agent_started", "agent_ended")
_NUMBERS: Final = ("context_tokens", "share_tokens")
_LISTS: Final = ("gone", "holds")
_KEYS: Final = frozenset({"event", *_TEXTS, *_NUMBERS, *_LISTS})


class Caller(NamedTuple):
    """A session, perhaps a sub-agent in it, and the names under which its terms may be set."""

    session: str
    agent: str | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaseMeta:
    """What a request's ``_meta`` says under :data:`LEASE_META_KEY`.

    Attributes:
        given: whether it says anything, so that the answer tells the lease.
        report: None where nothing is reported.
        holds: handles whose text the client confirms to hold, with this very request.
    """

    given: bool = False
    session: str | None = None
    agent: str | None = None
    report: Report | None = None
    holds: frozenset[str] = frozenset()


def read_lease_meta(meta: Mapping[str, Any] | None) -> LeaseMeta:
    """Read the field; an absent one says nothing.

    Raises:
        InvalidArgumentError: it is malformed.
    """
    if meta is None or LEASE_META_KEY not in meta:
        return LeaseMeta()
    field = as_object(meta[LEASE_META_KEY])
    if field is None or field.keys() - _KEYS:
        raise InvalidArgumentError(f"_meta {LEASE_META_KEY} is an object with {', '.join(sorted(_KEYS))}.")
    texts = {key: _text(field, key) for key in _TEXTS}
    report = report_of(field)
    return LeaseMeta(
        given=True,
        session=None if texts["session"] is None else session_name(texts["session"]),
        agent=texts["agent"],
        report=None if report == Report() else report,
        holds=frozenset(_list(field, "holds")),
    )


def report_of(field: Mapping[str, object]) -> Report:
    """The report that an object with these keys makes.

    Raises:
        InvalidArgumentError: a value has the wrong type.
    """
    event = field.get("event")
    if event is not None and event not in _EVENTS:
        raise InvalidArgumentError("event is compacted or cleared.")
    return Report(
        event=None if event is None else _EVENTS[event],
        context_tokens=_number(field, "context_tokens"),
        gone=_list(field, "gone"),
        holds=_list(field, "holds"),
        agent_started=_text(field, "agent_started"),
        share_tokens=_number(field, "share_tokens"),
        agent_ended=_text(field, "agent_ended"),
    )


def caller_of(
    ctx: ServerRequestContext[Any, Any], told: LeaseMeta, identity: str, principal: str = ""
) -> Caller:
    """Whose request it is: what it names itself, else the process's session, else what the client hints.

    Over HTTP a connection's own identifier comes first, then the principal as a whole.
    """
    names = tuple(name for name in (_client_name(ctx), principal) if name)
    if told.session is not None:
        return Caller(told.session, told.agent, names)
    request: object = ctx.request
    if isinstance(request, Request):
        header = request.headers.get(SESSION_HEADER)
        return Caller(f"http:{header}" if header else PRINCIPAL, told.agent, names)
    if not identity.startswith(NAMED):
        hint = next((one for one in map((ctx.meta or {}).get, THREAD_KEYS) if _is_name(one)), None)
        if hint is not None:
            return Caller(f"{NAMED}{hint}", told.agent, names)
    return Caller(identity, told.agent, names)


def _client_name(ctx: ServerRequestContext[Any, Any]) -> str:
    params = ctx.session.client_params
    if params is not None:
        return params.client_info.name
    card = as_object((ctx.meta or {}).get(CLIENT_KEY))
    name = None if card is None else card.get("name")
    return name if isinstance(name, str) else ""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()


def _text(field: Mapping[str, object], key: str) -> str | None:
    value = field.get(key)
    if value is not None and not _is_name(value):
        raise InvalidArgumentError(f"{key} has 1 to 200 printable characters.")
    return cast("str | None", value)


def _number(field: Mapping[str, object], key: str) -> int | None:
    value = field.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgumentError(f"{key} is a whole number of tokens.")
    return value


def _list(field: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = field.get(key)
    given = cast("list[object]", value) if isinstance(value, list) else [] if value is None else [None]
    if not all(isinstance(one, str) for one in given):
        raise InvalidArgumentError(f"{key} is a list of handles.")
    return tuple(cast("list[str]", given))
