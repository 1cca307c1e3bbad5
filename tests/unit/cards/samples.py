"""Small inputs of every format, made here but for a Parquet file and an ELF object."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

from mcp_offload.cards.build import card_of
from mcp_offload.cards.detect import HEAD_BYTES, format_of
from mcp_offload.cards.model import Card
from mcp_offload.models import SilentMonitor

DATA = Path(__file__).parent / "data"
FILES = {"pkg/__init__.py": b"", "pkg/mod.py": b"def f():\n    return 1\n", "README": b"hello\n" * 100}


class Bytes:
    """A source of bytes in memory, with a file of them where one is given."""

    def __init__(self, data: bytes, path: str | None = None) -> None:
        self._data = data
        self.size_bytes = len(data)
        self.path = path

    def read(self, start: int, end: int) -> bytes:
        return self._data[start:end]


def card(data: bytes, name: str, *, binary: bool, path: str | None = None) -> Card:
    key = format_of(name, data[:HEAD_BYTES], binary=binary)
    assert key is not None
    return card_of(Bytes(data, path), key, name, SilentMonitor())


def make_zip(files: dict[str, bytes] | None = None, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("empty/", b"")
        for name, data in (FILES if files is None else files).items():
            archive.writestr(name, data)
    return out.getvalue()


def make_tar(mode: str = "w", form: int = tarfile.PAX_FORMAT, files: dict[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        folder = tarfile.TarInfo("pkg")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in (FILES if files is None else files).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("latest")
        link.type, link.linkname = tarfile.SYMTYPE, "README"
        archive.addfile(link)
    return out.getvalue()


def make_ar() -> bytes:
    def row(name: bytes, data: bytes) -> bytes:
        return (
            b"%-16s%-12d%-6d%-6d%-8d%-10d`\n" % (name, 0, 0, 0, 644, len(data))
            + data
            + b"\n" * (len(data) % 2)
        )

    long_name = b"a_name_longer_than_the_field.o/\n"
    return (
        b"!<arch>\n"
        + row(b"/", b"\0" * 4)
        + row(b"//", long_name)
        + row(b"a.o/", b"AAAAA")
        + row(b"/0", b"BB")
    )


def make_png(width: int = 640, height: int = 480) -> bytes:
    ihdr = b"IHDR" + struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + ihdr + struct.pack(">I", zlib.crc32(ihdr)) + b"\0" * 16
    )


def make_jpeg() -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9
    frame = b"\xff\xc2" + struct.pack(">HB2HB", 17, 8, 300, 400, 3) + b"\0" * 9
    return b"\xff\xd8" + app + b"\xff\xff" + frame[1:] + b"\xff\xd9"


def make_gif() -> bytes:
    return b"GIF89a" + struct.pack("<2HB", 12, 34, 0xF7) + b"\0" * 8


def make_webp(kind: str = "VP8X") -> bytes:
    body = {
        "VP8X": b"VP8X"
        + struct.pack("<I", 10)
        + b"\0" * 4
        + (99).to_bytes(3, "little")
        + (49).to_bytes(3, "little"),
        "VP8L": b"VP8L" + struct.pack("<I", 10) + b"\x2f" + (99 | 49 << 14).to_bytes(4, "little") + b"\0" * 5,
        "VP8 ": b"VP8 " + struct.pack("<I", 10) + b"\0\0\0\x9d\x01\x2a" + struct.pack("<2H", 100, 50),
    }[kind]
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def make_bmp() -> bytes:
    return b"BM" + struct.pack("<IHHI", 70, 0, 0, 54) + struct.pack("<IiiHH", 40, 7, -9, 1, 24) + b"\0" * 24


def make_sqlite(path: Path, *, wal: bool = False) -> bytes:
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    if wal:
        db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, photo BLOB)")
    db.execute('CREATE TABLE "odd ""name" (x)')
    db.execute("CREATE INDEX by_name ON users (name)")
    db.execute("CREATE VIEW names AS SELECT name FROM users")
    db.executemany(
        "INSERT INTO users (name, photo) VALUES (?, ?)", [("ann", b"\0\1"), ("bob", None), ("eve", b"")]
    )
    db.execute("PRAGMA user_version = 7")
    db.commit()
    db.close()
    return path.read_bytes()


def make_macho() -> bytes:
    """A 64-bit executable: one section, two libraries, a UUID, a defined and an undefined symbol."""

    def string_command(kind: int, text: bytes) -> bytes:
        text += b"\0" * (-len(text) % 8)
        return struct.pack("<6I", kind, 24 + len(text), 24, 0, 0, 0) + text

    section = struct.pack("<16s16s2Q8I", b"__text", b"__TEXT", 0, 8, 512, 0, 0, 0, 0, 0, 0, 0)
    segment = struct.pack("<2I16s4Q4I", 0x19, 72 + len(section), b"__TEXT", 0, 0, 0, 0, 0, 0, 1, 0) + section
    uuid = struct.pack("<2I", 0x1B, 24) + bytes(range(16))
    libraries = string_command(0xC, b"/usr/lib/libSystem.B.dylib\0") + string_command(
        0xC, b"/usr/lib/libz.dylib\0"
    )
    symtab = struct.pack("<6I", 2, 24, 1024, 2, 1088, 32)
    commands = segment + uuid + libraries + symtab
    header = struct.pack("<4s7I", b"\xcf\xfa\xed\xfe", 0x100000C, 0, 2, 5, len(commands), 0x200000, 0)
    symbols = struct.pack("<I2BHQ", 1, 0x0F, 1, 0, 0) + struct.pack("<I2BHQ", 7, 0x01, 0, 0, 0)
    whole = (header + commands).ljust(1024, b"\0") + symbols
    return whole.ljust(1088, b"\0") + b"\0_main\0_puts\0".ljust(32, b"\0")


def make_pe() -> bytes:
    """A 64-bit console program: one section, which holds imports of two functions of one library."""
    rva, raw = 0x1000, 0x200
    names = {"ExitProcess": 0x80, "WriteFile": 0xA0}
    section = bytearray(0x200)
    struct.pack_into("<5I", section, 0, rva + 0x40, 0, 0, rva + 0xC0, rva + 0x60)
    for index, (name, at) in enumerate(names.items()):
        struct.pack_into("<Q", section, 0x40 + 8 * index, rva + at)
        struct.pack_into("<Q", section, 0x60 + 8 * index, rva + at)
        section[at + 2 : at + 2 + len(name)] = name.encode()
    section[0xC0:0xCC] = b"KERNEL32.dll"
    coff = b"PE\0\0" + struct.pack("<2H3I2H", 0x8664, 1, 0, 0, 0, 240, 0x22)
    optional = struct.pack("<H2B5IQ2I", 0x20B, 14, 0, 0x200, 0, 0, rva, rva, 0x140000000, 0x1000, 0x200)
    optional += struct.pack(
        "<6H4I2H4Q2I", 6, 0, 0, 0, 6, 0, 0, 0x2000, 0x200, 0, 3, 0, 1 << 20, 4096, 1 << 20, 4096, 0, 16
    )
    optional += struct.pack("<4I", 0, 0, rva, 0x28) + b"\0" * 112
    table = struct.pack("<8s6I2HI", b".rdata", 0x200, rva, 0x200, raw, 0, 0, 0, 0, 0x40000040)
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + coff + optional + table
    return head.ljust(raw, b"\0") + bytes(section)


def make_coverage_xml() -> bytes:
    return b"""<?xml version="1.0" ?>
<coverage version="7.6" line-rate="0.5" branch-rate="0.5">
<packages><package name="src"><classes>
<class name="app.py" filename="src/app.py" line-rate="0.4"><methods/><lines>
<line number="1" hits="1"/>
<line number="2" hits="3" branch="true" condition-coverage="50% (1/2)"/>
<line number="3" hits="0"/>
<line number="4" hits="0"/>
<line number="9" hits="0"/>
</lines></class>
<class name="ok.py" filename="src/ok.py" line-rate="1"><methods/>
<lines><line number="1" hits="2"/></lines></class>
</classes></package></packages></coverage>
"""


def make_coverage_json() -> bytes:
    report = {
        "meta": {"format": 3, "version": "7.6.1"},
        "files": {
            "src/app.py": {
                "executed_lines": [1, 2],
                "summary": {"num_branches": 4, "covered_branches": 3},
                "missing_lines": [3, 4, 9],
            },
        },
        "totals": {},
    }
    return json.dumps(report, indent=1).encode()


def make_source_map() -> bytes:
    return json.dumps(
        {
            "version": 3,
            "file": "app.js",
            "sourceRoot": "webpack://",
            "sources": ["src/a.ts", "src/b.ts"],
            "sourcesContent": ["export const a = 1;\n", None],
            "mappings": "AAAA",
        }
    ).encode()


def samples(folder: Path) -> list[tuple[str, bytes, bool]]:
    """Name, bytes, and whether it is binary, of one input for each reader."""
    tar = make_tar()
    return [
        ("a.zip", make_zip(), True),
        ("a.tar", tar, True),
        ("a.tar.gz", gzip.compress(tar, mtime=0), True),
        ("a.tar.bz2", bz2.compress(tar), True),
        ("a.tar.xz", lzma.compress(tar), True),
        ("blob.bin.gz", gzip.compress(bytes(range(256)) * 9, mtime=0), True),
        ("liba.a", make_ar(), True),
        ("a.png", make_png(), True),
        ("a.jpg", make_jpeg(), True),
        ("a.gif", make_gif(), True),
        ("a.webp", make_webp(), True),
        ("a.bmp", make_bmp(), True),
        ("a.db", make_sqlite(folder / "a.db"), True),
        ("people.parquet", (DATA / "people.parquet").read_bytes(), True),
        ("add.o", (DATA / "add.o").read_bytes(), True),
        ("app", make_macho(), True),
        ("app.exe", make_pe(), True),
        ("coverage.xml", make_coverage_xml(), False),
        ("coverage.json", make_coverage_json(), False),
        ("lcov.info", b"TN:\nSF:src/a.c\nDA:1,1\nDA:2,0\nBRDA:1,0,0,-\nend_of_record\n", False),
        ("app.js.map", make_source_map(), False),
        (
            "compile_commands.json",
            b'[{"file": "a.c", "command": "gcc -O2 -Wall -c a.c", "directory": "/"}]',
            False,
        ),
        ("package-lock.json", b'{"packages": {"": {}, "node_modules/a": {"version": "1.0.0"}}}', False),
        ("uv.lock", b'[[package]]\nname = "a"\nversion = "1"\n', False),
        ("yarn.lock", b'a@^1, a@^2:\n  version "2.1.0"\n', False),
        ("pnpm-lock.yaml", b"packages:\n\n  a@1.0.0:\n    x: y\n", False),
        ("go.sum", b"a.org/b v1.0.0 h1:x\n", False),
        ("requirements.txt", b"a==1\n", False),
        ("t.csv", b'a,b\n1,x\n2,"y\nz"\n', False),
        ("t.jsonl", b'{"a": 1}\n{"a": null, "b": [1]}\n', False),
    ]
