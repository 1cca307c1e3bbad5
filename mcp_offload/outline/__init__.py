"""Symbol tables of source text: ``outline(view, language)`` is pure and never raises on any bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline import c_family, treesitter
from mcp_offload.outline.c_family import Parsed
from mcp_offload.outline.finish import finish
from mcp_offload.outline.grammar import Grammar
from mcp_offload.outline.minified import exported_names, is_minified
from mcp_offload.outline.syntax import cut_at_errors, errors_of
from mcp_offload.outline.tables import GRAMMARS

OUTLINE_VERSION: Final = 1
"""Part of every cache key; raised whenever the same bytes would be outlined differently."""

_LOST_SHARE: Final = 0.2


def never() -> bool:
    """The deadline of a caller that has none."""
    return False


def outline(view: bytes, language: str | None, name: str = "", *, stop: Callable[[], bool] = never) -> Outline:
    """The symbol table of a UTF-8 view, whatever bytes it holds.

    ``stop`` is asked now and then and ends the parse by answering True. Symbols are sorted by
    (start, -end), outer before inner. Without a parser, or where the parser was defeated, ``parsed`` is
    False, ``reason`` says why and the symbols are chunks.
    """
    if language in GRAMMARS:
        return _parsed(view, language, stop)
    return chunked(view, language, "no parser for " + (language or name))


def chunked(view: bytes, language: str | None, reason: str, also: list[Symbol] | None = None) -> Outline:
    """An outline of a text that could not be parsed: chunks by blank lines and indentation."""
    from mcp_offload.outline.scanners.chunks import chunks

    return Outline(language, False, reason, finish([*chunks(view), *(also or ())], view))


def _parsed(view: bytes, language: str, stop: Callable[[], bool]) -> Outline:
    if is_minified(view, language):
        return chunked(view, language, "minified", exported_names(view))
    grammar = GRAMMARS[language]
    text = view if b"\n" in view else view.replace(b"\r", b"\n")
    try:
        if language in ("c", "cpp"):
            parsed = c_family.parse(text, grammar, cpp=language == "cpp", stop=stop)
        else:
            parsed = tree_parse(text, grammar, stop)
    except treesitter.ParseStoppedError:
        return chunked(view, language, "parser stopped at its deadline")
    if parsed.lost_bytes > _LOST_SHARE * len(view):
        return chunked(view, language, "syntax errors in more than a fifth of the text")
    reason = "syntax errors" if parsed.errors else None
    return Outline(language, True, reason, finish(parsed.symbols, view, grammar, parsed.errors))


def tree_parse(text: bytes, grammar: Grammar, stop: Callable[[], bool]) -> Parsed:
    tree = treesitter.parse(text, treesitter.load(grammar), stop)
    errors = errors_of(tree, grammar)
    found = cut_at_errors(treesitter.symbols(tree, text, grammar), errors.spans, text)
    return Parsed(list(found), errors.spans, errors.lost_bytes)
