"""Line numbers and line starts of a view, and symbols made from them.

Lines are 1-based and end at LF only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from mcp_offload.models import Span, Symbol

_LF: Final = re.compile(b"\n")
# Farther into a line no indentation is looked for; a document on one line would make that quadratic.
_MAX_INDENT_BYTES: Final = 1024


class Positions:
    """Where the lines of a view begin, for bytes-to-line lookups in logarithmic time."""

    __slots__ = ("_starts", "size_bytes", "view")

    def __init__(self, view: bytes) -> None:
        self.view = view
        self.size_bytes = len(view)
        self._starts = [0, *(found.end() for found in _LF.finditer(view))]
        if len(self._starts) > 1 and self._starts[-1] == len(view):
            self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def line_of(self, offset: int) -> int:
        """The line that holds the byte at ``offset``; the last line beyond the end."""
        return bisect_right(self._starts, max(0, offset))

    def start_of(self, line: int) -> int:
        """Offset of the first byte of ``line``; the view's size beyond the last line."""
        return self._starts[line - 1] if line <= len(self._starts) else self.size_bytes

    def end_of(self, line: int) -> int:
        """Offset behind the last byte of ``line``, its LF not included."""
        if line >= len(self._starts):
            end = self.size_bytes
            return end - 1 if self.view.endswith(b"\n") else end
        return self._starts[line] - 1

    def text(self, line: int) -> bytes:
        """The bytes of ``line`` without its LF."""
        return self.view[self.start_of(line) : self.end_of(line)]

    def line_start_if_blank(self, offset: int) -> int:
        """The start of the line of ``offset`` where only white space stands between, else ``offset``."""
        start = self._starts[self.line_of(offset) - 1]
        if offset - start > _MAX_INDENT_BYTES:
            return offset
        return start if not self.view[start:offset].strip() else offset

    def last_line_of(self, span: Span) -> int:
        """The line of the last byte of ``span``."""
        return self.line_of(max(span.start_byte, span.end_byte - 1))

    def symbol(
        self,
        path: tuple[str, ...],
        kind: str,
        span: Span,
        *,
        params: str | None = None,
        sig: Span | None = None,
        doc: Span | None = None,
        body: Span | None = None,
    ) -> Symbol:
        """A symbol over ``span`` with its lines filled in."""
        return Symbol(
            path=path,
            kind=kind,
            span=span,
            start_line=self.line_of(span.start_byte),
            end_line=self.last_line_of(span),
            params=params,
            sig=sig,
            doc=doc,
            body=body,
        )

    def of_lines(self, path: tuple[str, ...], kind: str, first: int, last: int) -> Symbol:
        """A symbol over whole lines, the last one without its LF."""
        return self.symbol(
            path, kind, Span(self.start_of(first), max(self.start_of(first), self.end_of(last)))
        )
