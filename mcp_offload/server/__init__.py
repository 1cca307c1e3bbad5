"""The MCP server. Importing this package loads the standard library alone."""

from __future__ import annotations

import os

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
    # Not by importlib.resources, which takes longer to load than the answer takes to send.
    with open(os.path.join(os.path.dirname(__file__), "snapshot.json"), encoding="utf-8") as recorded:
        snapshot = load_snapshot(
            recorded.read(), settings.tools, structured=settings.structured, run=bool(settings.run_allow)
        )
    return serve(snapshot, StdioBackend(settings))


def serve_http(settings: Settings, http: HttpSettings) -> int:
    """Serve MCP over HTTP until a signal ends it; return the exit status.

    Raises:
        SettingsError: the address or the tokens are wrong.
    """
    from mcp_offload.server.http import serve_over_http

    return serve_over_http(settings, http)
