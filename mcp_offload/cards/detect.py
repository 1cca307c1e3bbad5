"""Which format an artifact has, by its first bytes and its name."""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.cards.images import image_type
from mcp_offload.cards.macho import MAGIC as MACHO_MAGIC
from mcp_offload.cards.names import MAY_BE_COVERAGE, base_name, is_lock
from mcp_offload.cards.packed import packing_of
from mcp_offload.cards.tars import is_tar

HEAD_BYTES: Final = 4096
#: A universal Mach-O file and a Java class start alike; no file has so many architectures.
_MOST_ARCHITECTURES: Final = 30

# Source: the formats' own specifications, as also listed by file(1).
_KNOWN: Final = (
    (b"\x00asm", "WebAssembly module"),
    (b"%PDF-", "PDF document"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x04\x22\x4d\x18", "lz4 data"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "rar archive"),
    (b"\xed\xab\xee\xdb", "RPM package"),
    (b"bplist0", "binary property list"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"OTTO", "OpenType font"),
    (b"\x00\x01\x00\x00\x00", "TrueType font"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"ARROW1\x00\x00", "Arrow file"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF\r\n", "HDF5 data"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", "OLE2 compound document"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"Microsoft C/C++ MSF 7.00", "Windows debug symbols (PDB)"),
    (b"gcno", "gcov notes"),
    (b"oncg", "gcov notes"),
    (b"gcda", "gcov counts"),
    (b"adcg", "gcov counts"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
)
_COVERAGE_HEAD: Final = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!DOCTYPE[^>]{0,300}>\s*)?(?:<!--[^>]{0,500}-->\s*){0,3}"
    rb"(?:<coverage\b[^>]{0,500}\b(?:line-rate|generated|branch-rate)\s*=|<report\b[^>]{0,200}>\s*<sessioninfo)"
    rb"|(?:TN:[^\n]*\n)?SF:[^\n]+\n|\s*\{\s*\"meta\"\s*:\s*\{\s*\"format\"\s*:\s*\d"
    rb"|\s*\{\s*\"[^\"]{1,1000}\"\s*:\s*\{\s*\"path\"\s*:\s*\"[^\"]{1,1000}\"\s*,\s*\"statementMap\""
)
_MAP_KEY: Final = re.compile(rb"\"(?:version\"\s*:\s*3\b|mappings\"|sources\"|sections\")")


def format_of(name: str, head: bytes, *, binary: bool) -> str | None:
    """The key of the reader for an artifact, or None for text that needs no card.

    Args:
        name: file name or path.
        head: the first :data:`HEAD_BYTES`.
        binary: True where the content is not text; that always has a card, if only ``unknown``.
    """
    if is_tar(head):
        return "tar"
    return _binary(head) if binary else _text(base_name(name).lower(), head)


def type_of(head: bytes) -> str:
    """What a binary without a reader is, as far as its first bytes tell."""
    for magic, told in _KNOWN:
        if head.startswith(magic):
            return told
    if head.startswith(b"\xca\xfe\xba\xbe"):
        return "Java class"
    if len(head) >= 12 and head[4:8] == b"ftyp":
        return "MP4 or QuickTime media"
    if head[2:4] == b"\r\n" and head[:1] and len(head) >= 16:
        return "Python bytecode"
    return "MS-DOS program" if head.startswith(b"MZ") else "unknown type"


def _binary(head: bytes) -> str:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if packing_of(head):
        return "packed"
    if head.startswith(b"\x7fELF"):
        return "elf"
    if head.startswith(b"MZ"):
        return "pe"
    if head.startswith(MACHO_MAGIC):
        return "macho"
    if head.startswith(b"\xca\xfe\xba\xbe") and int.from_bytes(head[4:8], "big") <= _MOST_ARCHITECTURES:
        return "fat"
    for magic, key in ((b"!<arch>\n", "ar"), (b"SQLite format 3\x00", "sqlite"), (b"PAR1", "parquet")):
        if head.startswith(magic):
            return key
    return "image" if image_type(head) else "unknown"


def _text(base: str, head: bytes) -> str | None:
    head = head.removeprefix(b"\xef\xbb\xbf")
    if MAY_BE_COVERAGE.match(base) and _COVERAGE_HEAD.match(head):
        return "coverage"
    if base.endswith(".map") and head.lstrip().startswith(b"{") and _MAP_KEY.search(head):
        return "source map"
    return _by_name(base)


def _by_name(base: str) -> str | None:
    if base == "compile_commands.json":
        return "compile commands"
    if is_lock(base):
        return "lock"
    if base.endswith((".csv", ".tsv", ".tab")):
        return "csv"
    return "json lines" if base.endswith((".jsonl", ".ndjson")) else None
