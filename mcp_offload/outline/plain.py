"""Outlines of text that has no parser here, or whose parser was defeated: chunks. Loads no grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline.finish import finish
from mcp_offload.outline.languages import extension_of
from mcp_offload.outline.scanners.chunks import chunks

_PROSE: Final = frozenset(("", ".txt", ".text", ".log", ".out", ".err"))


def chunked(view: bytes, language: str | None, reason: str, also: Sequence[Symbol] = ()) -> Outline:
    """The outline of a text that was not parsed: chunks by blank lines and indentation."""
    return Outline(language, False, reason, finish([*chunks(view), *also], view))


def no_parser(language: str | None, name: str) -> str:
    """Why a text of this language and file name is not parsed."""
    extension = extension_of(name)
    if language is None and extension in _PROSE:
        return "plain text"
    return f"no parser for {extension or language}"
