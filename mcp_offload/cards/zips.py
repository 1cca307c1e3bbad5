"""Zip archives: the central directory as a listing, and one member as a stream.

Source: PKWARE APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from mcp_offload.cards.model import DamagedError, LimitReachedError, member_name
from mcp_offload.cards.packed import MEMBER_BYTES, UNPACK_ERRORS, Decompressor, Inflater
from mcp_offload.cards.source import CHUNK_BYTES, Bounded

_END: Final = Struct("<4s4H2LH")
_LOCATOR: Final = Struct("<4sLQL")
_END64: Final = Struct("<4sQ2H2L4Q")
_CENTRAL: Final = Struct("<4s6H3L5H2L")
_LOCAL: Final = Struct("<4s5H3L2H")
_MAX_COMMENT: Final = 0xFFFF
_WINDOW_BYTES: Final = 1 << 18
#: Headers looked at in one archive.
MAX_HEADERS: Final = 500_000
#: Above this ratio, and above so many bytes, a member is taken for a bomb.
MAX_RATIO: Final = 1_000
RATIO_BYTES: Final = 16 << 20
METHODS: Final = {0: "stored", 8: "deflate", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 99: "AES"}


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One file of a zip archive, as its central directory states it."""

    name: str
    size_bytes: int
    packed_bytes: int
    crc: int
    method: int
    encrypted: bool
    offset: int

    @property
    def directory(self) -> bool:
        """True where it is a directory."""
        return self.name.endswith("/")


@dataclass(frozen=True, slots=True)
class _Directory:
    start: int
    size: int
    count: int
    shift: int


def zip_members(source: Bounded) -> Iterator[ZipMember]:
    """All members in the order of the central directory.

    Raises:
        DamagedError: the directory is missing or broken.
        LimitReachedError: there are too many.
    """
    directory = _directory(source)
    window, base, at = b"", directory.start, 0
    for index in range(directory.count):
        if index >= MAX_HEADERS:
            raise LimitReachedError(f"it has more than {MAX_HEADERS:,} members")
        if len(window) - at < _CENTRAL.size + 3 * _MAX_COMMENT:
            base, at = base + at, 0
            window = source.read(base, min(base + _WINDOW_BYTES, directory.start + directory.size))
        if len(window) - at < _CENTRAL.size or window[at : at + 4] != b"PK\x01\x02":
            raise DamagedError(f"its directory breaks off after {index} of {directory.count} members")
        member, at = _central(window, at, directory.shift)
        yield member


def _directory(source: Bounded) -> _Directory:
    tail_start = max(0, source.size_bytes - _END.size - _MAX_COMMENT)
    tail = source.read(tail_start, source.size_bytes)
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0 and (
        len(tail) - at < _END.size or _END.unpack_from(tail, at)[7] > len(tail) - at - _END.size
    ):
        at = tail.rfind(b"PK\x05\x06", 0, at)
    if at < 0:
        raise DamagedError("it has no directory: it is cut off or damaged")
    end = tail_start + at
    _, _, _, _, count, size, offset, _ = _END.unpack_from(tail, at)
    if count == 0xFFFF or size == 0xFFFFFFFF or offset == 0xFFFFFFFF:
        count, size, offset, end = _zip64(source, end, (count, size, offset))
    start = end - size
    if start < 0 or start - offset < 0:
        raise DamagedError("its directory lies outside the file: it is cut off or damaged")
    return _Directory(start, size, count, start - offset)


def _zip64(source: Bounded, end: int, plain: tuple[int, int, int]) -> tuple[int, int, int, int]:
    raw = source.read(end - _LOCATOR.size, end) if end >= _LOCATOR.size else b""
    if not raw.startswith(b"PK\x06\x07"):
        return *plain, end
    at = _LOCATOR.unpack(raw)[2]
    record = _END64.unpack(source.exactly(at, _END64.size))
    if record[0] != b"PK\x06\x06":
        raise DamagedError("its 64-bit directory record is damaged")
    return record[7], record[8], record[9], at


def _central(window: bytes, at: int, shift: int) -> tuple[ZipMember, int]:
    row = _CENTRAL.unpack_from(window, at)
    flags, method, crc, packed, size = row[3], row[4], row[7], row[8], row[9]
    name_bytes, extra_bytes, comment_bytes, offset = row[10], row[11], row[12], row[16]
    start = at + _CENTRAL.size
    raw = window[start : start + name_bytes]
    extra = window[start + name_bytes : start + name_bytes + extra_bytes]
    size, packed, offset = _wide(extra, size, packed, offset)
    name = member_name(raw.decode("utf-8" if flags & 0x800 else "cp437", "replace"))
    member = ZipMember(name, size, packed, crc, method, bool(flags & 0x41), offset + shift)
    return member, start + name_bytes + extra_bytes + comment_bytes


def _wide(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Replace what does not fit 32 bits by the values of the zip64 extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = (
            int.from_bytes(extra[at : at + 2], "little"),
            int.from_bytes(extra[at + 2 : at + 4], "little"),
        )
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            values = [int.from_bytes(field[i : i + 8], "little") for i in range(0, len(field) - 7, 8)]
            size = values.pop(0) if size == 0xFFFFFFFF and values else size
            packed = values.pop(0) if packed == 0xFFFFFFFF and values else packed
            offset = values.pop(0) if offset == 0xFFFFFFFF and values else offset
            break
        at += 4 + length
    return size, packed, offset


def zip_content(source: Bounded, member: ZipMember) -> Iterator[bytes]:
    """The member's bytes in pieces; size and checksum are checked at the end.

    Raises:
        DamagedError: encrypted, packed in an unknown way, or damaged.
        LimitReachedError: it unpacks to too much.
    """
    if member.encrypted:
        raise DamagedError("it is encrypted")
    if member.size_bytes > MEMBER_BYTES:
        raise LimitReachedError(f"it unpacks to more than {MEMBER_BYTES >> 20} MiB")
    if member.size_bytes > RATIO_BYTES and member.size_bytes > MAX_RATIO * max(1, member.packed_bytes):
        raise LimitReachedError(f"it unpacks to more than {MAX_RATIO} times its size")
    local = _LOCAL.unpack(source.exactly(member.offset, _LOCAL.size))
    if local[0] != b"PK\x03\x04":
        raise DamagedError("its header is damaged")
    start = member.offset + _LOCAL.size + local[9] + local[10]
    crc = size = 0
    for piece in _unpacked(source, member, start):
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > member.size_bytes:
            raise DamagedError("it unpacks to more than its directory states")
        yield piece
    if size != member.size_bytes or crc != member.crc:
        raise DamagedError("it is damaged: its size or checksum is wrong")


def _unpacked(source: Bounded, member: ZipMember, start: int) -> Iterator[bytes]:
    packed = source.chunks(start, start + member.packed_bytes)
    engine: Decompressor
    match member.method:
        case 0:
            yield from packed
            return
        case 8:
            engine = Inflater(-15)
        case 12:
            engine = bz2.BZ2Decompressor()
        case _:
            raise DamagedError(
                f"it is packed with {METHODS.get(member.method, f'method {member.method}')}, "
                "which is not read here"
            )
    for chunk in packed:
        data = chunk
        while not engine.eof and (data or not engine.needs_input):
            try:
                piece = engine.decompress(data, CHUNK_BYTES)
            except UNPACK_ERRORS as exc:
                raise DamagedError("its packed data is broken") from exc
            data = b""
            if piece:
                yield piece
