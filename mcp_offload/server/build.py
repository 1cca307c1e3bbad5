"""Joins the tools to the SDK's server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server

from mcp_offload import __version__
from mcp_offload.settings import Settings
from mcp_offload.tools.catalog import INSTRUCTIONS
from mcp_offload.tools.runner import ToolRunner

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

SERVER_NAME: Final = "mcp-offload"
#: The lists change with a release only, so a client may keep them for an hour.
LIST_TTL_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Assembly:
    """A server and the runner behind its tools."""

    server: Server[Any]
    runner: ToolRunner


def assemble(open_service: Callable[[], OffloadService], settings: Settings) -> Assembly:
    """Build the server of one client; ``open_service`` is called on its first tool call."""
    from mcp_offload.service import Session

    runner = ToolRunner(open_service, Session(), settings)
    hint = CacheHint(ttl_ms=LIST_TTL_MS, scope="public")
    server: Server[Any] = Server(
        SERVER_NAME,
        version=__version__,
        title="MCP Offload",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": hint, "server/discover": hint},
        on_list_tools=runner.list_tools,
        on_call_tool=runner.call_tool,
    )
    # The SDK's tracing hook is dropped: nothing here reports to anybody.
    server.middleware.clear()
    return Assembly(server, runner)


def create_server(service: OffloadService, settings: Settings) -> Server[Any]:
    """The server over a service that is already open, for in-process clients."""
    return assemble(lambda: service, settings).server
