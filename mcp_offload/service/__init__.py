"""The service layer: joins the store, the parser and the token counter into what clients can do.

Names load when they are first used: what reports to a lease alone, as a client's hook does, is there
without the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_offload.service.context import Session
    from mcp_offload.service.facade import OffloadService, open_service
    from mcp_offload.service.kept import KeptSession, kept_session
    from mcp_offload.service.notice import stored_line, stored_text
    from mcp_offload.service.render import outline_text, read_text, search_text

__all__ = [
    "KeptSession",
    "OffloadService",
    "Session",
    "kept_session",
    "open_service",
    "outline_text",
    "read_text",
    "search_text",
    "stored_line",
    "stored_text",
]

_HOMES: Final = {
    "KeptSession": "kept",
    "OffloadService": "facade",
    "Session": "context",
    "kept_session": "kept",
    "open_service": "facade",
    "outline_text": "render",
    "read_text": "render",
    "search_text": "render",
    "stored_line": "notice",
    "stored_text": "notice",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
