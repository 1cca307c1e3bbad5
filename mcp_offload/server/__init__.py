"""The MCP server. Importing this package loads the standard library alone."""

from __future__ import annotations

from importlib.resources import files

from mcp_offload.server.stdio import StdioBackend
from mcp_offload.settings import HttpSettings, Settings
from mcp_offload.wire.canned import load_snapshot
from mcp_offload.wire.front import serve

__all__ = ["serve_http", "serve_stdio"]


def serve_stdio(settings: Settings) -> int:
    """Serve MCP on standard input and output until the client is gone; return the exit status.

    Call it from the main thread, once, and end the process with the status at once: threads may
    still be running.
    """
    recorded = files("mcp_offload.server").joinpath("snapshot.json").read_bytes()
    snapshot = load_snapshot(
        recorded, settings.tools, structured=settings.structured, run=bool(settings.run_allow)
    )
    return serve(snapshot, StdioBackend(settings))


def serve_http(settings: Settings, http: HttpSettings) -> int:
    """Serve MCP over HTTP until a signal ends it; return the exit status.

    Raises:
        SettingsError: the address or the tokens are wrong.
    """
    from mcp_offload.server.http import serve_over_http

    return serve_over_http(settings, http)
