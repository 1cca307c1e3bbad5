"""Paths a client names: the workspace they belong to, the roots that confine them, safe reads and writes.

Names load on first use: the server must know its workspace before it can afford the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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

_HOMES: Final = {
    "ConfinedPath": "confine",
    "Roots": "confine",
    "WalkedFile": "walk",
    "create_file": "write",
    "replace_file": "write",
    "resolve_workspace": "workspace",
    "walk_files": "walk",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
