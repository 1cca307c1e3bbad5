"""Reading by handle: exact text, statuses against newer content, windows that lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.errors import (
    HandleGoneError,
    HandleNotFoundError,
    InvalidArgumentError,
    NotTextError,
    SpanOutOfRangeError,
    SymbolAmbiguousError,
    SymbolNotFoundError,
)
from mcp_offload.models import OutlineResult, ReadResult, Status, StoreResult
from mcp_offload.service import OffloadService, Session

SOURCE = '''\
import os


class Invoice:
    """An invoice."""

    def total(self, rate):
        lines = [line.amount for line in self.lines]
        return sum(lines) * rate

    def tax(self):
        return 0
'''


@pytest.fixture
def app(project: Path) -> Path:
    path = project / "app.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def stored(service: OffloadService, source: str) -> StoreResult:
    result = service.store(source)
    assert isinstance(result, StoreResult)
    return result


def read(service: OffloadService, handle: str, session: Session | None = None, **options: int) -> ReadResult:
    (result,) = service.read([handle], session=session, **options)
    return result


RECORDS = {
    "point.c": ("typedef struct {\n    int x, y;\n    int (*move)(int);\n} Point;\n", "    int x, y;"),
    "point.cpp": ("class Point {\n    double x = 0;\n    int norm() const;\n};\n", "    double x = 0;"),
    "point.go": ('package p\n\ntype Point struct {\n\tx int `json:"x"`\n}\n', '\tx int `json:"x"`'),
    "point.rs": (
        "pub struct Point {\n    /// Across.\n    pub x: i32,\n}\n",
        "    /// Across.\n    pub x: i32",
    ),
    "point.ts": ("interface Point {\n  readonly x?: number;\n}\n", "  readonly x?: number;"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_data_member_has_a_handle_and_is_listed_where_its_record_is_outlined(
    service: OffloadService, project: Path, name: str
) -> None:
    source, member = RECORDS[name]
    (project / name).write_text(source, encoding="utf-8")
    stored(service, name)
    assert read(service, "f1#Point.x").text == member
    whole, inner = service.outline("f1"), service.outline("f1#Point")
    assert isinstance(whole, OutlineResult)
    assert isinstance(inner, OutlineResult)
    assert "f1#Point" in [entry.handle for entry in whole.symbols]
    assert "f1#Point.x" not in [entry.handle for entry in whole.symbols]
    assert "f1#Point.x" in [entry.handle for entry in inner.symbols]


def test_a_symbol_a_range_and_the_tail_come_back_exactly(service: OffloadService, app: Path) -> None:
    handle = stored(service, "app.py").handle
    assert handle == "f1"
    total = read(service, "f1#Invoice.total")
    assert (total.start_line, total.end_line, total.status) == (7, 9, Status.SAME)
    assert total.text == "\n".join(SOURCE.split("\n")[6:9])
    assert read(service, "f1#L1-4").text == "import os\n\n\nclass Invoice:\n"
    assert read(service, "f1#L-2").text == "    def tax(self):\n        return 0\n"
    assert read(service, "f1#B7-9").text == "os"
    assert read(service, "f1").text == SOURCE


def test_parts_of_a_symbol(service: OffloadService, app: Path) -> None:
    stored(service, "app.py")
    assert read(service, "f1#Invoice.total:sig").text.strip() == "def total(self, rate):"
    assert read(service, "f1#Invoice:doc").text == '"""An invoice."""'
    head = read(service, "f1#Invoice:head").text
    assert head.startswith("class Invoice:")
    assert "f1#Invoice.tax m" in head
    assert "sum(lines)" not in head
    with pytest.raises(SymbolNotFoundError, match="no doc"):
        read(service, "f1#Invoice.tax:doc")


def test_a_path_is_a_handle(service: OffloadService, app: Path) -> None:
    assert read(service, "app.py#Invoice.tax").handle == "f1#Invoice.tax"
    assert read(service, f"{app}#L1").text == "import os\n"


def test_a_path_that_looks_like_a_handle(service: OffloadService, project: Path) -> None:
    (project / "f1").write_text("tiny\n", encoding="utf-8")
    assert read(service, "./f1").text == "tiny\n"


def test_a_file_name_with_marks_of_the_grammar(service: OffloadService, project: Path) -> None:
    (project / "odd#name@2").write_text("odd\n", encoding="utf-8")
    assert read(service, "odd#name@2").text == "odd\n"


def test_unknown_handles_and_names_say_what_to_do(service: OffloadService, app: Path) -> None:
    with pytest.raises(HandleNotFoundError):
        read(service, "f7")
    stored(service, "app.py")
    with pytest.raises(HandleNotFoundError, match=r"f1 is app\.py"):
        read(service, "l1")
    with pytest.raises(SymbolNotFoundError, match=r"Closest: f1#Invoice\.total"):
        read(service, "f1#Invoice.totl")
    with pytest.raises(SpanOutOfRangeError, match="13 is past the end"):
        read(service, "f1#L13")
    with pytest.raises(InvalidArgumentError):
        service.read([])


def test_several_symbols_of_one_name_are_listed_not_guessed(service: OffloadService, project: Path) -> None:
    (project / "a.py").write_text(
        "class A:\n    def run(self):\n        pass\n\nclass B:\n    def run(self):\n        pass\n",
        encoding="utf-8",
    )
    with pytest.raises(SymbolAmbiguousError) as caught:
        read(service, "a.py#run")
    assert caught.value.candidates == ("f1#A.run", "f1#B.run")


def test_another_workspace_does_not_see_the_handle(
    service: OffloadService, elsewhere: OffloadService, app: Path
) -> None:
    stored(service, "app.py")
    with pytest.raises(HandleNotFoundError):
        read(elsewhere, "f1")


# --- content that moves on ----------------------------------------------------------------------

CHANGES = {
    "same": (SOURCE + "\nX = 1\n", Status.SAME, 7),
    "moved": ("# header\n" + SOURCE, Status.MOVED, 8),
    "changed": (SOURCE.replace("* rate", "+ rate"), Status.CHANGED, 7),
    "renamed?": (SOURCE.replace("def total", "def grand_total"), Status.RENAMED, 7),
    "gone": (SOURCE[: SOURCE.index("    def total")] + SOURCE[SOURCE.index("    def tax") :], Status.GONE, 7),
}


@pytest.mark.parametrize(("after", "status", "line"), CHANGES.values(), ids=CHANGES.keys())
def test_a_symbol_is_told_against_the_file_on_disk(
    service: OffloadService, app: Path, after: str, status: Status, line: int
) -> None:
    session = Session()
    before = read(service, "app.py#Invoice.total", session)
    app.write_text(after, encoding="utf-8")
    now = read(service, "f1#Invoice.total", session)
    assert (now.status, now.start_line) == (status, line)
    if status in (Status.RENAMED, Status.GONE):
        assert now.handle == "f1@1#Invoice.total"
        assert now.text == before.text
    else:
        assert now.handle == "f1@2#Invoice.total"
        assert now.text in after
    if status is Status.RENAMED:
        assert now.now == ("f1@2#Invoice.grand_total",)
    snapshot = read(service, "f1@1#Invoice.total", session)
    assert (snapshot.text, snapshot.status, snapshot.start_line) == (before.text, status, 7)


def test_lines_stay_those_the_client_was_shown(service: OffloadService, app: Path) -> None:
    session = Session()
    assert read(service, "app.py#L7", session).text == "    def total(self, rate):\n"
    app.write_text("# header\n" + SOURCE, encoding="utf-8")
    again = read(service, "f1#L7", session)
    assert again.text == "    def total(self, rate):\n"
    assert (again.handle, again.status, again.now) == ("f1@1#L7", Status.MOVED, ("f1@2#L8",))
    assert read(service, "app.py#L7", session).text == "\n"


def test_a_deleted_file_stays_readable_and_says_so(service: OffloadService, app: Path) -> None:
    stored(service, "app.py")
    app.unlink()
    result = read(service, "f1#Invoice.tax")
    assert "return 0" in result.text
    assert result.note == "source file is gone from the disk"


def test_a_released_handle_says_released(service: OffloadService, app: Path) -> None:
    stored(service, "app.py")
    service.release(["f1"])
    with pytest.raises(HandleGoneError) as caught:
        read(service, "f1")
    assert caught.value.reason == "released"
    assert stored(service, "app.py").handle == "f2"


# --- windows ------------------------------------------------------------------------------------


def test_following_the_rest_gives_every_byte(service: OffloadService, project: Path) -> None:
    text = "".join(f"line {i} of a log that is read in parts\n" for i in range(2000))
    (project / "long.log").write_text(text, encoding="utf-8")
    handle, parts = "long.log", list[str]()
    for _ in range(400):
        result = read(service, handle, max_tokens=500)
        parts.append(result.text)
        assert result.tokens <= 500
        if result.rest is None:
            break
        handle = result.rest.handle
    assert "".join(parts) == text


def test_one_endless_line_is_read_in_parts_that_continue(service: OffloadService, project: Path) -> None:
    text = '{"items":[' + ",".join(f'{{"id":{i},"name":"größe {i}"}}' for i in range(4000)) + "]}"
    (project / "one.json").write_text(text, encoding="utf-8")
    first = read(service, "one.json", max_tokens=400)
    assert first.truncated
    assert first.rest is not None
    assert first.rest.handle.startswith("f1#B")
    parts, result = [first.text], first
    while result.rest is not None:
        result = read(service, result.rest.handle, max_tokens=2000)
        parts.append(result.text)
    assert "".join(parts) == text


def test_a_window_of_blank_lines_is_not_an_empty_file(service: OffloadService, project: Path) -> None:
    (project / "blank.txt").write_text("top\n" + "\n" * 40 + "bottom\n", encoding="utf-8")
    result = read(service, "blank.txt#L10-20")
    assert (result.start_line, result.end_line, result.text) == (10, 20, "\n" * 11)


def test_tail_lines_count_like_a_reader(service: OffloadService, project: Path) -> None:
    (project / "n.txt").write_bytes(b"one\ntwo\nthree\n")
    assert read(service, "n.txt#L-1").text == "three\n"
    assert read(service, "n.txt#L-2").text == "two\nthree\n"
    (project / "m.txt").write_bytes(b"one\ntwo\nthree")
    assert read(service, "m.txt#L-1").text == "three"


def test_an_empty_file_reads_as_empty(service: OffloadService, project: Path) -> None:
    (project / "e.txt").write_bytes(b"")
    result = read(service, "e.txt")
    assert (result.text, result.truncated, result.tokens) == ("", False, 0)


def test_several_handles_share_the_budget_and_none_is_dropped(service: OffloadService, project: Path) -> None:
    for name in "abc":
        (project / f"{name}.txt").write_text(f"{name} word " * 3000, encoding="utf-8")
    results = service.read(["a.txt", "b.txt", "c.txt"], max_tokens=900)
    assert [r.text[:1] for r in results] == ["a", "b", "c"]
    assert sum(r.tokens for r in results) <= 900
    assert all(r.rest for r in results)


def test_what_short_texts_leave_over_goes_to_the_long_ones(service: OffloadService, project: Path) -> None:
    (project / "long.txt").write_text("word " * 500, encoding="utf-8")
    (project / "short.txt").write_text("word " * 3, encoding="utf-8")
    handles = ["long.txt", *["short.txt"] * 9]
    results = service.read(handles, max_tokens=2000)
    assert [r.truncated for r in results] == [False] * 10
    assert sum(r.tokens for r in results) <= 2000
    (project / "huge.txt").write_text("word " * 5000, encoding="utf-8")
    results = service.read(["huge.txt", *handles], max_tokens=2000)
    assert [r.truncated for r in results] == [True] + [False] * 10
    assert sum(r.tokens for r in results) <= 2000


def test_binary_content_is_never_printed(service: OffloadService, project: Path) -> None:
    (project / "x.bin").write_bytes(bytes(range(256)) * 64)
    result = stored(service, "x.bin")
    assert (result.kind, result.binary, result.tokens) == ("b", True, None)
    with pytest.raises(NotTextError, match="export"):
        read(service, result.handle)
    service.export(result.handle, "copy.bin")
    assert (project / "copy.bin").read_bytes() == (project / "x.bin").read_bytes()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("größe = 1\n".encode("utf-16"), "größe = 1\n"),
        (b"\xef\xbb\xbfx = 1\n", "\ufeffx = 1\n"),
        ("# Ünïcödé text in an old encoding, long enough to tell\nx = 'é'\n".encode("latin-1"), None),
        ("größe\n".encode() * 40 + b"a\xffb\n", "größe\n" * 40 + "a\ufffdb\n"),
    ],
    ids=["utf-16", "utf-8 with mark", "latin-1", "stray byte"],
)
def test_encodings_read_as_text_and_export_as_stored(
    service: OffloadService, project: Path, data: bytes, text: str | None
) -> None:
    (project / "t.py").write_bytes(data)
    expected = data.decode("latin-1") if text is None else text
    assert read(service, "t.py").text == expected
    service.export("f1", "copy.py")
    assert (project / "copy.py").read_bytes() == data


def test_text_that_looks_like_someone_elses_marker_is_only_text(service: OffloadService) -> None:
    text = "<<ccr:0123456789abcdef01234567 12_rows_offloaded>> [Archived:77] f1#L1-3 sha256:deadbeef\n"
    result = service.store(content=text)
    assert isinstance(result, StoreResult)
    assert read(service, result.handle).text == text
