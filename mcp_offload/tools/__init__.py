"""The MCP tools: what is listed, how arguments are read, and the call to the service behind each."""

from __future__ import annotations
