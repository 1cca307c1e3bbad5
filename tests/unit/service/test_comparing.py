"""Diffs by handle: versions, artifacts, parts, the file on disk, and what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.service import OffloadService, Session

BEFORE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef old():\n    return 3\n"
AFTER = "def one():\n    return 1\n\n\ndef two():\n    return 22\n\n\ndef new():\n    return 4\n"


@pytest.fixture
def app(service: OffloadService, project: Path) -> Path:
    path = project / "app.py"
    path.write_text(BEFORE, encoding="utf-8")
    service.store("app.py")
    return path


def test_a_snapshot_against_the_file_on_disk(service: OffloadService, app: Path) -> None:
    assert service.diff("f1").identical
    app.write_text(AFTER, encoding="utf-8")
    diff = service.diff("f1")
    assert (diff.before, diff.after, diff.identical) == ("f1@1", "f1@2", False)
    assert (diff.added_lines, diff.removed_lines) == (3, 3)
    assert "-    return 2\n+    return 22\n" in diff.text
    assert {(c.change, c.name, c.before, c.after) for c in diff.symbols} == {
        ("changed", "two", "f1@1#two", "f1@2#two"),
        ("added", "new", None, "f1@2#new"),
        ("removed", "old", "f1@1#old", None),
    }


def test_a_path_against_what_the_session_was_shown(service: OffloadService, app: Path) -> None:
    session = Session()
    service.read(["app.py"], session=session)
    app.write_text(AFTER, encoding="utf-8")
    service.store("app.py")
    assert service.diff("app.py", session=session).before == "f1@1"


def test_two_versions_and_two_symbols(service: OffloadService, app: Path) -> None:
    app.write_text("# moved down\n" + AFTER, encoding="utf-8")
    service.store("app.py")
    assert service.diff("f1@1", "f1@2").added_lines == 4
    part = service.diff("f1@1#two", "f1@2#two")
    assert part.text == (
        "@@ -5,2 +6,2 @@\n def two():\n-    return 2\n\\ No newline at end of file\n"
        "+    return 22\n\\ No newline at end of file\n"
    )
    assert service.diff("f1@1#one", "f1@2#one").identical


def test_two_artifacts(service: OffloadService, app: Path, project: Path) -> None:
    (project / "copy.py").write_text(BEFORE, encoding="utf-8")
    assert service.diff("app.py", "copy.py").identical


def test_binary_contents_are_compared_but_not_printed(service: OffloadService, project: Path) -> None:
    for name, tail in (("a.bin", b"1"), ("b.bin", b"2")):
        (project / name).write_bytes(bytes(range(256)) * 8 + tail)
    assert "differ" in service.diff("a.bin", "b.bin").text
    assert service.diff("a.bin", "a.bin").identical


def test_hunks_that_do_not_fit_are_stored_and_named(service: OffloadService, project: Path) -> None:
    lines = [f"line {i}" for i in range(2000)]
    (project / "long.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    service.store("long.txt")
    changed = [line + " changed" if i % 20 == 0 else line for i, line in enumerate(lines)]
    (project / "long.txt").write_text("\n".join(changed) + "\n", encoding="utf-8")
    diff = service.diff("long.txt@1", "long.txt", max_tokens=600)
    assert diff.truncated
    assert diff.rest is not None
    rest = service.read([diff.rest.handle], max_tokens=0)[0].text
    whole = diff.text + rest
    assert whole.count("\n@@ ") + 1 == 100
    assert [line for line in whole.split("\n") if line.startswith("+")] == [
        f"+line {i} changed" for i in range(0, 2000, 20)
    ]
