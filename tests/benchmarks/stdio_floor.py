"""The floor of a tool call: the SDK's own server with a tool that does nothing but return a payload."""

from __future__ import annotations

import sys

from mcp.server import MCPServer

PAYLOAD = "x" * int(sys.argv[1])
server = MCPServer("floor", log_level="ERROR")


@server.tool()
def floor() -> str:
    """Return the payload."""
    return PAYLOAD


server.run()
