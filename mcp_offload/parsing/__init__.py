"""Parsing in a process of its own, because some inputs hang or kill a parser."""

from __future__ import annotations

from mcp_offload.parsing.limits import Limits
from mcp_offload.parsing.worker import ParserWorker, WorkerUnavailableError

__all__ = ["Limits", "ParserWorker", "WorkerUnavailableError"]
