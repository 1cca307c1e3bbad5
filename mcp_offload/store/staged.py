"""Content that is hashed and written but not yet acknowledged: dropped unless it is committed."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Final, Self

from blake3 import blake3

from mcp_offload.store.blobs import BlobDir
from mcp_offload.store.config import BLOCK_BYTES
from mcp_offload.store.faults import translated
from mcp_offload.store.newlines import NewlineCounter


class Tally:
    """Hash and newline counts of what has passed.

    Attributes:
        hasher: BLAKE3 of all bytes.
        lines: their newlines.
    """

    def __init__(self) -> None:
        self.hasher = blake3()
        self.lines = NewlineCounter()
        self.size_bytes = 0

    def update(self, data: bytes | memoryview) -> None:
        """Take in what comes next.

        In turns, because hashing lets other threads go on and counting does not.
        """
        for start in range(0, len(data), BLOCK_BYTES):
            block = data[start : start + BLOCK_BYTES]
            self.hasher.update(block)
            self.lines.update(block)
        self.size_bytes += len(data)


class Staged:
    """Content that is hashed and on disk (or in memory when small) but not yet committed.

    Attributes:
        blake3: hex hash of the bytes.
        newlines: count of LF.
        ends_with_newline: False for empty content.
        counts: packed newline counts; see :mod:`mcp_offload.store.newlines`.
        data: the bytes where they are small enough to live in the catalog, else None.
        durable: True where a commit needs no further fsync of the bytes to survive a host crash.
        file: name of the blob file once it has one.
    """

    def __init__(
        self,
        blobs: BlobDir,
        tally: Tally,
        fd: int,
        temporary: str | None,
        data: bytes | None,
        *,
        durable: bool,
    ) -> None:
        self._blobs = blobs
        self._fd = fd
        self._temporary = temporary
        self._held = False
        if fd >= 0:
            self._hold()
        self.blake3: Final = tally.hasher.hexdigest()
        self.size_bytes: Final = tally.size_bytes
        self.newlines: Final = tally.lines.newlines
        self.ends_with_newline: Final = tally.lines.ends_with_newline
        self.counts: Final = tally.lines.packed()
        self.data = data
        self.durable: Final = durable
        self.file: str | None = None

    @property
    def lines(self) -> int:
        """Lines, of which a last one without LF counts."""
        return self.newlines + int(self.size_bytes > 0 and not self.ends_with_newline)

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a half-open range, fewer where the content ends before, as a slice would give."""
        start = max(0, min(start, self.size_bytes))
        end = max(start, min(end, self.size_bytes))
        if self.data is not None:
            return self.data[start:end]
        with translated():
            if self._fd < 0 and self._temporary is not None:
                fd = self._blobs.open(self._temporary)
                try:
                    return pread_all(fd, start, end)
                finally:
                    os.close(fd)
            return pread_all(self._fd, start, end)

    def _hold(self) -> None:
        """Keep the file open, or give it a name and close it where too many are open already."""
        self._held = self._blobs.hold()
        if not self._held:
            with translated():
                if self._temporary is None:
                    self._temporary = self._blobs.park(self._fd)
                fd, self._fd = self._fd, -1
                os.close(fd)

    def link(self, blobs: BlobDir) -> str:
        """Name the blob file, once; the store's writer does so under its lock."""
        if self.file is None:
            self.file = blobs.link(self._fd, self._temporary, self.blake3)
            self._temporary = None
            blobs.failpoints.hit("blob.linked")
        return self.file

    def unlink(self, blobs: BlobDir) -> None:
        """Take the name away again after a commit that failed for good; the content is lost with it."""
        if self.file is not None:
            blobs.unlink(self.file)
            self.file = None
            self.close()

    def close(self) -> None:
        """Drop the content unless it was committed; may be called again."""
        fd, self._fd = self._fd, -1
        if self._temporary is not None:
            self._blobs.unlink(self._temporary)
            self._temporary = None
        if fd >= 0:
            os.close(fd)
        if self._held:
            self._held = False
            self._blobs.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0 or getattr(self, "_temporary", None) is not None:
            self.close()


def pread_all(fd: int, start: int, end: int) -> bytes:
    """The bytes of a half-open range; fewer only where the file ends before ``end``."""
    data = os.pread(fd, end - start, start)
    if len(data) == end - start or not data:
        return data
    parts = [data]
    at = start + len(data)
    while at < end and (more := os.pread(fd, end - at, at)):
        parts.append(more)
        at += len(more)
    return b"".join(parts)
