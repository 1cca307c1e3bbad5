"""From a text to its outline: by grammar, by scanner, by guess, or in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_offload.models import Outline
from mcp_offload.outline import NOTHING_FOUND, OUT_OF_TIME, extra, parsed, treesitter
from mcp_offload.outline.finish import finish
from mcp_offload.outline.minified import exported_names, is_minified
from mcp_offload.outline.plain import chunked, no_parser
from mcp_offload.outline.scanners import SCANNERS
from mcp_offload.outline.scanners.chunks import CHUNK_LINES
from mcp_offload.outline.tables import GRAMMARS

_LOST_SHARE: Final = 0.2


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
        return chunked(view, None, no_parser(None, name))
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
    return chunked(view, language, no_parser(language, name))


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
        return chunked(view, language, no_parser(language, name))
    grammar, compiled = loaded
    try:
        found = parsed.by_table(view, grammar, compiled, stop)
    except treesitter.ParseStoppedError:
        return chunked(view, language, OUT_OF_TIME)
    if not found.symbols:
        return chunked(view, language, NOTHING_FOUND)
    reason = "syntax errors" if found.errors else None
    return Outline(language, True, reason, finish(found.symbols, view, grammar, found.errors))
