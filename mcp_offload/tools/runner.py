"""Runs tool calls: arguments in, one text block out; in a worker thread, stoppable, with progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from mcp_offload.errors import InvalidArgumentError, OffloadError
from mcp_offload.lease import Delivery, DeliveryKind, Grant
from mcp_offload.service.leases import Uncounted
from mcp_offload.settings import Settings
from mcp_offload.tokens import TokenCounter
from mcp_offload.tools.accounts import NO_ACCOUNT, Account, Accountant, account_of
from mcp_offload.tools.arguments import ToolArguments, read_arguments
from mcp_offload.tools.catalog import ToolSpec, listed_tools, tools_of
from mcp_offload.tools.links import links_of
from mcp_offload.tools.perform import Call, Result, perform
from mcp_offload.tools.present import present_json, present_text
from mcp_offload.tools.shrink import SENTENCE_TOKENS, is_near_end, referred, sentence, shrunk
from mcp_offload.wire.caller import Caller, LeaseMeta
from mcp_offload.wire.desk import DONE_REFUSAL, REFUSAL, LeaseDesk, counted, with_lease
from mcp_offload.wire.errors import INTERNAL_TEXT, error_json, error_text
from mcp_offload.wire.monitor import CallMonitor
from mcp_offload.wire.reply import (
    Budget,
    refusal,
    reply,
    reply_text,
    structured_reply,
    structured_text,
    wants_json,
)
from mcp_offload.wire.resource_uri import workspace_slug
from mcp_offload.wire.scrub import scrub_text
from mcp_offload.wire.work import Workshop

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService, Session
    from mcp_offload.service.leases import SessionLease

READ_AGAIN: Final = 3
REPORTING: Final = "context_lease"
#: Below this the service has no room for a header, a line and a marker.
LEAST_TOKENS: Final = 120

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One call on its way through the worker thread."""

    name: str
    arguments: Mapping[str, object]
    session: Session
    monitor: CallMonitor
    with_json: bool
    caller: Caller
    told: LeaseMeta


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a call is answered, before it is counted."""

    reply: CallToolResult
    kind: DeliveryKind
    account: Account = NO_ACCOUNT


class ToolRunner:
    """The handlers of ``tools/list`` and ``tools/call`` for one client.

    ``open_service`` gives the service, building it on the first call; what it raises is that call's
    tool error, and the next call tries again. ``session_of`` gives what the caller has been shown.
    """

    def __init__(
        self,
        open_service: Callable[[], OffloadService],
        session_of: Callable[[_Context], Session],
        settings: Settings,
        workshop: Workshop,
        desk: LeaseDesk,
    ) -> None:
        self._open_service = open_service
        self._session_of = session_of
        self._workshop = workshop
        self._settings = settings
        self._desk = desk
        self._tools = tools_of(settings.tools, run=bool(settings.run_allow))
        self._slug = workspace_slug(settings.workspace)
        self._brought: dict[tuple[str, str | None], set[str]] = {}

    async def list_tools(self, ctx: _Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the profile's tools, all on one page.

        Raises:
            MCPError: a cursor was given; none was ever handed out.
        """
        if params is not None and params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "Unknown cursor: all tools are on the first page")
        settings = self._settings
        tools = listed_tools(settings.tools, structured=settings.structured, run=bool(settings.run_allow))
        return ListToolsResult(tools=tools)

    async def call_tool(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
        """Run one tool; every failure but a cancellation is a tool error that says the next step."""
        session, with_json = self._session_of(ctx), wants_json(ctx.meta)
        try:
            caller, told = self._desk.caller(ctx)
        except OffloadError as exc:
            return self._failure(error_text(exc), error_json(exc) if with_json else None)

        def work(monitor: CallMonitor) -> CallToolResult:
            given = params.arguments or {}
            return self.answer(Job(params.name, given, session, monitor, with_json, caller, told))

        return await self._workshop.run(ctx, work)

    def answer(self, job: Job) -> CallToolResult:
        """Run one call in this thread; every failure is a tool error, as in :meth:`call_tool`."""
        job.session.begin()
        try:
            return self._work(job)
        finally:
            job.session.keep()

    def _work(self, job: Job) -> CallToolResult:
        """Answer and count; where another process has taken the lease's room meanwhile, answer again."""
        try:
            lease = self._desk.lease(job.caller, job.told)
            reads = self._only_reads(job)
            for _ in range(READ_AGAIN if reads else 1):
                answer = self._answer(job, lease)
                if self._counts(job, lease, answer):
                    return with_lease(answer.reply, job.told, lease)
            answer = self._refused(REFUSAL if reads else DONE_REFUSAL)
            self._counts(job, lease, answer)
            return with_lease(answer.reply, job.told, lease)
        except OffloadError as exc:
            return self._failure(error_text(exc), error_json(exc) if job.with_json else None)
        except Exception as exc:  # noqa: BLE001 - a defect must cost one call, not the session
            _log.exception("%s failed", job.name)
            return self._failure(INTERNAL_TEXT, error_json(exc) if job.with_json else None)

    def _only_reads(self, job: Job) -> bool:
        """Whether a call may be made again; one of an unknown tool does nothing."""
        spec = self._tools.get(job.name)
        return spec is None or spec.annotations.read_only_hint is True

    def _counts(self, job: Job, lease: SessionLease, answer: _Answer) -> bool:
        account = answer.account
        text = Uncounted(reply_text(answer.reply), self._count)
        delivery = Delivery(answer.kind, 0, job.name, account.texts)
        return counted(lease, delivery, text=text, artifacts=account.artifacts, contents=account.contents)

    def _answer(self, job: Job, lease: SessionLease) -> _Answer:
        grant = lease.grant(self._settings.max_tokens)
        if grant.stage == "refused":
            if job.name != REPORTING:
                return self._refused(REFUSAL)
            # Who reports a compacted context must be heard when nothing is left; the answer may fit then.
            grant = replace(grant, stage="card", max_tokens=LEAST_TOKENS)
        try:
            given = read_arguments(self._spec(job.name).arguments, job.arguments)
            asked_tokens = getattr(given, "max_tokens", None)
            if asked_tokens is not None:
                grant = lease.grant(asked_tokens, insisted=True)
            return self._performed(job, lease, grant, given)
        except OffloadError as exc:
            return _Answer(self._failed(job, error_text(exc), exc, grant), "error")
        except Exception as exc:  # noqa: BLE001 - a defect must cost one call, not the session
            _log.exception("%s failed", job.name)
            return _Answer(self._failed(job, INTERNAL_TEXT, exc, grant), "error")

    def _spec(self, name: str) -> ToolSpec:
        """The tool of that name.

        Raises:
            InvalidArgumentError: there is none.
        """
        if name not in self._tools:
            raise InvalidArgumentError(f"Unknown tool. The tools are: {', '.join(self._tools)}.")
        return self._tools[name]

    def _performed(self, job: Job, lease: SessionLease, grant: Grant, given: ToolArguments) -> _Answer:
        room = SENTENCE_TOKENS if lease.terms.mode == "hard" or grant.stage != "full" else 0
        call = Call(self._open_service(), job.session, job.monitor, grant.max_tokens - room, lease)
        budget = self._budget(grant.max_tokens - room)
        result, text = self._fitting(job, call, given, _Leased(lease, grant, job.told, budget))
        account = account_of(self._accountant(call.service, job), given, result)
        linked = self._settings.resource_links and grant.stage == "full"
        links = links_of(result, self._slug) if linked else ()
        if self._settings.structured:
            return _Answer(structured_reply(present_json(result), links), "result", account)
        told = sentence(lease.terms, grant, result, spent_tokens=self._spent(lease, grant, text))
        data = present_json(result) if job.with_json else None
        return _Answer(reply(text, budget, data=data, links=links, ending=told), "result", account)

    def _accountant(self, service: OffloadService, job: Job) -> Accountant:
        return Accountant(service, job.name, self._brought.setdefault(job.caller[:2], set()))

    def _fitting(self, job: Job, call: Call, given: ToolArguments, leased: _Leased) -> tuple[Result, str]:
        """The result and its text; read again with less where hidden characters made it too long.

        So the marker for what is left out stays exact: the service alone can name it.
        """
        result, text = self._shaped(call, given, leased)
        for _ in range(READ_AGAIN):
            share = leased.budget.share(scrub_text(text))
            if share >= 1 or not self._only_reads(job) or call.max_tokens <= LEAST_TOKENS:
                break
            call = replace(call, max_tokens=max(LEAST_TOKENS, int(call.max_tokens * share * 0.9)))
            result, text = self._shaped(call, given, leased)
        return result, text

    def _shaped(self, call: Call, given: ToolArguments, leased: _Leased) -> tuple[Result, str]:
        result = shrunk(call, perform(call, given), leased.grant)
        if isinstance(result, list) and (leased.told.holds or leased.grant.confirmed):
            result = referred(result, leased.lease, leased.told.holds)
        if self._settings.structured:
            return result, structured_text(present_json(result))
        return result, present_text(given, result)

    def _spent(self, lease: SessionLease, grant: Grant, text: str) -> int:
        """The tokens of a text, where they decide whether its reply tells what is left; else 0."""
        size_bytes = len(text.encode("utf-8", "surrogatepass"))
        if lease.terms.mode == "off" or not is_near_end(lease.terms, grant.left_tokens - size_bytes):
            return 0
        return self._count(text)

    def _budget(self, max_tokens: int) -> Budget:
        return Budget(max_tokens, self._settings.max_reply_bytes, self._count)

    def _count(self, text: str) -> int:
        """Count as the service does: it knows where that is cheap."""
        try:
            return self._open_service().count_tokens(text)
        except OffloadError:
            return TokenCounter().count(text)

    def _refused(self, text: str) -> _Answer:
        return _Answer(refusal(text, structured=self._settings.structured), "refusal")

    def _failed(self, job: Job, text: str, error: Exception, grant: Grant) -> CallToolResult:
        budget = self._budget(min(grant.max_tokens, self._settings.max_tokens))
        return reply(text, budget, data=error_json(error) if job.with_json else None, error=True)

    def _failure(self, text: str, data: Mapping[str, object] | None = None) -> CallToolResult:
        return reply(text, self._budget(self._settings.max_tokens), data=data, error=True)


@dataclass(frozen=True, slots=True)
class _Leased:
    """What shapes an answer: the lease, what it grants this time, and what the request tells."""

    lease: SessionLease
    grant: Grant
    told: LeaseMeta
    budget: Budget
