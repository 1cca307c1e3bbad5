"""MCP resources: one template for everything stored, two fixed pages, and completions."""

from __future__ import annotations
