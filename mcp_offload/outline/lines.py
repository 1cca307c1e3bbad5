"""Where lines begin: line numbers of byte offsets, LF only."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

_NEWLINE = re.compile(rb"\n")


class Lines:
    """The newlines of one view."""

    def __init__(self, view: bytes) -> None:
        self._view = view
        self._newlines: Sequence[int] = [match.start() for match in _NEWLINE.finditer(view)]

    def line_of(self, offset: int) -> int:
        """The 1-based line that holds the byte at ``offset``; a newline belongs to the line it ends."""
        return bisect_left(self._newlines, offset) + 1

    def start_of(self, line: int) -> int:
        """The offset of the first byte of a line that exists."""
        return 0 if line <= 1 else self._newlines[line - 2] + 1

    def text(self, line: int) -> bytes:
        """The bytes of a line that exists, without its LF."""
        end = self._newlines[line - 1] if line <= len(self._newlines) else len(self._view)
        return self._view[self.start_of(line) : end]
