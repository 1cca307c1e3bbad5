"""Bytes as they arrive, cut into lines. Standard library only."""

from __future__ import annotations

from typing import Final

MAX_LINE_BYTES: Final = 64 << 20


class LineBuffer:
    """Collects chunks and gives back whole lines; each byte is looked at once.

    A line over ``max_line_bytes`` is dropped up to its end and given back as None.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """Return the lines that ``chunk`` completes, without their line feeds."""
        *complete, tail = chunk.split(b"\n")
        lines = [self._finish(piece) for piece in complete]
        self._hold(tail)
        return lines

    def rest(self) -> bytes | None:
        """Return, at the end of input, a last line that has no line feed; None where there is none."""
        line = self._finish(b"")
        return line or None

    def _hold(self, piece: bytes) -> None:
        if not piece or self._dropping:
            return
        self._held_bytes += len(piece)
        self._parts.append(piece)
        if self._held_bytes > self._max_line_bytes:
            self._dropping = True
            self._parts.clear()

    def _finish(self, piece: bytes) -> bytes | None:
        self._hold(piece)
        line = None if self._dropping else b"".join(self._parts)
        self._parts.clear()
        self._held_bytes = 0
        self._dropping = False
        return line
