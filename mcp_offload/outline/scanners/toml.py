"""TOML by tables and keys: ``tool.ruff.line-length``; elements of arrays of tables by index.

A table reaches to the next header; the comment lines directly above a header or key belong to it.
Source: TOML 1.0.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_DEPTH, MAX_SYMBOLS, clean_name
from mcp_offload.outline.scanners.json import key_name
from mcp_offload.outline.scanners.positions import Positions

_QUOTED: Final = rb"\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+'"
_HEADER: Final = re.compile(
    rb"[ \t]*+(\[\[?)((?:[^\[\]\n\"'#]|%b)++)\]\]?[ \t]*+(?:#[^\n]*)?\r?\Z" % _QUOTED, re.DOTALL
)
_PART: Final = rb"(?:[\w\x80-\xff-]++|%b)" % _QUOTED
_KEY: Final = re.compile(rb"[ \t]*+(%b(?:[ \t]*+\.[ \t]*+%b)*+)[ \t]*+=" % (_PART, _PART), re.DOTALL)
_SEGMENT: Final = re.compile(rb"%b|[^.\s]+" % _QUOTED, re.DOTALL)
# What can make a value go on beyond its line.
_VALUE: Final = re.compile(
    rb"\"\"\"(?s:(?:[^\\]|\\.)*?)(?:\"\"\"|\Z)|'''(?s:.*?)(?:'''|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'[^'\n]*+'?|#[^\n]*+|[\[{]|[\]}]|\n"
)


def scan(view: bytes) -> list[Symbol]:
    """Symbols of the tables and keys."""
    return _Scanner(view).scan()


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._view = view
        self._positions = Positions(view)
        self._symbols: list[Symbol] = []
        self._table: tuple[str, ...] = ()
        self._table_first = 0
        self._array = False
        self._counts: dict[tuple[str, ...], int] = {}
        self._comments_from = 0
        self._last_filled = 0

    def scan(self) -> list[Symbol]:
        number = 1
        while number <= len(self._positions):
            number = self._line(number) + 1
        self._close_table()
        return self._symbols[:MAX_SYMBOLS]

    def _line(self, number: int) -> int:
        """Read what begins at ``number``; the last line it takes."""
        line = self._positions.text(number)
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        stripped = line.strip()
        if not stripped:
            self._comments_from = 0
            return number
        if stripped.startswith(b"#"):
            self._comments_from = self._comments_from or number
            return number
        # Comments at the top of the file are its own.
        first = self._comments_from if self._comments_from > 1 else number
        self._comments_from = 0
        last = number
        if (found := _HEADER.match(line[:4096])) is not None:
            self._close_table()
            self._open_table(found, first)
        elif (found := _KEY.match(line[:4096])) is not None:
            last = self._last_line_of_value(number, self._positions.end_of(number) - len(line) + found.end())
            path = (*self._table, *_segments(found[1]))[:MAX_DEPTH]
            self._symbols.append(self._positions.of_lines(path, "key", first, last))
        self._last_filled = last
        return last

    def _last_line_of_value(self, number: int, start: int) -> int:
        depth = 0
        for found in _VALUE.finditer(self._view, start):
            text = found[0]
            if text in (b"[", b"{"):
                depth += 1
            elif text in (b"]", b"}"):
                depth -= 1
            elif text == b"\n" and (depth <= 0 or self._looks_like_header(found.end())):
                return max(number, self._positions.line_of(found.start()))
        return len(self._positions)

    def _looks_like_header(self, offset: int) -> bool:
        """A table header at the left edge ends a value whose bracket was never closed."""
        if self._view[offset : offset + 1] != b"[":
            return False
        return _HEADER.match(self._positions.text(self._positions.line_of(offset))[:4096]) is not None

    def _open_table(self, found: re.Match[bytes], first: int) -> None:
        path = _segments(found[2])
        # A header below an array of tables means its newest element.
        resolved: tuple[str, ...] = ()
        for segment in path[:-1]:
            resolved = (*resolved, segment)
            if resolved in self._counts:
                resolved = (*resolved, str(self._counts[resolved] - 1))
        resolved = (*resolved, path[-1])
        if found[1] == b"[[":
            index = self._counts.get(resolved, 0)
            self._counts[resolved] = index + 1
            resolved = (*resolved, str(index))
        self._table = resolved
        self._table_first = first

    def _close_table(self) -> None:
        if self._table:
            span = Span(
                self._positions.start_of(self._table_first),
                self._positions.end_of(max(self._table_first, self._last_filled)),
            )
            self._symbols.append(self._positions.symbol(self._table, "table", span))


def _segments(raw: bytes) -> tuple[str, ...]:
    parts = [key_name(part) if part[:1] in b"\"'" else clean_name(part) for part in _SEGMENT.findall(raw)]
    return tuple(parts[:MAX_DEPTH]) or ("_",)
