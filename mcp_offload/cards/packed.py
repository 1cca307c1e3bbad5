"""Unpacking gzip, bzip2 and xz streams piece by piece, within a limit."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from mcp_offload.cards.model import DamagedError, LimitReachedError
from mcp_offload.cards.names import base_name
from mcp_offload.cards.source import CHUNK_BYTES, Bounded

#: The most that is unpacked only to list what is inside.
LISTED_BYTES: Final = 1 << 30
#: The most that one member may unpack to.
MEMBER_BYTES: Final = 256 << 20
LZMA_MEMORY_BYTES: Final = 128 << 20
UNPACK_ERRORS: Final = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)

_MAGIC: Final = ((b"\x1f\x8b\x08", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"))
_SUFFIXES: Final = (".gz", ".bz2", ".xz")


class Decompressor(Protocol):
    """What bz2, lzma and, through :class:`Inflater`, zlib offer."""

    @property
    def eof(self) -> bool:
        """True behind the end of the stream."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What stands behind the end."""
        ...

    @property
    def needs_input(self) -> bool:
        """True where more input is needed for more output."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return up to ``max_length`` unpacked bytes."""
        ...


class Inflater:
    """zlib with the interface of the other two. ``bits``: -15 raw deflate, 31 gzip."""

    def __init__(self, bits: int) -> None:
        self._object = zlib.decompressobj(bits)
        self._full = False

    @property
    def eof(self) -> bool:
        """True behind the end of the stream."""
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        """What stands behind the end."""
        return self._object.unused_data

    @property
    def needs_input(self) -> bool:
        """True where more input is needed for more output."""
        return not self._full

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return up to ``max_length`` unpacked bytes."""
        out = self._object.decompress(self._object.unconsumed_tail + data, max(0, max_length))
        self._full = max_length > 0 and len(out) >= max_length and not self._object.eof
        return out


def packing_of(head: bytes) -> str | None:
    """gzip, bzip2 or xz by the first bytes."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)


def inner_name(name: str) -> str:
    """What the one member of a packed file is called: its name without the suffix."""
    base = base_name(name)
    for suffix in _SUFFIXES:
        if base.lower().endswith(suffix) and len(base) > len(suffix):
            return base[: -len(suffix)]
    return "content"


def decompressor(packing: str) -> Decompressor:
    """A fresh decompressor for one stream."""
    if packing == "gzip":
        return Inflater(31)
    return bz2.BZ2Decompressor() if packing == "bzip2" else lzma.LZMADecompressor(memlimit=LZMA_MEMORY_BYTES)


def unpacked(source: Bounded, packing: str, limit_bytes: int) -> Iterator[bytes]:
    """The unpacked bytes of all streams in the file, in pieces.

    Raises:
        DamagedError: the stream is broken or ends early.
        LimitReachedError: it unpacks to more than ``limit_bytes``.
    """
    engine = decompressor(packing)
    started = False
    for packed in source.chunks():
        data = packed
        while data or (started and not engine.needs_input and not engine.eof):
            if engine.eof:
                engine, started = decompressor(packing), False
                data = data.lstrip(b"\x00")
                if not data or (packing_of(data) is None and len(data) >= 6):
                    # Padding or foreign bytes behind the last stream, which gzip(1) ignores, too.
                    return
            try:
                piece = engine.decompress(data, CHUNK_BYTES)
            except UNPACK_ERRORS as exc:
                raise DamagedError(f"its {packing} data is broken") from exc
            started = True
            limit_bytes -= len(piece)
            if limit_bytes < 0:
                raise LimitReachedError("it unpacks to more than the limit")
            if piece:
                yield piece
            data = engine.unused_data if engine.eof else b""
    if started and not engine.eof:
        raise DamagedError(f"its {packing} data ends early")
