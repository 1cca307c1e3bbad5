"""Reading text out of gzip, so that a compressed log is searched and digested like any other. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

GZIP: Final = "gzip"
_MAGIC: Final = b"\x1f\x8b\x08"
# Source: zlib manual, inflateInit2: 16 + 15 accepts a gzip header with the largest window.
_GZIP_WINDOW: Final = 31
_PIECE_BYTES: Final = 1 << 20


def is_gzip(head: bytes) -> bool:
    """True where the bytes start like a gzip member. Source: RFC 1952, section 2.3.1."""
    return head.startswith(_MAGIC)


def inner_name(name: str) -> str:
    """``build.log.gz`` names ``build.log``; other names stay."""
    return name[:-3] if name.lower().endswith(".gz") else name


def decompress(chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Yield what gzip members hold, in pieces of at most 1 MiB and at most ``max_bytes`` in all.

    A damaged or cut end gives what came before it; bytes after the last member are passed over.
    """
    inflate, between, left = None, b"", max_bytes
    for chunk in chunks:
        pending = between + chunk
        while pending and left > 0:
            if inflate is None:
                if len(pending) < len(_MAGIC):
                    break
                if not is_gzip(pending):
                    return
                inflate = zlib.decompressobj(_GZIP_WINDOW)
            try:
                piece = inflate.decompress(pending, min(_PIECE_BYTES, left))
            except zlib.error:
                return
            left -= len(piece)
            if piece:
                yield piece
            pending = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            inflate = None if inflate.eof else inflate
        between = pending if inflate is None else b""


def first_bytes(head: bytes, size_bytes: int) -> bytes:
    """The first bytes of what a gzip file holds, from the file's own first bytes."""
    return b"".join(decompress([head], size_bytes))
