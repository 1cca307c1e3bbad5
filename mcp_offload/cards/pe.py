"""Cards of Windows programs and libraries, read by pefile where the extra is installed.

Source: Microsoft PE and COFF specification, "COFF File Header", for the header.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from mcp_offload.cards.elf import MISSING, add_needed, add_undefined
from mcp_offload.cards.model import DamagedError, Draft, Entry, clean, count_text, size_text
from mcp_offload.cards.source import Bounded
from mcp_offload.handle import BytesSelector

#: Larger ones are described by their header alone, since pefile wants the whole file in memory.
PARSED_BYTES: Final = 64 << 20
_MACHINES: Final = {0x14C: "x86", 0x8664: "x86-64", 0x1C0: "ARM", 0x1C4: "ARM", 0xAA64: "AArch64"}
_DIRECTORIES: Final = (1, 6)  # imports, debug
_SUBSYSTEMS: Final = {1: "native", 2: "windows", 3: "console", 10: "EFI application", 11: "EFI driver"}
_EXECUTE, _READ, _WRITE = 0x20000000, 0x40000000, 0x80000000


def is_pe(source: Bounded) -> bool:
    """True where the DOS header leads to a PE header."""
    offset = int.from_bytes(source.read(0x3C, 0x40), "little")
    return source.read(offset, offset + 4) == b"PE\x00\x00"


def read_pe(source: Bounded, name: str, draft: Draft) -> None:
    """Type, architecture, sections, imported libraries and functions."""
    del name
    draft.format = "pe"
    _header(source, draft)
    if source.size_bytes > PARSED_BYTES:
        draft.note(f"Sections of files above {PARSED_BYTES >> 20} MiB are not looked at.")
        return
    try:
        pefile = import_module("pefile")
    except ImportError:
        draft.note(MISSING)
        return
    try:
        pe = pefile.PE(data=source.read(0, source.size_bytes), fast_load=True)
        _sections(pe, draft)
        pe.parse_data_directories(directories=list(_DIRECTORIES))
        _imports(pe, draft)
    except pefile.PEFormatError as exc:
        raise DamagedError("its tables are broken or cut off") from exc


def _header(source: Bounded, draft: Draft) -> None:
    offset = int.from_bytes(source.exactly(0x3C, 4), "little")
    head = source.exactly(offset, 26)
    machine, flags = int.from_bytes(head[4:6], "little"), int.from_bytes(head[22:24], "little")
    bits = 64 if head[24:26] == b"\x0b\x02" else 32
    kind = "library (DLL)" if flags & 0x2000 else "executable"
    draft.facts.update(type=kind, arch=_MACHINES.get(machine, f"machine {machine:#x}"), bits=bits)
    draft.summary = f"{kind}, {draft.facts['arch']} {bits}-bit"


def _sections(pe: Any, draft: Draft) -> None:
    draft.facts.update(
        sections=len(pe.sections),
        entry_point=f"{pe.OPTIONAL_HEADER.AddressOfEntryPoint:#x}",
        stripped=not pe.FILE_HEADER.PointerToSymbolTable,
        subsystem=_SUBSYSTEMS.get(pe.OPTIONAL_HEADER.Subsystem, str(pe.OPTIONAL_HEADER.Subsystem)),
    )
    draft.summary += f", {draft.facts['subsystem']}, {count_text(len(pe.sections), 'section')}"
    for section in pe.sections:
        size, offset, flags = section.SizeOfRawData, section.PointerToRawData, section.Characteristics
        marks = "".join(mark for bit, mark in ((_READ, "r"), (_WRITE, "w"), (_EXECUTE, "x")) if flags & bit)
        name = clean(section.Name.rstrip(b"\x00").decode("utf-8", "replace"))
        selector = BytesSelector(offset, offset + size) if size else None
        draft.add(Entry("section", name, f"{size_text(size)} {marks}", str(size), selector))


def _imports(pe: Any, draft: Draft) -> None:
    libraries: list[str] = []
    names: list[str] = []
    for library in getattr(pe, "DIRECTORY_ENTRY_IMPORT", []):
        libraries.append(clean(library.dll.decode("utf-8", "replace")))
        for symbol in library.imports:
            told = symbol.name.decode("utf-8", "replace") if symbol.name else f"#{symbol.ordinal}"
            names.append(clean(f"{libraries[-1]}!{told}"))
    add_needed(draft, libraries)
    add_undefined(draft, names)
    for entry in getattr(pe, "DIRECTORY_ENTRY_DEBUG", []):
        if getattr(entry.entry, "Signature_String", None):
            draft.facts["build_id"] = clean(str(entry.entry.Signature_String))
            draft.facts["debug_info"] = True
