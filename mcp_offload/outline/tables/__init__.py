"""One small table of node types per language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_offload.outline.grammar import Grammar
from mcp_offload.outline.tables import bash, c, go, java, javascript, python, rust

GRAMMARS: Final[Mapping[str, Grammar]] = {
    "python": python.GRAMMAR,
    "javascript": javascript.JAVASCRIPT,
    "typescript": javascript.TYPESCRIPT,
    "tsx": javascript.TSX,
    "java": java.GRAMMAR,
    "go": go.GRAMMAR,
    "rust": rust.GRAMMAR,
    "bash": bash.GRAMMAR,
    "c": c.C,
    "cpp": c.CPP,
}
