"""Paths a client names: the workspace they belong to, the roots that confine them, safe reads and writes."""

from __future__ import annotations

from mcp_offload.paths.confine import ConfinedPath, Roots
from mcp_offload.paths.walk import WalkedFile, walk_files
from mcp_offload.paths.workspace import resolve_workspace
from mcp_offload.paths.write import create_file, replace_file

__all__ = [
    "ConfinedPath",
    "Roots",
    "WalkedFile",
    "create_file",
    "replace_file",
    "resolve_workspace",
    "walk_files",
]
