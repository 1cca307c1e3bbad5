"""The service layer: joins the store, the parser and the token counter into what clients can do."""

from __future__ import annotations

from mcp_offload.service.context import Session
from mcp_offload.service.facade import OffloadService, open_service

__all__ = ["OffloadService", "Session", "open_service"]
