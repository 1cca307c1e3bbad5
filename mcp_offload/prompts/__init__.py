"""MCP prompts: three jobs that teach the habit of working by handle, in few tokens."""

from __future__ import annotations
