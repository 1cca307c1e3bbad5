"""Stands in front of another MCP server: large results are stored and replaced by handles.

Everything else passes as the bytes that came in, in both directions, so that whatever the two sides
agree on, in whichever protocol version, stays between them. Importing this package loads the standard
library alone.
"""

from __future__ import annotations

from mcp_offload.settings import Settings, WrapSettings

__all__ = ["serve_wrapped"]


def serve_wrapped(settings: Settings, wrap: WrapSettings) -> int:
    """Serve the wrapped server on standard input and output until the client is gone; the exit status.

    Call it from the main thread, once, and end the process with the status at once: threads may
    still be running.
    """
    # The keeper is of this package, too, and needs none of it.
    from mcp_offload.wire.front import serve
    from mcp_offload.wrap.backend import WrapBackend

    return serve(None, WrapBackend(settings, wrap))
