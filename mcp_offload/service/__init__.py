"""The service layer: joins the store, the parser and the token counter into what clients can do."""

from __future__ import annotations

from mcp_offload.service.context import Session
from mcp_offload.service.facade import OffloadService, open_service
from mcp_offload.service.kept import KeptSession, kept_session

__all__ = ["KeptSession", "OffloadService", "Session", "kept_session", "open_service"]
