"""Cards of archives, and their members as streams: zip and its kin, tar, ar, and single packed files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mcp_offload.cards.model import (
    DamagedError,
    Draft,
    Entry,
    LimitReachedError,
    clean,
    count_text,
    member_name,
    size_text,
)
from mcp_offload.cards.packed import LISTED_BYTES, MEMBER_BYTES, inner_name, packing_of, unpacked
from mcp_offload.cards.source import Bounded
from mcp_offload.cards.tars import PackedStream, PlainStream, Stream, is_tar, tar_content, tar_members
from mcp_offload.cards.zips import METHODS, zip_content, zip_members
from mcp_offload.handle import BytesSelector, SymbolSelector

BOMB_RATIO: Final = 1_000
BOMB_BYTES: Final = 1 << 30
_ZIP_KINDS: Final = {
    ".whl": "wheel",
    ".jar": "jar",
    ".war": "war",
    ".ear": "ear",
    ".aar": "aar",
    ".apk": "apk",
    ".nupkg": "nuget package",
    ".egg": "egg",
    ".docx": "docx",
    ".xlsx": "xlsx",
}


@dataclass(slots=True)
class _Totals:
    """What the members add up to, and how often each name occurred so far."""

    members: int = 0
    size_bytes: int = 0
    packed_bytes: int = 0
    seen: dict[str, int] = field(default_factory=dict[str, int])

    def selector(self, name: str) -> SymbolSelector:
        """What names this member: its name, with a rank where the archive holds several of that name."""
        self.seen[name] = self.seen.get(name, 0) + 1
        return SymbolSelector((name,), ordinal=self.seen[name])


# --- cards --------------------------------------------------------------------------------------


def read_zip(source: Bounded, name: str, draft: Draft) -> None:
    """Members with sizes; never unpacks."""
    suffix = "." + name.lower().rpartition(".")[2]
    draft.format = _ZIP_KINDS.get(suffix, "zip")
    totals, encrypted = _Totals(), 0
    try:
        for member in zip_members(source):
            if member.directory:
                continue
            totals.members += 1
            totals.size_bytes += member.size_bytes
            totals.packed_bytes += member.packed_bytes
            encrypted += member.encrypted
            detail = size_text(member.size_bytes)
            if member.encrypted:
                detail += " encrypted"
            elif member.method not in (0, 8, 12):
                detail += f" {METHODS.get(member.method, 'unknown method')}"
            selector = totals.selector(member.name)
            draft.add(Entry("member", member.name, detail, f"{member.size_bytes} {member.crc:08x}", selector))
    finally:
        _summarise(draft, totals)
        if encrypted:
            draft.facts["encrypted"] = encrypted
            draft.note(f"{count_text(encrypted, 'member')} encrypted: listed, not readable.")


def read_tar(source: Bounded, name: str, draft: Draft) -> None:
    """Members with sizes; a packed tar is unpacked on the fly to find them, up to a limit."""
    del name
    packing = packing_of(source.read(0, 16))
    draft.format = f"tar ({packing})" if packing else "tar"
    totals = _Totals(packed_bytes=source.size_bytes if packing else 0)
    try:
        for member in tar_members(_stream(source, LISTED_BYTES)):
            if member.kind == "directory":
                continue
            if member.kind != "file":
                draft.add(Entry(member.kind, member.name, f"-> {member.target}", member.target))
                continue
            totals.members += 1
            totals.size_bytes += member.size_bytes
            selector = totals.selector(member.name)
            draft.add(
                Entry("member", member.name, size_text(member.size_bytes), str(member.size_bytes), selector)
            )
    finally:
        _summarise(draft, totals)


def read_packed(source: Bounded, name: str, draft: Draft) -> None:
    """A packed tar, or one packed file, which is unpacked to learn its size."""
    packing = packing_of(source.read(0, 16)) or "gzip"
    if is_tar(_first_block(source, packing)):
        read_tar(source, name, draft)
        return
    draft.format = packing
    inner, size = member_name(inner_name(name)), 0
    totals = _Totals(members=1, packed_bytes=source.size_bytes)
    try:
        for piece in unpacked(source, packing, LISTED_BYTES):
            size += len(piece)
    finally:
        totals.size_bytes = size
        draft.add(Entry("member", inner, size_text(size), str(size), SymbolSelector((inner,))))
        _summarise(draft, totals)


def read_ar(source: Bounded, name: str, draft: Draft) -> None:
    """Members of a static library or Debian package."""
    del name
    draft.format = "ar"
    totals = _Totals()
    try:
        for member, start, size in _ar_members(source):
            totals.members += 1
            totals.size_bytes += size
            end = BytesSelector(start, start + size)
            draft.add(Entry("member", member, size_text(size), str(size), end))
    finally:
        _summarise(draft, totals)


def _summarise(draft: Draft, totals: _Totals) -> None:
    draft.facts["members"] = totals.members
    draft.facts["unpacked_bytes"] = totals.size_bytes
    draft.summary = f"{count_text(totals.members, 'member')}, {size_text(totals.size_bytes)} unpacked"
    if totals.packed_bytes:
        draft.facts["packed_bytes"] = totals.packed_bytes
        ratio = totals.size_bytes / totals.packed_bytes
        if ratio > BOMB_RATIO and totals.size_bytes > BOMB_BYTES:
            draft.note(f"It claims to unpack to {ratio:,.0f} times its size: do not unpack it.")


def _first_block(source: Bounded, packing: str) -> bytes:
    try:
        return PackedStream(source, packing, LISTED_BYTES).take(512)
    except DamagedError:
        return b""


def _stream(source: Bounded, limit_bytes: int) -> Stream:
    packing = packing_of(source.read(0, 16))
    return PackedStream(source, packing, limit_bytes) if packing else PlainStream(source)


def _ar_members(source: Bounded) -> Iterator[tuple[str, int, int]]:
    """Name, first byte and size of each member.

    Source: ar(5), the common, System V and BSD variants.
    """
    at, names = 8, b""
    while at + 60 <= source.size_bytes:
        header = source.exactly(at, 60)
        size_field = header[48:58].strip()
        if header[58:] != b"`\n" or not size_field.isdigit():
            raise DamagedError(f"its header at byte {at} is broken")
        size, start = int(size_field), at + 60
        at = start + size + size % 2
        raw = header[:16].rstrip()
        if raw == b"//":
            names = source.exactly(start, size)
        if raw in (b"/", b"//", b"/SYM64/") or raw.startswith(b"__.SYMDEF"):
            continue
        if raw.startswith(b"/") and raw[1:].isdigit():
            raw = names[int(raw[1:]) :].partition(b"\n")[0]
        elif raw.startswith(b"#1/") and raw[3:].isdigit():
            length = min(int(raw[3:]), size)
            raw = source.exactly(start, length).rstrip(b"\x00")
            start, size = start + length, size - length
        if start + size > source.size_bytes:
            raise DamagedError("it ends inside a member")
        yield clean(raw.removesuffix(b"/").decode("utf-8", "replace")), start, size


# --- members ------------------------------------------------------------------------------------


def zip_member(source: Bounded, name: str, ordinal: int, file_name: str) -> Iterator[bytes] | None:
    """The bytes of the ``ordinal``-th member of that name, or None where there is none.

    Raises:
        DamagedError, LimitReachedError: while it is read, too.
    """
    del file_name
    for member in zip_members(source):
        if member.name == name and not member.directory:
            ordinal -= 1
            if ordinal == 0:
                return zip_content(source, member)
    return None


def tar_member(source: Bounded, name: str, ordinal: int, file_name: str) -> Iterator[bytes] | None:
    """As :func:`zip_member`; links are not followed."""
    del file_name
    stream = _stream(source, LISTED_BYTES + MEMBER_BYTES)
    for member in tar_members(stream):
        if member.name == name and member.kind == "file":
            ordinal -= 1
            if ordinal == 0:
                return _bounded(tar_content(stream, member))
    return None


def packed_member(source: Bounded, name: str, ordinal: int, file_name: str) -> Iterator[bytes] | None:
    """As :func:`zip_member`, of a packed tar or the one packed file."""
    packing = packing_of(source.read(0, 16)) or "gzip"
    if is_tar(_first_block(source, packing)):
        return tar_member(source, name, ordinal, file_name)
    if name != member_name(inner_name(file_name)) or ordinal != 1:
        return None
    return unpacked(source, packing, MEMBER_BYTES)


def _bounded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    left = MEMBER_BYTES
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise LimitReachedError(f"it has more than {MEMBER_BYTES >> 20} MiB")
        yield piece
