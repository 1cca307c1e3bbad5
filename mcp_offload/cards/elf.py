"""Cards of ELF files. Sections and symbols are read by pyelftools, where the extra is installed.

Source: System V ABI, chapters 4 and 5, for the header.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any, Final

from mcp_offload.cards.model import DamagedError, Draft, Entry, clean, count_text, size_text
from mcp_offload.cards.source import Bounded
from mcp_offload.handle import BytesSelector

#: Symbols and sections looked at in one file.
MAX_SYMBOLS: Final = 50_000
MAX_SECTIONS: Final = 4_096
LISTED_SYMBOLS: Final = 500
SHOWN_LIBRARIES: Final = 8
FACT_SYMBOLS: Final = 200
MISSING: Final = "Sections and libraries are not listed: install mcp-offload[artifacts]."
_TYPES: Final = {1: "object file", 2: "executable", 3: "shared library", 4: "core dump"}
_MACHINES: Final = {
    3: "x86",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC 64",
    22: "S390",
    40: "ARM",
    50: "Itanium",
    62: "x86-64",
    183: "AArch64",
    190: "CUDA",
    224: "AMD GPU",
    243: "RISC-V",
    247: "BPF",
    258: "LoongArch",
}
_DEBUG_SECTIONS: Final = frozenset((".debug_info", ".zdebug_info"))


def read_elf(source: Bounded, name: str, draft: Draft) -> None:
    """Type, architecture, sections, libraries, undefined symbols, build id, and whether it is stripped."""
    del name
    draft.format = "elf"
    _header(source, draft)
    try:
        elffile = import_module("elftools.elf.elffile")
        errors = import_module("elftools.common.exceptions")
        construct = import_module("elftools.construct.core")
    except ImportError:
        draft.note(MISSING)
        return
    # What pyelftools lets through of Python's own errors is caught with every other reader's.
    try:
        _read(elffile.ELFFile(source.file()), draft)
    except (errors.ELFError, construct.ConstructError) as exc:
        raise DamagedError("its tables are broken or cut off") from exc


def _header(source: Bounded, draft: Draft) -> None:
    head = source.exactly(0, 20)
    order = "big" if head[5] == 2 else "little"
    kind = _TYPES.get(int.from_bytes(head[16:18], order), "file of an unknown type")
    machine = int.from_bytes(head[18:20], order)
    bits = 64 if head[4] == 2 else 32
    draft.facts.update(type=kind, arch=_MACHINES.get(machine, f"machine {machine}"), bits=bits)
    draft.summary = f"{kind}, {draft.facts['arch']} {bits}-bit"


def _read(elf: Any, draft: Draft) -> None:
    sections: list[Any] = list(islice(elf.iter_sections(), MAX_SECTIONS))
    names = {str(section.name) for section in sections}
    _sections(sections, draft)
    static = ".symtab" in names
    debug = bool(names & _DEBUG_SECTIONS)
    draft.facts.update(stripped=not static, debug_info=debug)
    words = ["stripped" if not static else "not stripped"] + (["with debug info"] if debug else [])
    for section in sections:
        if section.name == ".interp" and section["sh_size"] < MAX_SECTIONS and not section.compressed:
            draft.facts["interpreter"] = _bytes_text(section.data())
            _set_type(draft, elf)
        elif section.name == ".note.gnu.build-id":
            _build_id(section, draft)
    draft.summary = ", ".join([draft.summary, count_text(len(sections), "section"), *words])
    for section in sections:
        if section["sh_type"] == "SHT_DYNAMIC":
            _dynamic(section, draft)
    wanted = "SHT_DYNSYM" if any(s["sh_type"] == "SHT_DYNSYM" for s in sections) else "SHT_SYMTAB"
    for section in sections:
        if section["sh_type"] == wanted:
            _undefined(section, draft)


def _set_type(draft: Draft, elf: Any) -> None:
    """A position-independent executable has the type of a library, but names an interpreter."""
    if elf["e_type"] == "ET_DYN":
        draft.summary = draft.summary.replace("shared library", "executable (PIE)", 1)
        draft.facts["type"] = "executable (PIE)"


def _sections(sections: list[Any], draft: Draft) -> None:
    draft.facts["sections"] = len(sections)
    for section in sections:
        size, offset, flags = int(section["sh_size"]), int(section["sh_offset"]), int(section["sh_flags"])
        if not section.name and not size:
            continue
        marks = "r" + ("w" if flags & 1 else "") + ("x" if flags & 4 else "") if flags & 2 else "not loaded"
        in_file = section["sh_type"] != "SHT_NOBITS" and size > 0
        selector = BytesSelector(offset, offset + size) if in_file else None
        name = clean(str(section.name))
        draft.add(Entry("section", name, f"{size_text(size)} {marks}", str(size), selector))


def _dynamic(section: Any, draft: Draft) -> None:
    needed: list[str] = []
    for tag in islice(section.iter_tags(), MAX_SECTIONS):
        match tag.entry.d_tag:
            case "DT_NEEDED":
                needed.append(clean(str(tag.needed)))
            case "DT_SONAME":
                draft.facts["soname"] = clean(str(tag.soname))
            case "DT_RPATH":
                draft.facts["rpath"] = clean(str(tag.rpath))
            case "DT_RUNPATH":
                draft.facts["rpath"] = clean(str(tag.runpath))
            case _:
                pass
    add_needed(draft, needed)


def add_needed(draft: Draft, needed: list[str]) -> None:
    """State the libraries that a binary needs."""
    draft.facts["needed"] = tuple(needed[:FACT_SYMBOLS])
    if needed:
        more = f" and {len(needed) - SHOWN_LIBRARIES} more" if len(needed) > SHOWN_LIBRARIES else ""
        draft.summary += f", needs {' '.join(needed[:SHOWN_LIBRARIES])}{more}"
    for library in needed:
        draft.add(Entry("library", library))


def add_undefined(draft: Draft, names: list[str]) -> None:
    """State the symbols that something else must define."""
    draft.facts["undefined_count"] = len(names)
    draft.facts["undefined"] = tuple(names[:FACT_SYMBOLS])
    draft.summary += f", {count_text(len(names), 'undefined symbol')}"
    for name in names[:LISTED_SYMBOLS]:
        draft.add(Entry("undefined", name))
    draft.unlisted += max(0, len(names) - LISTED_SYMBOLS)


def _build_id(section: Any, draft: Draft) -> None:
    for note in islice(section.iter_notes(), 8):
        if note["n_type"] == "NT_GNU_BUILD_ID":
            draft.facts["build_id"] = clean(str(note["n_desc"]))


def _undefined(section: Any, draft: Draft) -> None:
    count = int(section.num_symbols())
    if count > MAX_SYMBOLS:
        draft.note(f"Only the first {MAX_SYMBOLS:,} of {count:,} symbols were looked at.")
    names = sorted({name for name in _undefined_names(section, min(count, MAX_SYMBOLS)) if name})
    add_undefined(draft, names)


def _undefined_names(section: Any, count: int) -> Iterator[str]:
    for symbol in islice(section.iter_symbols(), count):
        if symbol["st_shndx"] == "SHN_UNDEF":
            yield clean(str(symbol.name))


def _bytes_text(raw: bytes) -> str:
    return clean(raw.partition(b"\x00")[0].decode("utf-8", "replace"))
