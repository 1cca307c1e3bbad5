"""Reading one blob by bytes or by lines, from any number of threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

from mcp_offload.errors import CorruptBlobError, SpanOutOfRangeError
from mcp_offload.models import Span
from mcp_offload.store.config import BLOCK_BYTES
from mcp_offload.store.faults import translated
from mcp_offload.store.newlines import NewlineIndex, nth_newline
from mcp_offload.store.staged import pread_all

_CHUNK_BYTES: Final = 1024 * 1024


def corrupt(blake3: str) -> CorruptBlobError:
    """The error for stored bytes that are not what was acknowledged."""
    return CorruptBlobError(
        f"The stored bytes {blake3[:12]} are damaged or shorter than they were. Store the content again."
    )


class BlobReader:
    """An open blob; stays readable until closed, whatever happens to the store meanwhile.

    Attributes:
        size_bytes: of the whole blob.
        newlines: count of LF.
        line_count: lines, of which a last one without LF counts.
        path: absolute path of the blob's file for programs that read files, or None where it has none.
    """

    def __init__(
        self,
        *,
        blake3: str,
        size_bytes: int,
        newlines: int,
        ends_with_newline: bool,
        counts: bytes,
        data: bytes | None = None,
        fd: int = -1,
        path: str | None = None,
    ) -> None:
        self._blake3 = blake3
        self._index = NewlineIndex(counts)
        self._data = data
        self._fd = fd
        self._block: tuple[int, bytes] = (-1, b"")
        self.size_bytes: Final = size_bytes
        self.newlines: Final = newlines
        self.line_count: Final = newlines + int(size_bytes > 0 and not ends_with_newline)
        self.path: Final = path

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a half-open range, fewer where the blob ends before, as a slice would give.

        Raises:
            CorruptBlobError: the file is shorter than it was.
        """
        start = max(0, min(start, self.size_bytes))
        end = max(start, min(end, self.size_bytes))
        if self._data is not None:
            return self._data[start:end]
        with translated():
            data = pread_all(self._fd, start, end)
        if len(data) != end - start:
            raise corrupt(self._blake3)
        return data

    def chunks(self, size: int = _CHUNK_BYTES) -> Iterator[bytes]:
        """All bytes in order, in pieces of ``size`` bytes, the last one shorter.

        Raises:
            CorruptBlobError: the file is shorter than it was.
        """
        for start in range(0, self.size_bytes, size):
            yield self.read(start, min(start + size, self.size_bytes))

    def line_span(self, first: int, last: int) -> Span:
        """The bytes of lines ``first`` to ``last``, 1-based and inclusive, with their LF.

        Raises:
            SpanOutOfRangeError: there are no such lines.
            CorruptBlobError: the file is not what it was.
        """
        if not 1 <= first <= last <= self.line_count:
            raise SpanOutOfRangeError(
                f"Lines {first}-{last} are not within the {self.line_count} lines there are."
            )
        start = self._after_newline(first - 1) if first > 1 else 0
        end = self._after_newline(last) if last <= self.newlines else self.size_bytes
        return Span(start, end)

    def line_of(self, offset: int) -> int:
        """The line that holds the byte at ``offset``; at the very end, the last line (1 when empty).

        Raises:
            SpanOutOfRangeError: the offset is not within the blob.
            CorruptBlobError: the file is shorter than it was.
        """
        if not 0 <= offset <= self.size_bytes:
            raise SpanOutOfRangeError(f"Byte {offset} is not within the {self.size_bytes} bytes there are.")
        number, within = divmod(offset, BLOCK_BYTES)
        if within == 0:
            before = self._index.before_block(number)
        else:
            before = self._index.before_block(number) + self._read_block(number).count(b"\n", 0, within)
        return max(1, min(before + 1, self.line_count))

    def _after_newline(self, rank: int) -> int:
        """Offset just behind the newline of this rank, from 1."""
        number = self._index.block_of(rank)
        block = self._read_block(number)
        try:
            within = nth_newline(block, rank - self._index.before_block(number))
        except ValueError:
            raise corrupt(self._blake3) from None
        return number * BLOCK_BYTES + within + 1

    def _read_block(self, number: int) -> bytes:
        """A block of the index; the last one used is kept, because a window's ends share one as a rule."""
        kept, block = self._block
        if kept != number:
            start = number * BLOCK_BYTES
            block = self.read(start, min(start + BLOCK_BYTES, self.size_bytes))
            self._block = (number, block)
        return block

    def close(self) -> None:
        """Close the file; may be called again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()
