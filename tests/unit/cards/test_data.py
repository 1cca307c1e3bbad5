"""Images, databases, tables, source maps and compilation databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.cards import tables
from mcp_offload.cards.build import open_member
from mcp_offload.handle import LinesSelector, SymbolSelector
from mcp_offload.models import SilentMonitor
from tests.unit.cards import samples
from tests.unit.cards.samples import DATA, Bytes, card, make_sqlite


@pytest.mark.parametrize(
    ("data", "kind", "width", "height"),
    [
        (samples.make_png(), "PNG", 640, 480),
        (samples.make_jpeg(), "JPEG", 400, 300),
        (samples.make_gif(), "GIF", 12, 34),
        (samples.make_bmp(), "BMP", 7, 9),
        (samples.make_webp("VP8X"), "WebP", 100, 50),
        (samples.make_webp("VP8L"), "WebP", 100, 50),
        (samples.make_webp("VP8 "), "WebP", 100, 50),
    ],
)
def test_an_image_has_a_type_and_dimensions(data: bytes, kind: str, width: int, height: int) -> None:
    made = card(data, "picture", binary=True)
    assert made.notes == ()
    assert (made.facts["type"], made.facts["width"], made.facts["height"]) == (kind, width, height)
    assert made.summary.startswith(f"{kind}, {width} x {height} pixels")


@pytest.mark.parametrize("stored_as_file", [True, False])
@pytest.mark.parametrize("wal", [True, False])
def test_a_database_has_tables_with_columns_and_rows(tmp_path: Path, stored_as_file: bool, wal: bool) -> None:
    path = tmp_path / "a b?#%.db"
    data = make_sqlite(path, wal=wal)
    path.chmod(0o400)
    made = card(data, "a.db", binary=True, path=str(path) if stored_as_file else None)
    assert made.notes == ()
    assert [(e.kind, e.name, e.detail) for e in made.entries] == [
        ("table", 'odd "name', "(x) 0 rows"),
        ("table", "users", "(id INTEGER, name TEXT, photo BLOB) 3 rows"),
        ("view", "names", "(name TEXT)"),
    ]
    assert (made.facts["tables"], made.facts["views"], made.facts["indexes"]) == (2, 1, 1)
    assert made.facts["user_version"] == 7
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_reads_as_its_definition_and_rows(tmp_path: Path) -> None:
    data = make_sqlite(tmp_path / "a.db")
    pieces = open_member(Bytes(data), "sqlite", "users", 1, "a.db", SilentMonitor())
    assert pieces is not None
    assert b"".join(pieces).decode() == (
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, photo BLOB);\n"
        "id,name,photo\n1,ann,<2 bytes>\n2,bob,\n3,eve,<0 bytes>\n"
    )
    assert open_member(Bytes(data), "sqlite", "nobody", 1, "a.db", SilentMonitor()) is None


def test_a_damaged_database_says_so(tmp_path: Path) -> None:
    data = make_sqlite(tmp_path / "a.db")
    made = card(data[:100] + b"\xff" * (len(data) - 100), "a.db", binary=True)
    assert made.notes == ("It is damaged: it is damaged, encrypted or no database at all.",)


def test_a_csv_file_has_columns_rows_and_samples() -> None:
    data = b'id;name;when\n1;"a;b";2024\n2;"two\nlines";\n\n3;c;1.5\n'
    made = card(data, "t.csv", binary=False)
    assert (made.facts["rows"], made.facts["columns"], made.facts["delimiter"]) == (3, 3, ";")
    assert [(e.name, e.detail) for e in made.entries if e.kind == "column"] == [
        ("id", "integer"),
        ("name", "text"),
        ("when", "integer or empty or number"),
    ]
    rows = [entry for entry in made.entries if entry.kind == "row"]
    assert [entry.selector for entry in rows] == [
        LinesSelector(2, 2),
        LinesSelector(3, 4),
        LinesSelector(6, 6),
    ]
    assert rows[1].detail == "2, two\ufffdlines,"


def test_tabs_separate_by_name() -> None:
    assert card(b"a,b\tc\n1\t2\n", "t.tsv", binary=False).facts["columns"] == 2


def test_rows_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_PARSED_BYTES", 1_000)
    made = card(b"a,b\n" + b"1,2\n" * 1_000, "t.csv", binary=False)
    assert made.facts["rows"] == 249
    assert "counted in the first" in made.notes[0]
    assert made.facts["partial"] is True
    assert made.summary.endswith(", as far as read")


def test_json_lines_have_a_schema() -> None:
    data = b'{"a": 1, "b": "x"}\n{"a": null, "c": [1]}\n\nnot json\n[1]\n'
    made = card(data, "t.jsonl", binary=False)
    assert made.facts["rows"] == 4
    assert made.facts["malformed_rows"] == 1
    assert [(e.name, e.detail) for e in made.entries if e.kind == "column"] == [
        ("a", "integer or null"),
        ("b", "string"),
        ("c", "array"),
        ("value", "array"),
    ]


def test_a_parquet_file_is_told_from_its_footer() -> None:
    made = card((DATA / "people.parquet").read_bytes(), "people.parquet", binary=True)
    assert (made.facts["rows"], made.facts["columns"], made.facts["row_groups"]) == (3, 5, 1)
    assert "parquet-cpp" in str(made.facts["built_by"])
    assert [(e.name, e.detail) for e in made.entries] == [
        ("id", "int64 optional"),
        ("name", "string optional"),
        ("pos.x", "double optional"),
        ("pos.y", "double optional"),
        ("tags.list.element", "string optional"),
    ]


def test_a_source_map_lists_sources_and_gives_those_embedded() -> None:
    data = samples.make_source_map()
    made = card(data, "app.js.map", binary=False)
    assert (made.facts["sources"], made.facts["sources_bytes"]) == (2, 20)
    assert [(e.name, e.detail, e.selector) for e in made.entries] == [
        ("webpack:/src/a.ts", "20 B", SymbolSelector(("webpack:/src/a.ts",))),
        ("webpack:/src/b.ts", "not embedded", None),
    ]
    pieces = open_member(Bytes(data), "source map", "webpack:/src/a.ts", 1, "app.js.map", SilentMonitor())
    assert pieces is not None
    assert b"".join(pieces) == b"export const a = 1;\n"


def test_compile_commands_share_flags() -> None:
    data = b"""[
 {"directory": "/b", "file": "a.c", "command": "/usr/bin/gcc -O2 -Wall -DX=1 -c a.c"},
 {"directory": "/b", "file": "b.cc", "arguments": ["g++", "-O2", "-std=c++20", "-c", "b.cc"]},
 {"directory": "/b", "file": "a.c", "command": "gcc -O2 'unclosed"}
]"""
    made = card(data, "build/compile_commands.json", binary=False)
    assert (made.facts["commands"], made.facts["files"]) == (3, 2)
    assert made.facts["compilers"] == {"gcc": 2, "g++": 1}
    assert made.summary == "3 commands for 2 files, gcc, g++; all with -O2"
    assert [(e.name, e.selector) for e in made.entries] == [
        ("a.c", LinesSelector(2, 2)),
        ("b.cc", LinesSelector(3, 3)),
        ("a.c", LinesSelector(4, 4)),
    ]
