"""Documentation of a definition: comments directly above it, or the string its body opens with."""

from __future__ import annotations

import re

from mcp_offload.models import Span
from mcp_offload.outline.grammar import Grammar
from mcp_offload.outline.lines import Lines

DOC_LIMIT_LINES = 8
"""A longer comment is not made part of the definition, or reading one function would cost a whole page."""

_SEARCH_LIMIT_BYTES = 1 << 16
_DOCSTRING = re.compile(
    rb"""[rRuU]{0,2}(?:\"{3}(?:[^\\"]|\\.|"(?!""))*\"{3}|'{3}(?:[^\\']|\\.|'(?!''))*'{3}"""
    rb"""|"(?:[^\\"\n]|\\.)*"|'(?:[^\\'\n]|\\.)*')(?=[ \t\f]*(?:\r?\n|;|\#|\Z))""",
    re.DOTALL,
)


def docstring(view: bytes, body: Span) -> Span | None:
    """The string literal a Python body opens with."""
    match = _DOCSTRING.match(view, body.start_byte, min(body.end_byte + 1, len(view)))
    return Span(match.start(), match.end()) if match else None


def comment_above(view: bytes, start: int, lines: Lines, grammar: Grammar) -> Span | None:
    """The documenting comment whose last line is the one right above ``start``; a blank line ends it."""
    line = lines.line_of(start) - 1
    if line < 1 or not (grammar.doc_markers or grammar.doc_blocks):
        return None
    text = lines.text(line).strip()
    if grammar.doc_blocks and text.endswith(b"*/"):
        return _block(view, line, lines, grammar)
    first = line
    while first >= 1 and _documents(lines.text(first), grammar):
        first -= 1
    if first == line:
        return None
    return _span(view, first + 1, line, lines)


def _documents(text: bytes, grammar: Grammar) -> bool:
    text = text.strip()
    return bool(grammar.doc_markers) and text.startswith(grammar.doc_markers) and not text.startswith(b"#!")


def _block(view: bytes, line: int, lines: Lines, grammar: Grammar) -> Span | None:
    """A block comment that has its lines to itself and opens as documentation does."""
    last = lines.text(line)
    end = lines.start_of(line) + len(last.rstrip())
    start = view.rfind(b"/*", max(0, end - _SEARCH_LIMIT_BYTES), end - 2)
    if start < 0 or b"*/" in view[start + 2 : end - 2]:
        return None
    first = lines.line_of(start)
    if lines.text(first)[: start - lines.start_of(first)].strip():
        return None
    return _span(view, first, line, lines) if view.startswith(grammar.doc_blocks, start) else None


def _span(view: bytes, first: int, last: int, lines: Lines) -> Span:
    opening, closing = lines.text(first), lines.text(last)
    start = lines.start_of(first) + len(opening) - len(opening.lstrip())
    return Span(start, lines.start_of(last) + len(closing.rstrip()))
