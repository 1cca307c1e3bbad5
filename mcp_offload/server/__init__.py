"""The MCP server. Importing this package loads the standard library alone."""

from __future__ import annotations

from importlib.resources import files

from mcp_offload.server.stdio import StdioBackend
from mcp_offload.settings import Settings
from mcp_offload.wire.canned import load_snapshot
from mcp_offload.wire.front import serve

__all__ = ["serve_stdio"]


def serve_stdio(settings: Settings) -> int:
    """Serve MCP on standard input and output until the client is gone; return the exit status.

    Call it from the main thread, once, and end the process with the status at once: threads may
    still be running.
    """
    recorded = files("mcp_offload.server").joinpath("snapshot.json").read_bytes()
    return serve(
        load_snapshot(recorded, settings.tools, structured=settings.structured), StdioBackend(settings)
    )
