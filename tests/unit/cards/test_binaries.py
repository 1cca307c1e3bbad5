"""ELF, PE and Mach-O: facts, sections by their bytes, libraries and undefined symbols."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_offload.cards.build import card_of
from mcp_offload.cards.elf import MISSING
from mcp_offload.cards.model import Card
from mcp_offload.handle import BytesSelector
from mcp_offload.models import SilentMonitor
from tests.unit.cards.samples import DATA, Bytes, card, make_macho, make_pe

OBJECT = (DATA / "add.o").read_bytes()


def named(made: Card, kind: str) -> list[str]:
    return [entry.name for entry in made.entries if entry.kind == kind]


def bytes_of(made: Card, name: str, data: bytes) -> bytes:
    (selector,) = (entry.selector for entry in made.entries if entry.name == name)
    assert isinstance(selector, BytesSelector)
    return data[selector.start : selector.end]


def test_an_object_file() -> None:
    made = card(OBJECT, "add.o", binary=True)
    assert made.facts["type"] == "object file"
    assert (made.facts["arch"], made.facts["bits"]) == ("x86-64", 64)
    assert made.facts["stripped"] is False
    assert made.facts["debug_info"] is False
    assert made.facts["undefined"] == ("puts",)
    assert named(made, "undefined") == ["puts"]
    assert bytes_of(made, ".rodata.str1.1", OBJECT) == b"add\0"


def test_an_elf_file_without_the_extra_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elftools.elf.elffile", None)
    made = card(OBJECT, "add.o", binary=True)
    assert made.summary == "object file, x86-64 64-bit"
    assert made.notes == (MISSING,)


@pytest.mark.process
def test_a_shared_library_and_a_program_as_linked_here(tmp_path: Path) -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no gcc")
    library, program = tmp_path / "libadd.so", tmp_path / "app"
    main = tmp_path / "main.c"
    main.write_text("int add(int, int);\nint main(void) { return add(1, 2); }\n", encoding="utf-8")
    build_id = "-Wl,--build-id=0x0123456789abcdef"
    shared = [
        gcc,
        "-shared",
        "-fPIC",
        "-g",
        "-Wl,-soname,libadd.so.1",
        build_id,
        DATA / "add.c",
        "-o",
        library,
    ]
    subprocess.run(shared, check=True)
    subprocess.run([gcc, "-s", main, library, "-Wl,-rpath,/opt/lib", "-o", program], check=True)
    made = card(library.read_bytes(), "libadd.so", binary=True)
    assert made.facts["type"] == "shared library"
    assert made.facts["soname"] == "libadd.so.1"
    assert made.facts["build_id"] == "0123456789abcdef"
    assert (made.facts["stripped"], made.facts["debug_info"]) == (False, True)
    linked = card(program.read_bytes(), "app", binary=True)
    assert str(linked.facts["type"]).startswith("executable")
    assert linked.facts["stripped"] is True
    assert linked.facts["rpath"] == "/opt/lib"
    assert "libadd.so.1" in named(linked, "library")
    assert "add" in named(linked, "undefined")


def test_a_windows_program() -> None:
    data = make_pe()
    made = card(data, "app.exe", binary=True)
    assert made.notes == ()
    assert (made.facts["type"], made.facts["arch"], made.facts["bits"]) == ("executable", "x86-64", 64)
    assert made.facts["subsystem"] == "console"
    assert made.facts["needed"] == ("KERNEL32.dll",)
    assert named(made, "undefined") == ["KERNEL32.dll!ExitProcess", "KERNEL32.dll!WriteFile"]
    assert b"KERNEL32.dll" in bytes_of(made, ".rdata", data)


def test_a_windows_program_without_the_extra_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pefile", None)
    made = card(make_pe(), "app.exe", binary=True)
    assert made.summary == "executable, x86-64 64-bit"
    assert made.notes == (MISSING,)


def test_a_dos_program_is_no_windows_program() -> None:
    made = card(b"MZ" + b"\0" * 100, "old.exe", binary=True)
    assert (made.format, made.facts["type"]) == ("binary", "MS-DOS program")


def test_a_mac_program() -> None:
    data = make_macho()
    made = card(data, "app", binary=True)
    assert (made.facts["type"], made.facts["arch"]) == ("executable (PIE)", "AArch64")
    assert made.facts["needed"] == ("/usr/lib/libSystem.B.dylib", "/usr/lib/libz.dylib")
    assert made.facts["build_id"] == bytes(range(16)).hex()
    assert made.facts["undefined"] == ("_puts",)
    assert made.facts["stripped"] is True
    assert len(bytes_of(made, "__TEXT.__text", data)) == 8


def test_a_universal_program_lists_its_architectures() -> None:
    rows = struct.pack(">5I", 0x1000007, 3, 4096, 100, 12) + struct.pack(">5I", 0x100000C, 0, 8192, 200, 14)
    made = card(struct.pack(">2I", 0xCAFEBABE, 2) + rows, "app", binary=True)
    assert made.facts["arch"] == "x86-64, AArch64"
    assert [entry.selector for entry in made.entries] == [
        BytesSelector(4096, 4196),
        BytesSelector(8192, 8392),
    ]


def test_a_java_class_is_no_universal_program() -> None:
    made = card(b"\xca\xfe\xba\xbe\0\0\0\x34" + b"\0" * 50, "A.class", binary=True)
    assert made.facts["type"] == "Java class"
    assert made.facts["java_version"] == 8


@pytest.mark.parametrize("data", [b"\x7fELF", b"\x7fELF" + b"\xff" * 200, OBJECT[:100]])
def test_a_broken_elf_file_keeps_what_its_header_says(data: bytes) -> None:
    made = card_of(Bytes(data), "elf", "x.o", SilentMonitor())
    assert any("damaged" in note for note in made.notes)


def test_unknown_bytes_have_a_type_by_magic() -> None:
    assert card(b"\x00asm\x01\0\0\0", "a.wasm", binary=True).facts["type"] == "WebAssembly module"
    assert card(b"\x01\x02\x03\x04", "blob", binary=True).facts["type"] == "unknown type"
