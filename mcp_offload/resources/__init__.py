"""MCP resources: one template for everything stored, three fixed pages, and completions."""

from __future__ import annotations
