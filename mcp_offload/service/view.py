"""What reading, searching and comparing need of stored text, whoever holds the bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Protocol

from mcp_offload.errors import SpanOutOfRangeError
from mcp_offload.models import Span


class View(Protocol):
    """The UTF-8 bytes of one version. Lines are 1-based and end with LF; the last may lack it."""

    @property
    def size_bytes(self) -> int:
        """The length of the view."""
        ...

    @property
    def line_count(self) -> int:
        """The number of lines; 0 where the view is empty."""
        ...

    @property
    def path(self) -> str | None:
        """A file that holds exactly these bytes, or None."""
        ...

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end``, fewer where the view ends before."""
        ...

    def line_span(self, first: int, last: int) -> Span:
        """Return the bytes of lines ``first`` to ``last``, each with its LF.

        Raises:
            SpanOutOfRangeError: there is no such line.
        """
        ...

    def line_of(self, offset: int) -> int:
        """Return the line that the byte at ``offset`` belongs to."""
        ...


class BytesView:
    """A view of bytes held in memory, for text that is not stored or is small."""

    path: str | None = None

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0, *_after_newlines(data)] if data else []

    @property
    def size_bytes(self) -> int:
        """The length of the view."""
        return len(self._data)

    @property
    def line_count(self) -> int:
        """The number of lines; 0 where the view is empty."""
        return len(self._starts)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end``, fewer where the view ends before."""
        return self._data[start:end]

    def line_span(self, first: int, last: int) -> Span:
        """Return the bytes of lines ``first`` to ``last``, each with its LF.

        Raises:
            SpanOutOfRangeError: there is no such line.
        """
        if not 1 <= first <= last <= len(self._starts):
            raise SpanOutOfRangeError(
                f"Lines {first}-{last} are not among the {len(self._starts)} there are."
            )
        end = self._starts[last] if last < len(self._starts) else len(self._data)
        return Span(self._starts[first - 1], end)

    def line_of(self, offset: int) -> int:
        """Return the line that the byte at ``offset`` belongs to."""
        return bisect_right(self._starts, offset)


def _after_newlines(data: bytes) -> Iterator[int]:
    at = data.find(b"\n") + 1
    while 0 < at < len(data):
        yield at
        at = data.find(b"\n", at) + 1
