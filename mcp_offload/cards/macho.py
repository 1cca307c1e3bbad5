"""Cards of Mach-O files, thin and universal.

Source: Apple, ``mach-o/loader.h``, ``mach-o/fat.h`` and ``mach-o/nlist.h``.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Final

from mcp_offload.cards.elf import MAX_SYMBOLS, add_needed, add_undefined
from mcp_offload.cards.model import DamagedError, Draft, Entry, clean, count_text, size_text
from mcp_offload.cards.source import Bounded
from mcp_offload.handle import BytesSelector

_THIN: Final = {
    b"\xce\xfa\xed\xfe": ("<", 32),
    b"\xcf\xfa\xed\xfe": ("<", 64),
    b"\xfe\xed\xfa\xce": (">", 32),
    b"\xfe\xed\xfa\xcf": (">", 64),
}
MAGIC: Final = tuple(_THIN)
_CPUS: Final = {7: "x86", 12: "ARM", 18: "PowerPC", 0x1000007: "x86-64", 0x100000C: "AArch64"}
_TYPES: Final = {
    1: "object file",
    2: "executable",
    4: "core dump",
    6: "shared library",
    7: "dynamic linker",
    8: "bundle",
    10: "debug symbols",
}
_LIBRARIES: Final = frozenset((0xC, 0x80000018, 0x8000001F, 0x20, 0x80000023))
_ID_LIBRARY, _SEGMENT, _SYMTAB, _SEGMENT64, _UUID, _RPATH = 0xD, 0x1, 0x2, 0x19, 0x1B, 0x8000001C
_MAX_COMMANDS: Final = 4_096
_MAX_COMMAND_BYTES: Final = 4 << 20
_ZERO_FILL: Final = frozenset((1, 12, 18))


def read_fat(source: Bounded, name: str, draft: Draft) -> None:
    """The architectures of a universal file."""
    del name
    draft.format = "mach-o universal"
    count = int.from_bytes(source.exactly(4, 4), "big")
    archs: list[str] = []
    for index in range(min(count, 64)):
        cpu, _, offset, size, _ = unpack_from(">5I", source.exactly(8 + 20 * index, 20))
        archs.append(_CPUS.get(cpu, f"CPU {cpu}"))
        draft.add(
            Entry("architecture", archs[-1], size_text(size), str(size), BytesSelector(offset, offset + size))
        )
    draft.facts.update(type="universal binary", arch=", ".join(archs))
    draft.summary = f"universal binary: {', '.join(archs)}"


def read_macho(source: Bounded, name: str, draft: Draft) -> None:
    """Type, architecture, sections, libraries, undefined symbols and UUID."""
    del name
    draft.format = "mach-o"
    order, bits = _THIN[source.exactly(0, 4)]
    _, cpu, _, kind, count, size, flags = unpack_from(f"{order}7I", source.exactly(0, 28))
    told = _TYPES.get(kind, f"file of type {kind}")
    draft.facts.update(type=told, arch=_CPUS.get(cpu, f"CPU {cpu}"), bits=bits)
    if kind == 2 and flags & 0x200000:
        told = draft.facts["type"] = "executable (PIE)"
    draft.summary = f"{told}, {draft.facts['arch']} {bits}-bit"
    if size > _MAX_COMMAND_BYTES or count > _MAX_COMMANDS:
        raise DamagedError("its load commands are too many to be true")
    start = 32 if bits == 64 else 28
    _commands(source, draft, order, source.exactly(start, size), count)


def _commands(source: Bounded, draft: Draft, order: str, commands: bytes, count: int) -> None:
    needed: list[str] = []
    symtab: tuple[int, ...] | None = None
    sections = at = 0
    for _ in range(count):
        kind, size = unpack_from(f"{order}2I", commands, at)
        if size < 8 or at + size > len(commands):
            raise DamagedError("a load command is broken")
        body = commands[at : at + size]
        if kind in (_SEGMENT, _SEGMENT64):
            sections += _segment(draft, order, body, wide=kind == _SEGMENT64)
        elif kind in _LIBRARIES:
            needed.append(_string(order, body))
        elif kind == _ID_LIBRARY:
            draft.facts["soname"] = _string(order, body)
        elif kind == _RPATH:
            draft.facts["rpath"] = _string(order, body)
        elif kind == _UUID:
            draft.facts["build_id"] = body[8:24].hex()
        elif kind == _SYMTAB:
            symtab = unpack_from(f"{order}4I", body, 8)
        at += size
    draft.facts["sections"] = sections
    draft.summary += f", {count_text(sections, 'section')}"
    add_needed(draft, needed)
    if symtab is not None:
        _symbols(source, draft, order, symtab)


def _segment(draft: Draft, order: str, body: bytes, *, wide: bool) -> int:
    """Add a segment's sections and return how many there are."""
    at, step = (72, 80) if wide else (56, 68)
    (count,) = unpack_from(f"{order}I", body, 64 if wide else 48)
    for index in range(min(count, (len(body) - at) // step)):
        row = body[at + index * step : at + (index + 1) * step]
        name = ".".join(_padded(part) for part in (row[16:32], row[:16]))
        size, offset = unpack_from(f"{order}QI", row, 40) if wide else unpack_from(f"{order}2I", row, 36)
        (flags,) = unpack_from(f"{order}I", row, 64 if wide else 56)
        in_file = size and flags & 0xFF not in _ZERO_FILL
        selector = BytesSelector(offset, offset + size) if in_file else None
        draft.add(Entry("section", clean(name), size_text(size), str(size), selector))
    return int(count)


def _symbols(source: Bounded, draft: Draft, order: str, symtab: tuple[int, ...]) -> None:
    """Undefined external symbols; debugger entries (stabs) tell whether it is stripped."""
    offset, count, strings, strings_size = symtab
    step = 16 if draft.facts["bits"] == 64 else 12
    kept = min(count, MAX_SYMBOLS)
    if kept < count:
        draft.note(f"Only the first {MAX_SYMBOLS:,} of {count:,} symbols were looked at.")
    rows = source.exactly(offset, kept * step)
    table = source.read(strings, strings + min(strings_size, 16 << 20))
    names: set[str] = set()
    local = debug = False
    for at in range(0, len(rows), step):
        index, kind, _, _ = unpack_from(f"{order}I2BH", rows, at)
        debug = debug or bool(kind & 0xE0)
        local = local or not kind & 0xE1
        if not kind & 0xE0 and kind & 0x0E == 0 and kind & 0x01:
            end = table.find(b"\x00", index)
            names.add(clean(table[index : end if end >= 0 else index].decode("utf-8", "replace")))
    draft.facts.update(stripped=not (local or debug), debug_info=debug)
    draft.summary += ", not stripped" if local or debug else ", stripped"
    add_undefined(draft, sorted(names - {""}))


def _string(order: str, body: bytes) -> str:
    (offset,) = unpack_from(f"{order}I", body, 8)
    return clean(body[offset:].partition(b"\x00")[0].decode("utf-8", "replace"))


def _padded(field: bytes) -> str:
    return field.rstrip(b"\x00").decode("utf-8", "replace")
