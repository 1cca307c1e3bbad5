"""INI, properties and dotenv files: sections and keys, with continuation lines.

A key's span is its line, the lines that continue it, and the comment lines directly above.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS, clean_name
from mcp_offload.outline.scanners.positions import Positions

_SECTION: Final = re.compile(rb"[ \t]*\[([^\]\r\n]+)\][ \t]*(?:[#;].*)?\r?\Z", re.DOTALL)
_KEY: Final = re.compile(
    rb"[ \t]*+(?:export[ \t]+)?((?:[^\s=:#;\[\\]|\\.)(?:[^=:\r\n\\]|\\.)*+)[=:]", re.DOTALL
)
_MAX_LINE_BYTES: Final = 2048


def scan(view: bytes) -> list[Symbol]:
    """Symbols of the sections and keys."""
    return _Scanner(view).scan()


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._positions = Positions(view)
        self._symbols: list[Symbol] = []
        self._section: tuple[str, int] | None = None
        self._key: tuple[str, int, int] | None = None
        self._comments_from = 0
        self._last_filled = 0

    def scan(self) -> list[Symbol]:
        continued = False
        for number in range(1, len(self._positions) + 1):
            line = self._positions.text(number)[:_MAX_LINE_BYTES]
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            continued = self._line(number, line, continued)
        self._close_section()
        return self._symbols[:MAX_SYMBOLS]

    def _line(self, number: int, line: bytes, continued: bool) -> bool:
        """Read one line; True where a backslash at its end continues it."""
        stripped = line.strip()
        if continued:
            self._last_filled = number
            return stripped.endswith(b"\\")
        if not stripped:
            self._comments_from = 0
            return False
        if stripped[:1] in b"#;!":
            self._comments_from = self._comments_from or number
            return False
        if (found := _SECTION.match(line)) is not None:
            self._close_section()
            self._section = (clean_name(found[1]), self._first(number))
        elif line[:1] in b" \t" and self._key is not None and self._indent(line) > self._key[2]:
            pass
        elif (found := _KEY.match(line)) is not None:
            self._close_key()
            self._key = (clean_name(found[1]), self._first(number), self._indent(line))
        self._last_filled = number
        self._comments_from = 0
        return stripped.endswith(b"\\")

    def _first(self, number: int) -> int:
        """Where the comments directly above begin; those at the top of the file are its own."""
        return self._comments_from if self._comments_from > 1 else number

    @staticmethod
    def _indent(line: bytes) -> int:
        return len(line) - len(line.lstrip(b" \t"))

    def _close_key(self) -> None:
        if self._key is not None:
            path = (self._key[0],) if self._section is None else (self._section[0], self._key[0])
            self._symbols.append(self._positions.of_lines(path, "key", self._key[1], self._last_filled))
        self._key = None

    def _close_section(self) -> None:
        self._close_key()
        if self._section is not None:
            name, first = self._section
            last = max(first, self._last_filled)
            span = Span(self._positions.start_of(first), self._positions.end_of(last))
            self._symbols.append(self._positions.symbol((name,), "section", span))
        self._section = None
