"""Symbol tables of source text: ``outline(view, language)`` is pure and never raises on any bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline import extra, parsed, treesitter
from mcp_offload.outline.finish import finish
from mcp_offload.outline.languages import extension_of
from mcp_offload.outline.minified import exported_names, is_minified
from mcp_offload.outline.scanners import SCANNERS
from mcp_offload.outline.scanners.chunks import CHUNK_LINES, chunks
from mcp_offload.outline.tables import GRAMMARS

OUTLINE_VERSION: Final = 1
"""Part of every cache key; raised whenever the same bytes would be outlined differently."""

OUT_OF_TIME: Final = "parser out of time"
"""The reason of an outline whose parse was ended by ``stop``."""

NOTHING_FOUND: Final = "no definitions recognised"
"""The reason of an outline of a text that was read well but defines nothing: chunks serve better."""

_LOST_SHARE: Final = 0.2
_PROSE: Final = frozenset(("", ".txt", ".text", ".log", ".out", ".err"))


def never() -> bool:
    """The deadline of a caller that has none."""
    return False


def outline(
    view: bytes,
    language: str | None,
    name: str = "",
    *,
    stop: Callable[[], bool] = never,
    extra_languages: bool = False,
) -> Outline:
    """The symbol table of a UTF-8 view, whatever bytes it holds.

    Symbols are sorted by (start, -end), outer before inner. Without a parser, or where the parser was
    defeated, ``parsed`` is False, ``reason`` says why and the symbols are chunks.

    Args:
        view: the text.
        language: as ``languages.detect`` names it, or None.
        name: file name, used in reasons only.
        stop: asked now and then while parsing; True ends the parse.
        extra_languages: also use the optional grammars. They write to a folder: parsing process only.
    """
    if language is None:
        return chunked(view, None, _no_parser(None, name))
    if language in GRAMMARS:
        return _by_tree(view, language, stop)
    scan = SCANNERS.get(language)
    if scan is not None:
        symbols = scan(view)
        if not symbols and view.strip():
            return chunked(view, language, NOTHING_FOUND)
        return Outline(language, True, None, finish(symbols, view))
    if extra_languages:
        return _by_guess(view, language, name, stop)
    return chunked(view, language, _no_parser(language, name))


def chunked(view: bytes, language: str | None, reason: str, also: Sequence[Symbol] = ()) -> Outline:
    """The outline of a text that was not parsed: chunks by blank lines and indentation."""
    return Outline(language, False, reason, finish([*chunks(view), *also], view))


def _no_parser(language: str | None, name: str) -> str:
    extension = extension_of(name)
    if language is None and extension in _PROSE:
        return "plain text"
    return f"no parser for {extension or language}"


def _by_tree(view: bytes, language: str, stop: Callable[[], bool]) -> Outline:
    if is_minified(view, language):
        return chunked(view, language, "minified", exported_names(view))
    grammar = GRAMMARS[language]
    # Files of old Macs have no LF at all; the grammars know no other line end.
    text = view if b"\n" in view else view.replace(b"\r", b"\n")
    try:
        found = parsed.parse(text, language, grammar, stop)
    except treesitter.ParseStoppedError:
        return chunked(view, language, OUT_OF_TIME)
    if found.lost_bytes > _LOST_SHARE * len(view):
        return chunked(view, language, "syntax errors in more than a fifth of the text")
    if not found.symbols and view.count(b"\n") > CHUNK_LINES:
        return chunked(view, language, NOTHING_FOUND)
    reason = "syntax errors" if found.errors else None
    return Outline(language, True, reason, finish(found.symbols, view, grammar, found.errors))


def _by_guess(view: bytes, language: str, name: str, stop: Callable[[], bool]) -> Outline:
    loaded = extra.load(language)
    if loaded is None:
        return chunked(view, language, _no_parser(language, name))
    grammar, compiled = loaded
    try:
        found = parsed.by_table(view, grammar, compiled, stop)
    except treesitter.ParseStoppedError:
        return chunked(view, language, OUT_OF_TIME)
    if not found.symbols:
        return chunked(view, language, NOTHING_FOUND)
    reason = "syntax errors" if found.errors else None
    return Outline(language, True, reason, finish(found.symbols, view, grammar, found.errors))
