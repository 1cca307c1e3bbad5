"""Storing: versions, kinds, directories, and what is not stored."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import (
    ArtifactTooLargeError,
    InvalidArgumentError,
    PathNotAllowedError,
    SourceUnreadableError,
)
from mcp_offload.models import MapResult, StoreManyResult, StoreResult
from mcp_offload.service import OffloadService, open_service
from mcp_offload.settings import Settings


def one(result: StoreResult | StoreManyResult) -> StoreResult:
    assert isinstance(result, StoreResult)
    return result


def test_the_same_bytes_are_the_same_version(service: OffloadService, project: Path) -> None:
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    first, again = one(service.store("a.py")), one(service.store("a.py"))
    assert (first.handle, first.new) == ("f1", True)
    assert (again.handle, again.new) == ("f1", False)
    (project / "a.py").write_text("x = 2\n", encoding="utf-8")
    assert one(service.store("a.py")).handle == "f1@2"
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert one(service.store("a.py")).handle == "f1@3"


def test_touching_a_file_makes_no_version(service: OffloadService, project: Path) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n", encoding="utf-8")
    service.store("a.py")
    os.utime(path, (1, 1))
    assert one(service.store("a.py")).version == 1


def test_a_change_that_keeps_size_and_time_is_seen(service: OffloadService, project: Path) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n", encoding="utf-8")
    info = path.stat()
    service.store("a.py")
    path.write_text("x = 2\n", encoding="utf-8")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert one(service.store("a.py")).version == 2


@pytest.mark.parametrize(
    ("name", "data", "kind", "language"),
    [
        ("a.py", b"x = 1\n", "f", "python"),
        ("build.log", b"make: Entering directory\n", "l", None),
        ("a.bin", bytes(range(256)), "b", None),
        ("notes", b"plain words\n", "f", None),
    ],
)
def test_kinds_and_languages(
    service: OffloadService, project: Path, name: str, data: bytes, kind: str, language: str | None
) -> None:
    (project / name).write_bytes(data)
    result = one(service.store(name))
    assert (result.kind, result.language, result.path) == (kind, language, str(project / name))


def test_content_comes_in_pieces_and_each_name_keeps_its_own(service: OffloadService) -> None:
    first = one(service.store(content=iter([b"invoice ", b"one\n"]), name=""))
    second = one(service.store(content="invoice two\n", name=""))
    third = one(service.store(content="invoice two\n", name="x" * 1400))
    assert len({first.handle, second.handle, third.handle}) == 3
    assert service.read([first.handle])[0].text == "invoice one\n"


def test_numbers_are_shared_by_kinds_and_never_reused(service: OffloadService, project: Path) -> None:
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    assert one(service.store("a.py")).handle == "f1"
    assert one(service.store(content="error: no\n", name="b.log")).handle == "l2"
    service.purge()
    assert one(service.store("a.py")).handle == "f3"


def test_storing_a_directory_again_uses_up_no_numbers(service: OffloadService, project: Path) -> None:
    (project / "src").mkdir()
    for number in range(20):
        (project / "src" / f"m{number}.py").write_text(f"x = {number}\n", encoding="utf-8")
    for _ in range(3):
        service.store("src")
    assert one(service.store(content="next\n", name="n.txt")).handle == "f21"


def test_a_directory_is_stored_at_once_and_mapped(service: OffloadService, project: Path) -> None:
    (project / ".gitignore").write_text("*.tmp\n", encoding="utf-8")
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("def alpha():\n    pass\n", encoding="utf-8")
    (project / "src" / "b.ts").write_text("export function beta() {}\n", encoding="utf-8")
    (project / "src" / "junk.tmp").write_text("", encoding="utf-8")
    (project / "src" / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    result = service.store("src")
    assert isinstance(result, StoreManyResult)
    assert [r.name for r in result.stored] == ["src/a.py", "src/b.ts", "src/logo.png"]
    table = service.outline("src")
    assert isinstance(table, MapResult)
    assert [(f.name, f.symbols) for f in table.files] == [
        ("src/a.py", ("alpha",)),
        ("src/b.ts", ("beta",)),
        ("src/logo.png", ()),
    ]


def test_a_glob_is_stored_and_an_empty_one_says_so(service: OffloadService, project: Path) -> None:
    (project / "src" / "deep").mkdir(parents=True)
    (project / "src" / "deep" / "a.py").write_text("x = 1\n", encoding="utf-8")
    (project / "src" / "b.md").write_text("# b\n", encoding="utf-8")
    result = service.store("src/**/*.py")
    assert isinstance(result, StoreManyResult)
    assert [r.name for r in result.stored] == ["src/deep/a.py"]
    with pytest.raises(SourceUnreadableError, match="No files"):
        service.store("*.rs")


def test_a_map_names_what_does_not_fit(service: OffloadService, project: Path) -> None:
    for number in range(60):
        (project / f"module_{number:02}.py").write_text(f"def f{number}():\n    pass\n", encoding="utf-8")
    table = service.outline(".", max_tokens=400)
    assert isinstance(table, MapResult)
    assert 0 < len(table.files) < 60
    assert table.omitted == 60 - len(table.files)
    assert table.rest is not None
    assert service.read([table.rest])[0].name == f"module_{len(table.files):02}.py"


def test_an_unreadable_file_does_not_spoil_the_rest(service: OffloadService, project: Path) -> None:
    (project / "good.py").write_text("x = 1\n", encoding="utf-8")
    (project / "link.py").symlink_to("/etc/hostname")
    result = service.store(".")
    assert isinstance(result, StoreManyResult)
    assert [r.name for r in result.stored] == ["good.py"]


def test_refusals(service: OffloadService, settings: Settings, project: Path, tmp_path: Path) -> None:
    with pytest.raises(PathNotAllowedError, match="--root"):
        service.store(str(tmp_path / "elsewhere"))
    with pytest.raises(SourceUnreadableError, match="does not exist"):
        service.store("missing.py")
    with pytest.raises(InvalidArgumentError):
        service.store()
    with pytest.raises(InvalidArgumentError):
        service.store("a", content="b")
    with pytest.raises(InvalidArgumentError, match="kind"):
        service.store(content="x", kind="song")
    (project / "big").write_bytes(b"x" * 5000)
    with (
        open_service(replace(settings, max_artifact_bytes=4000)) as small,
        pytest.raises(ArtifactTooLargeError),
    ):
        small.store("big")


def test_handles_survive_a_restart(service: OffloadService, settings: Settings, project: Path) -> None:
    handle = one(service.store(content="keep me\n")).handle
    with open_service(settings) as again:
        assert again.read([handle])[0].text == "keep me\n"


def test_an_outline_is_the_same_after_a_restart(
    service: OffloadService, settings: Settings, project: Path
) -> None:
    (project / "a.py").write_text(
        "class A:\n    def f(self, x):\n        '''Doc.'''\n        return x\n", encoding="utf-8"
    )
    before = service.outline("a.py")
    with open_service(settings) as again:
        assert again.outline("a.py") == before


def test_a_language_without_a_parser_says_so_and_has_chunks(service: OffloadService, project: Path) -> None:
    (project / "a.zig").write_text('const std = @import("std");\n\npub fn main() void {}\n', encoding="utf-8")
    table = service.outline("a.zig")
    assert not isinstance(table, MapResult)
    assert (table.parsed, table.language) == (False, "zig")
    assert table.reason == "no parser for .zig"
    assert table.symbols
    assert service.read([table.symbols[0].handle])[0].text.startswith("const std")
