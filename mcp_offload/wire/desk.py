"""Counts whatever one server sends, each thing once, and asks the lease what may be sent.

Greetings and lists are answered while nothing is open yet, often by the front before the SDK is there;
they are noted, and counted with the session's first call, so that no first answer waits for it.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult

from mcp_offload.errors import InvalidArgumentError, OffloadError, StoreError
from mcp_offload.lease import Delivery, DeliveryKind
from mcp_offload.service.jsonable import to_json
from mcp_offload.settings import Settings
from mcp_offload.wire.caller import LEASE_META_KEY, PRINCIPAL, Caller, LeaseMeta, caller_of, read_lease_meta
from mcp_offload.wire.messages import as_object
from mcp_offload.wire.scrub import scrub_surrogates

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService
    from mcp_offload.service.leases import SessionLease

REFUSAL: Final = (
    "The context lease is used up: no more text is delivered to this context. Go on with what you have."
)
"""What is answered in place of what may not be delivered; not an error, since two of those end some runs."""

DONE_REFUSAL: Final = (
    "Done, but the context lease is used up: the answer is not delivered. Go on with what you have."
)

MOST_CALLERS: Final = 1_000

_LISTS: Final = frozenset({"tools/list", "prompts/list", "resources/list", "resources/templates/list"})
_GREETINGS: Final = frozenset({"initialize", "server/discover"})

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]
_CallNext = Callable[[_Context], Any]


class _Noted(NamedTuple):
    """Something that was sent and is not counted yet."""

    kind: DeliveryKind
    name: str
    text: str


class LeaseDesk:
    """One server's desk. Thread-safe.

    Args:
        open_service: gives the service, opening it where it is not open.
        settings: whose ``identity`` is this process's session; where it has none, a fresh one is made.
        standing: texts that the server sends unasked: its lists and instructions.
        principal: whose server it is, over HTTP.
    """

    def __init__(
        self,
        open_service: Callable[[], OffloadService],
        settings: Settings,
        standing: Callable[[], list[str]],
        principal: str = "",
    ) -> None:
        self._open_service = open_service
        self._identity = settings.identity or f"process:{uuid.uuid4().hex}"
        self._standing = standing
        self._standing_tokens: int | None = None
        self._principal = principal
        self._lock = threading.Lock()
        self._noted: dict[str, list[_Noted]] = {}

    def caller(self, ctx: _Context) -> tuple[Caller, LeaseMeta]:
        """Whose request it is, and what it tells.

        Raises:
            InvalidArgumentError: its ``_meta`` is malformed.
        """
        told = read_lease_meta(ctx.meta)
        return caller_of(ctx, told, self._identity, self._principal), told

    def lease(self, caller: Caller, told: LeaseMeta) -> SessionLease:
        """The caller's lease, with what was noted counted and what the request reports taken in.

        Call it in a worker thread, once a request.

        Raises:
            OffloadError: the store cannot be opened.
        """
        service = self._open_service()
        leases = service.leases.with_standing(self._count_standing(service))
        lease = leases.of(caller.session, agent=caller.agent, names=caller.names)
        for noted in self._take(caller.session):
            counted(lease, Delivery(noted.kind, service.count_tokens(noted.text), noted.name))
        if told.report is not None:
            lease.report(told.report)
        return lease

    async def middleware(self, ctx: _Context, call_next: _CallNext) -> Any:
        """Note what is sent besides tools' results, prompts and resources, which count for themselves."""
        if ctx.method not in _LISTS and ctx.method not in _GREETINGS:
            return await call_next(ctx)
        result = await call_next(ctx)
        self._note(ctx, result)
        return result

    def count(self, caller: Caller, told: LeaseMeta, kind: DeliveryKind, name: str, text: str) -> bool:
        """Count one text before it is sent; False where a hard lease forbids it, and the refusal is counted.

        Raises:
            OffloadError: the store cannot be opened, or a report is wrong.
        """
        lease = self.lease(caller, told)
        count_tokens = self._open_service().count_tokens
        if counted(lease, Delivery(kind, count_tokens(text), name)):
            return True
        counted(lease, Delivery("refusal", count_tokens(REFUSAL), name))
        return False

    def count_error(self, caller: Caller, told: LeaseMeta, name: str, text: str) -> None:
        """Count the text of a protocol error, which is sent in any case."""
        try:
            self.count(caller, told, "error", name, text)
        except OffloadError as exc:
            _log.warning("an error could not be counted: %s", exc)

    def _note(self, ctx: _Context, result: object) -> None:
        data = as_object(result) or {}
        if ctx.method in _GREETINGS:
            self._add(ctx, "instructions", "", str(data.get("instructions") or ""))
        else:
            self._add(ctx, "definitions", ctx.method, listed_text(data))

    def _add(self, ctx: _Context, kind: DeliveryKind, name: str, text: str) -> None:
        try:
            caller, _ = self.caller(ctx)
        except InvalidArgumentError:
            return
        with self._lock:
            if len(self._noted) < MOST_CALLERS or caller.session in self._noted:
                self._noted.setdefault(caller.session, []).append(_Noted(kind, name, text))

    def _take(self, session: str) -> list[_Noted]:
        """What was noted for a session; a greeting over HTTP comes before the connection has its name."""
        with self._lock:
            taken = self._noted.pop(session, [])
            nameless = self._noted.get(PRINCIPAL) if session.startswith("http:") else None
            if nameless:
                taken.append(nameless.pop(0))
        return taken

    def _count_standing(self, service: OffloadService) -> int:
        if self._standing_tokens is None:
            self._standing_tokens = sum(map(service.count_tokens, self._standing()))
        return self._standing_tokens


def called(desk: LeaseDesk, ctx: _Context) -> tuple[Caller, LeaseMeta]:
    """As :meth:`LeaseDesk.caller`, for requests other than tool calls.

    Raises:
        MCPError: -32602 where its ``_meta`` is malformed.
    """
    try:
        return desk.caller(ctx)
    except InvalidArgumentError as exc:
        raise MCPError(INVALID_PARAMS, str(exc)) from None


def listed_text(result: Mapping[str, object]) -> str:
    """What of a list reaches a model: its entries as JSON, without their ``_meta``, which is for programs."""
    lists = [cast("list[object]", value) for value in result.values() if isinstance(value, list)]
    shown = [
        {key: value for key, value in entry.items() if key != "_meta"}
        for entries in lists
        for entry in map(as_object, entries)
        if entry is not None
    ]
    return scrub_surrogates(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))


def counted(lease: SessionLease | None, delivery: Delivery, **about: Any) -> bool:
    """Count a delivery; False where a hard lease forbids it.

    Where the ledger cannot be written, the reply goes out all the same unless the lease is hard, and the
    reason is logged.

    Raises:
        StoreError: the ledger of a hard lease cannot be written.
    """
    if lease is None:
        return True
    try:
        return lease.deliver(delivery, **about)
    except StoreError as exc:
        if lease.terms.mode == "hard":
            raise
        _log.warning("what was delivered could not be counted: %s", exc)
        return True


def with_lease(result: CallToolResult, told: LeaseMeta, lease: SessionLease) -> CallToolResult:
    """The result, with the lease as it stands in its ``_meta`` where the request named it in its own."""
    if told.given:
        result.meta = {**(result.meta or {}), LEASE_META_KEY: to_json(lease.show())}
    return result
