"""Tar archives, plain or packed, read forward in one pass.

Source: POSIX pax, IEEE Std 1003.1; GNU tar manual, "Basic Tar Format".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from mcp_offload.cards.model import DamagedError, LimitReachedError, clean, member_name
from mcp_offload.cards.packed import unpacked
from mcp_offload.cards.source import CHUNK_BYTES, Bounded

BLOCK_BYTES: Final = 512
MAX_HEADERS: Final = 500_000
#: The most an extended header may take.
_EXTENDED_BYTES: Final = 1 << 20
_FILES: Final = frozenset((b"0", b"\x00", b"7"))
_EXTENDED: Final = frozenset((b"x", b"g", b"L", b"K"))
_KINDS: Final = {b"1": "link", b"2": "link", b"3": "device", b"4": "device", b"5": "directory", b"6": "fifo"}


@dataclass(frozen=True, slots=True)
class TarMember:
    """One member of a tar archive.

    Attributes:
        kind: file, link, directory, device or fifo.
        offset: of its bytes in the (unpacked) archive.
        target: what a link points to.
    """

    name: str
    kind: str
    size_bytes: int
    offset: int
    target: str = ""


class Stream(Protocol):
    """Bytes that are read forward."""

    @property
    def position(self) -> int:
        """How many were taken or passed over."""
        ...

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        ...

    def skip(self, size: int) -> bool:
        """Pass over bytes; False where the end came before."""
        ...


class PlainStream:
    """The bytes of a source."""

    def __init__(self, source: Bounded) -> None:
        self._source = source
        self.position = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        data = self._source.read(self.position, self.position + size)
        self.position += len(data)
        return data

    def skip(self, size: int) -> bool:
        """Pass over bytes; False where the end came before."""
        self.position += size
        return self.position <= self._source.size_bytes


class PackedStream:
    """The unpacked bytes of a source."""

    def __init__(self, source: Bounded, packing: str, limit_bytes: int) -> None:
        self._pieces = unpacked(source, packing, limit_bytes)
        self._piece = b""
        self._at: int = 0
        self.position = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        taken: list[bytes] = []
        while size > 0 and self._more():
            part = self._piece[self._at : self._at + size]
            self._at += len(part)
            self.position += len(part)
            size -= len(part)
            taken.append(part)
        return b"".join(taken)

    def skip(self, size: int) -> bool:
        """Pass over bytes; False where the end came before."""
        while size > 0 and self._more():
            part = min(size, len(self._piece) - self._at)
            self._at += part
            self.position += part
            size -= part
        return size <= 0

    def _more(self) -> bool:
        if self._at >= len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
        return bool(self._piece)


def is_tar(head: bytes) -> bool:
    """True where the first block is a tar header with the right checksum."""
    return len(head) >= BLOCK_BYTES and any(head[:BLOCK_BYTES]) and _checksum_fits(head[:BLOCK_BYTES])


def tar_members(stream: Stream) -> Iterator[TarMember]:
    """All members in order; the stream stands at a member's bytes when it is yielded, which may be taken.

    Raises:
        DamagedError: a header is broken or the archive ends early.
        LimitReachedError: there are too many.
    """
    extra = _Extra()
    for _ in range(MAX_HEADERS):
        block = stream.take(BLOCK_BYTES)
        if not block:
            raise DamagedError("it ends without an end mark, so it may be cut off")
        if not any(block):
            # One block of zeros ends it; writers put two.
            return
        if len(block) < BLOCK_BYTES or not _checksum_fits(block):
            raise DamagedError(f"its header at byte {stream.position - len(block)} is broken or cut off")
        if block[156:157] in _EXTENDED:
            _extended(stream, block[156:157], _number(block[124:136]), extra)
            continue
        member = _member(block, extra, stream.position)
        yield member
        padded = -(-member.size_bytes // BLOCK_BYTES) * BLOCK_BYTES
        if not stream.skip(member.offset + padded - stream.position):
            raise DamagedError(f"it ends inside {member.name}")
        extra = _Extra()
    raise LimitReachedError(f"it has more than {MAX_HEADERS:,} members")


def tar_content(stream: Stream, member: TarMember) -> Iterator[bytes]:
    """The bytes of the member the stream stands at.

    Raises:
        DamagedError: the archive ends before they do.
    """
    left = member.size_bytes
    while left > 0:
        piece = stream.take(min(left, CHUNK_BYTES))
        if not piece:
            raise DamagedError("the archive ends inside it")
        left -= len(piece)
        yield piece


@dataclass(slots=True)
class _Extra:
    """What extended headers say about the member that follows them."""

    name: str = ""
    target: str = ""
    size: int | None = None


def _member(block: bytes, extra: _Extra, offset: int) -> TarMember:
    flag = block[156:157]
    kind = "file" if flag in _FILES else _KINDS.get(flag, "file")
    size = _number(block[124:136]) if extra.size is None else extra.size
    name = extra.name or _name(block)
    if flag == b"\x00" and name.endswith("/"):
        kind = "directory"
    target = extra.target or _text(block[157:257])
    return TarMember(member_name(name), kind, size if kind == "file" else 0, offset, clean(target))


def _extended(stream: Stream, flag: bytes, size: int, extra: _Extra) -> None:
    """Read an extended header's data, of which only names and sizes matter here."""
    if size > _EXTENDED_BYTES:
        raise DamagedError(f"an extended header of {size} bytes is too large to be one")
    data = stream.take(size)
    stream.skip(-size % BLOCK_BYTES)
    if flag == b"L":
        extra.name = _text(data)
    elif flag == b"K":
        extra.target = _text(data)
    elif flag == b"x":
        for key, value in _records(data):
            if key == b"path":
                extra.name = _text(value)
            elif key == b"linkpath":
                extra.target = _text(value)
            elif key == b"size" and value.isdigit() and len(value) < 19:
                extra.size = int(value)


def _records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The ``length key=value`` records of a pax header."""
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + 12)
        length = data[at:space] if space > 0 else b""
        if not length.isdigit() or int(length) < 5:
            return
        key, _, value = data[space + 1 : at + int(length) - 1].partition(b"=")
        yield key, value
        at += int(length)


def _name(block: bytes) -> str:
    name = _text(block[:100])
    # POSIX and old GNU headers differ behind the magic; only the former have a prefix.
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\x00" else ""
    return f"{prefix}/{name}" if prefix else name


def _text(field: bytes) -> str:
    return field.partition(b"\x00")[0].decode("utf-8", "replace")


def _number(field: bytes) -> int:
    """Octal, or base 256 where the first bit is set."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else 0
    digits = field.strip(b" \x00")
    if digits.translate(None, b"01234567"):
        raise DamagedError("a number in a header is not octal")
    return int(digits or b"0", 8)


def _checksum_fits(block: bytes) -> bool:
    digits = block[148:156].strip(b" \x00")
    if not digits or digits.translate(None, b"01234567"):
        return False
    return sum(block) - sum(block[148:156]) + 8 * 0x20 == int(digits, 8)
