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

from mcp_offload.errors import OffloadError
from mcp_offload.settings import Settings
from mcp_offload.tokens import TokenCounter
from mcp_offload.tools.arguments import ToolArguments, read_arguments
from mcp_offload.tools.catalog import ToolSpec, listed_tools, tools_of
from mcp_offload.tools.links import links_of
from mcp_offload.tools.perform import Call, Result, perform
from mcp_offload.tools.present import present_json, present_text
from mcp_offload.wire.errors import INTERNAL_TEXT, error_json, error_text
from mcp_offload.wire.monitor import CallMonitor
from mcp_offload.wire.reply import Budget, reply, structured_reply, structured_text, wants_json
from mcp_offload.wire.resource_uri import workspace_slug
from mcp_offload.wire.scrub import scrub_text
from mcp_offload.wire.work import Workshop

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService, Session

READ_AGAIN: Final = 3
#: Below this the service has no room for a header, a line and a marker.
LEAST_TOKENS: Final = 120

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class _Job:
    """One call on its way through the worker thread."""

    name: str
    spec: ToolSpec
    arguments: Mapping[str, object]
    session: Session
    monitor: CallMonitor
    with_json: bool


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
    ) -> None:
        self._open_service = open_service
        self._session_of = session_of
        self._workshop = workshop
        self._settings = settings
        self._tools = tools_of(settings.tools, run=bool(settings.run_allow))
        self._slug = workspace_slug(settings.workspace)

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

        def work(monitor: CallMonitor) -> CallToolResult:
            return self.answer(params.name, params.arguments or {}, session, monitor, with_json=with_json)

        return await self._workshop.run(ctx, work)

    def answer(
        self,
        name: str,
        arguments: Mapping[str, object],
        session: Session,
        monitor: CallMonitor,
        *,
        with_json: bool = False,
    ) -> CallToolResult:
        """Run one tool in this thread, as :meth:`call_tool` does in another."""
        spec = self._tools.get(name)
        if spec is None:
            return self._failure(f"Unknown tool. The tools are: {', '.join(self._tools)}.")
        session.begin()
        try:
            return self._work(_Job(name, spec, arguments, session, monitor, with_json))
        finally:
            session.keep()

    def _work(self, job: _Job) -> CallToolResult:
        try:
            given = read_arguments(job.spec.arguments, job.arguments)
            max_tokens = getattr(given, "max_tokens", None) or self._settings.max_tokens
            call = Call(self._open_service(), job.session, job.monitor, max_tokens)
            budget = self._budget(max_tokens)
            result, text = self._fitting(job, call, given, budget)
            links = links_of(result, self._slug) if self._settings.resource_links else ()
            if self._settings.structured:
                return structured_reply(present_json(result), links)
            return reply(text, budget, data=present_json(result) if job.with_json else None, links=links)
        except OffloadError as exc:
            return self._failure(error_text(exc), error_json(exc) if job.with_json else None)
        except Exception as exc:  # noqa: BLE001 - a defect must cost one call, not the session
            _log.exception("%s failed", job.name)
            return self._failure(INTERNAL_TEXT, error_json(exc) if job.with_json else None)

    def _fitting(self, job: _Job, call: Call, given: ToolArguments, budget: Budget) -> tuple[Result, str]:
        """The result and its text; read again with less where hidden characters made it too long.

        So the marker for what is left out stays exact: the service alone can name it.
        """
        result = perform(call, given)
        text = self._presented(given, result)
        for _ in range(READ_AGAIN):
            share = budget.share(scrub_text(text))
            if share >= 1 or not job.spec.annotations.read_only_hint or call.max_tokens <= LEAST_TOKENS:
                break
            call = replace(call, max_tokens=max(LEAST_TOKENS, int(call.max_tokens * share * 0.9)))
            result = perform(call, given)
            text = self._presented(given, result)
        return result, text

    def _presented(self, given: ToolArguments, result: Result) -> str:
        if self._settings.structured:
            return structured_text(present_json(result))
        return present_text(given, result)

    def _budget(self, max_tokens: int) -> Budget:
        return Budget(max_tokens, self._settings.max_reply_bytes, self._count)

    def _count(self, text: str) -> int:
        """Count as the service does: it knows where that is cheap."""
        try:
            return self._open_service().count_tokens(text)
        except OffloadError:
            return TokenCounter().count(text)

    def _failure(self, text: str, data: Mapping[str, object] | None = None) -> CallToolResult:
        return reply(text, self._budget(self._settings.max_tokens), data=data, error=True)
