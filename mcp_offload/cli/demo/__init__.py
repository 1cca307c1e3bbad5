"""A real debugging task over real MCP stdio, with what it cost the agent's context."""

from __future__ import annotations

from mcp_offload.cli.demo.run import run_demo

__all__ = ["run_demo"]
