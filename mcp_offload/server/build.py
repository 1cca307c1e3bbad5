"""Joins the tools to the SDK's server."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    PromptReference,
)

from mcp_offload import __version__
from mcp_offload.errors import OffloadError
from mcp_offload.models import Monitor
from mcp_offload.prompts.catalog import listed_prompts
from mcp_offload.prompts.handlers import PromptHandlers, complete_prompt, list_prompts
from mcp_offload.resources.catalog import listed_resources, listed_templates
from mcp_offload.resources.completing import complete_template
from mcp_offload.resources.handlers import ResourceHandlers
from mcp_offload.settings import Settings
from mcp_offload.tools.catalog import INSTRUCTIONS, listed_tools
from mcp_offload.tools.runner import ToolRunner
from mcp_offload.wire.completing import completed
from mcp_offload.wire.desk import LeaseDesk, listed_text
from mcp_offload.wire.work import Workshop

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService, Session

SERVER_NAME: Final = "mcp-offload"
#: The lists change with a release only, so a client may keep them for an hour.
LIST_TTL_MS: Final = 3_600_000
_UNCHANGING: Final[tuple[CacheableMethod, ...]] = (
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
)

_log = logging.getLogger(__name__)
_Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server and the work it has running."""

    server: Server[Any]
    workshop: Workshop


def assemble(
    open_service: Callable[[], OffloadService],
    settings: Settings,
    session_of: Callable[[_Context], Session] | None = None,
    principal: str = "",
) -> Assembly:
    """Build a server; ``open_service`` is called when something stored is first asked for.

    ``session_of`` tells whose request it is; by default all are one client's. ``principal``: whose
    server it is.
    """
    session_of = session_of or _one_session(settings)
    workshop = Workshop()
    desk = LeaseDesk(open_service, settings, lambda: standing_texts(settings), principal)
    runner = ToolRunner(open_service, session_of, settings, workshop, desk)
    resources = ResourceHandlers(open_service, session_of, settings.workspace, workshop, desk)
    prompts = PromptHandlers(workshop, desk)
    hint = CacheHint(ttl_ms=LIST_TTL_MS, scope="public")
    server: Server[Any] = Server(
        SERVER_NAME,
        version=__version__,
        title="MCP Offload",
        instructions=INSTRUCTIONS,
        cache_hints=dict.fromkeys(_UNCHANGING, hint),
        on_list_tools=runner.list_tools,
        on_call_tool=runner.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=prompts.get_prompt,
        on_completion=_completer(open_service, settings.workspace, workshop),
    )
    # In place of the SDK's tracing hook: nothing here reports to anybody, but what is sent is counted.
    server.middleware[:] = [desk.middleware]
    return Assembly(server, workshop)


def standing_texts(settings: Settings) -> list[str]:
    """What the server sends unasked, as a model may see it: its instructions and its lists."""
    tools = listed_tools(settings.tools, structured=settings.structured, run=bool(settings.run_allow))
    lists = (tools, listed_prompts(), listed_resources(), listed_templates())
    dumped = [
        [one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in some] for some in lists
    ]
    return [INSTRUCTIONS, *(listed_text({"entries": entries}) for entries in dumped)]


def _one_session(settings: Settings) -> Callable[[_Context], Session]:
    from mcp_offload.service import Session, kept_session

    session = Session() if settings.session is None else kept_session(settings, settings.session)
    return lambda ctx: session


def _completer(
    open_service: Callable[[], OffloadService], workspace: str, workshop: Workshop
) -> Callable[[_Context, CompleteRequestParams], Awaitable[CompleteResult]]:
    """The handler of completion/complete: the template's variables and the prompts' arguments."""

    async def complete(ctx: _Context, params: CompleteRequestParams) -> CompleteResult:
        known = (params.context.arguments if params.context else None) or {}

        def work(monitor: Monitor) -> CompleteResult:
            if isinstance(params.ref, PromptReference):
                return complete_prompt(open_service, params.ref.name, params.argument, monitor)
            return complete_template(open_service, workspace, params.ref.uri, params.argument, known, monitor)

        try:
            return await workshop.run(ctx, work)
        except OffloadError as exc:
            _log.warning("nothing could be completed: %s", exc)
            return completed([])

    return complete


def create_server(service: OffloadService, settings: Settings) -> Server[Any]:
    """The server over a service that is already open, for in-process clients."""
    return assemble(lambda: service, settings).server
