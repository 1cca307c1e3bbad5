"""Symbol tables of source text: ``outline(view, language)`` is pure and never raises on any bytes.

What parses loads on first use: a process that leaves parsing to another needs no grammar.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_offload.outline.dispatch import outline
    from mcp_offload.outline.plain import chunked

__all__ = ["NOTHING_FOUND", "OUTLINE_VERSION", "OUT_OF_TIME", "chunked", "outline"]

OUTLINE_VERSION: Final = 2
"""Part of every cache key; raised whenever the same bytes would be outlined differently."""

OUT_OF_TIME: Final = "parser out of time"
"""The reason of an outline whose parse was ended by ``stop``."""

NOTHING_FOUND: Final = "no definitions recognised"
"""The reason of an outline of a text that was read well but defines nothing: chunks serve better."""

_HOMES: Final = {"chunked": "plain", "outline": "dispatch"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
