"""Reading an artifact's bytes within bounds, at offsets or as a seekable file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final, Protocol

from mcp_offload.cards.model import DamagedError, LimitReachedError
from mcp_offload.models import Monitor

#: The most one card may read in all: a few seconds of work.
READ_BYTES: Final = 2 << 30
#: The most that is held in memory as a whole.
WHOLE_BYTES: Final = 16 << 20
CHUNK_BYTES: Final = 1 << 18


class Source(Protocol):
    """An artifact's bytes, whoever holds them."""

    @property
    def size_bytes(self) -> int:
        """How many there are."""
        ...

    @property
    def path(self) -> str | None:
        """A file that holds exactly these bytes, or None."""
        ...

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end``, fewer where the artifact ends before."""
        ...


class Bounded:
    """A source that counts what is read, reports it, and stops at a limit."""

    def __init__(self, source: Source, monitor: Monitor, limit_bytes: int = READ_BYTES) -> None:
        self._source = source
        self._monitor = monitor
        self._left = limit_bytes
        self._read = 0
        self.size_bytes: Final = source.size_bytes
        self.path: Final = source.path

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of a range, fewer where the artifact ends before.

        Raises:
            LimitReachedError: too much was read already.
            OperationCancelledError: the monitor asked to stop.
        """
        start, end = max(0, min(start, self.size_bytes)), max(0, min(end, self.size_bytes))
        size = max(0, end - start)
        self._left -= size
        if self._left < 0:
            raise LimitReachedError("it takes too much reading")
        self._read += size
        self._monitor.advance(self._read, None, "looking inside")
        return self._source.read(start, end) if size else b""

    def exactly(self, start: int, size: int) -> bytes:
        """Return ``size`` bytes from ``start`` on.

        Raises:
            DamagedError: there are fewer.
        """
        data = self.read(start, start + size) if size <= WHOLE_BYTES else b""
        if len(data) != size:
            raise DamagedError(f"it ends early: {size} bytes were expected at byte {start}")
        return data

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """All bytes of a range in order, in pieces."""
        stop = self.size_bytes if end is None else min(end, self.size_bytes)
        for at in range(start, stop, CHUNK_BYTES):
            yield self.read(at, min(at + CHUNK_BYTES, stop))

    def whole(self) -> bytes:
        """Everything.

        Raises:
            LimitReachedError: that is more than is held in memory.
        """
        if self.size_bytes > WHOLE_BYTES:
            raise LimitReachedError(f"it is larger than the {WHOLE_BYTES >> 20} MiB that are looked at")
        return self.read(0, self.size_bytes)

    def file(self) -> io.BufferedReader:
        """The bytes as a seekable file for readers that want one."""
        return _File(_RawFile(self), 1 << 16)


class _File(io.BufferedReader):
    """A file that is never asked for more at once than is held in memory, whatever a header claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= WHOLE_BYTES:
            raise DamagedError("a table in it is larger than can be")
        return super().read(size)


class _RawFile(io.RawIOBase):
    """A seekable read-only file over a source."""

    def __init__(self, source: Bounded) -> None:
        super().__init__()
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._source.read(self._at, self._at + len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size_bytes}[whence]
        if base + offset < 0:
            raise DamagedError("an offset in it is negative")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at
