"""The floor of a call: the SDK's own server with a tool that returns a payload and does nothing else.

``python noop_server.py FILE``: the payload is that file's text. It is sent once, as text, as ours is:
without that, the SDK sends it again as structured content and the floor is no floor.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server import MCPServer

PAYLOAD = Path(sys.argv[1]).read_text(encoding="utf-8")
server = MCPServer("noop", log_level="ERROR")


@server.tool(structured_output=False)
def noop() -> str:
    """Return the payload."""
    return PAYLOAD


server.run()
