"""Tokens of SQL and PL/SQL: what is code, and where comments and literals are.

Every literal and comment is one token whatever it quotes; an unterminated one reaches to the end.
Source: Oracle Database PL/SQL Language Reference (q-quotes), PostgreSQL (dollar quotes), SQL*Plus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_offload.models import Span
from mcp_offload.outline.docs import DOC_LIMIT_LINES
from mcp_offload.outline.scanners.bounds import clean_name
from mcp_offload.outline.scanners.positions import Positions

_COMMON: Final = (
    rb"(?P<comment>--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)%b)"
    rb"|(?P<command>(?m:^)[ \t]*+(?:rem|remark|prompt)(?![\w$#])(?![ \t]*(?::=|\())[^\n]*+)"
    rb"|(?P<literal>[nN]?[qQ]'(?:\[(?s:.*?)(?:\]'|\Z)|\((?s:.*?)(?:\)'|\Z)|\{(?s:.*?)(?:\}'|\Z)|<(?s:.*?)(?:>'|\Z)"
    rb"|(?P<q>[^\s\[({<'])(?s:.*?)(?:(?P=q)'|\Z))|%b)"
    rb"|(?P<name>%b)"
    rb"|(?P<word>[A-Za-z_\x80-\xff][\w$#\x80-\xff]*+)"
    rb"|(?P<slash>(?m:^)[ \t]*+/[ \t\r]*+(?=\n|\Z))"
    rb"|(?P<mark>[;(),.])"
    rb"|(?P<other>\$\$?\w*+|:=|[0-9][\w.]*+|[^\s\w])"
)
_HASH_COMMENT: Final = rb"|(?m:^)[ \t]*+\#[^\n]*+"
_ESCAPED_STRING: Final = rb"'(?:[^'\\]|''|\\(?s:.|\Z))*+(?:'|\Z)"
_PLAIN_STRING: Final = rb"'[^']*+(?:''[^']*+)*+(?:'|\Z)"
_DOLLAR_STRING: Final = rb"|\$(?P<tag>[A-Za-z_]\w*|)\$(?s:.*?)(?:\$(?P=tag)\$|\Z)"
_QUOTED_NAME: Final = rb'"[^"\n]*+"?'
_QUOTED_NAMES: Final = _QUOTED_NAME + rb"|`[^`\n]*+`?|\[[A-Za-z_][^\[\]\n]{0,128}+\]"

PLSQL: Final = re.compile(_COMMON % (b"", _PLAIN_STRING, _QUOTED_NAME), re.I)
SQL: Final = re.compile(_COMMON % (b"", _PLAIN_STRING + _DOLLAR_STRING, _QUOTED_NAMES), re.I)
MYSQL: Final = re.compile(_COMMON % (_HASH_COMMENT, _ESCAPED_STRING, _QUOTED_NAMES), re.I)
# The text of a name or word can be long only in damaged input.
_MAX_WORD_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class Token:
    """One token: ``kind`` is a group of the pattern, ``text`` upper case for words and marks."""

    kind: str
    text: str
    start: int
    end: int

    def name(self, view: bytes) -> str:
        """A word or a quoted name as it may stand in a handle."""
        raw = view[self.start : self.end]
        return clean_name(raw.strip(b'"`[]') if self.kind == "name" else raw)


def tokens(
    pattern: re.Pattern[bytes], view: bytes, start: int = 0, end: int | None = None
) -> Iterator[Token]:
    """All tokens in order; comments and commands included."""
    for found in pattern.finditer(view, start, len(view) if end is None else end):
        kind = found.lastgroup or "other"
        text = ""
        if kind in ("word", "mark"):
            text = found[0][:_MAX_WORD_BYTES].decode("utf-8", "replace").upper()
        yield Token("literal" if kind in ("q", "tag") else kind, text, found.start(), found.end())


class CommentsAbove:
    """The comment lines directly above what comes next; those at the very top are the file's header."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._start = 0
        self._last_line = 0
        self._header = True
        self._code_line = 0

    def comment(self, token: Token) -> None:
        """Take note of a comment."""
        line = self._positions.line_of(token.start)
        if line == self._code_line:
            return
        if not self._last_line or line > self._last_line + 1:
            self._header = self._last_line == 0 and self._code_line == 0
            self._start = token.start
        self._last_line = self._positions.line_of(max(token.start, token.end - 1))

    def code(self, token: Token) -> None:
        """Take note of anything else."""
        self._code_line = self._positions.line_of(max(token.start, token.end - 1))

    def above(self, start: int) -> Span | None:
        """The comment that ends on the line before ``start``, unless it is the header or far too long."""
        line = self._positions.line_of(start)
        if self._header or self._last_line != line - 1 or self._code_line >= line:
            return None
        if line - self._positions.line_of(self._start) > DOC_LIMIT_LINES:
            return None
        return Span(self._start, self._positions.end_of(line - 1))
