"""Editing, exporting and giving up from a shell."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.process


def test_an_edit_from_a_pipe_reaches_the_file(shell: Any) -> None:
    file = shell.project / "src" / "invoice.py"
    before = file.read_text()
    edited = shell.json("edit", "src/invoice.py#parse", stdin=b"def parse(text):\n    return None\n")
    assert (edited["version"], edited["path"]) == (2, str(file))
    assert edited["syntax_error_line"] is None
    assert file.read_text() == before.replace("Invoice(text.split())", "None")
    assert shell.json("read", "f1@1#parse")["text"].endswith("Invoice(text.split())")


def test_an_edit_takes_its_text_from_a_file_and_inserts(shell: Any) -> None:
    (shell.project / "new.txt").write_text("import math\n")
    file = shell.project / "src" / "invoice.py"
    before = file.read_text()
    shell.json("edit", "src/invoice.py#L1", "--before", "--from", "new.txt")
    assert file.read_text() == "import math\n" + before
    shell.json("edit", "src/invoice.py#L1", "--after", stdin=b"import os\n")
    assert file.read_text() == "import math\nimport os\n" + before


def test_no_write_leaves_the_file_alone(shell: Any) -> None:
    file = shell.project / "src" / "invoice.py"
    before = file.read_text()
    edited = shell.json("edit", "src/invoice.py#parse", "--no-write", stdin=b"pass\n")
    assert (edited["version"], edited["path"], file.read_text()) == (2, None, before)


def test_a_file_that_moved_on_is_a_conflict(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    file = shell.project / "src" / "invoice.py"
    file.write_text(file.read_text() + "\nx = 1\n")
    changed = file.read_text()
    said = shell.fails(1, "edit", "f1@1#parse", stdin=b"pass\n")
    assert said.startswith("mcp-offload: ")
    assert "f1@1" in said
    assert file.read_text() == changed


def test_new_text_from_outside_the_roots_is_refused(shell: Any) -> None:
    outside = shell.home / "key"
    outside.write_text("secret")
    said = shell.fails(1, "edit", "src/invoice.py#parse", "--from", str(outside))
    assert "outside the allowed roots" in said


def test_new_text_must_be_text(shell: Any) -> None:
    said = shell.fails(1, "edit", "src/invoice.py#parse", stdin=b"x = '\xff'\n")
    assert "not UTF-8 at byte 5" in said


def test_an_export_is_exact_and_replaces_only_by_force(shell: Any) -> None:
    data = bytes(range(256)) * 300
    shell.json("store", "-", "--name", "x.bin", "--kind", "build", stdin=data)
    exported = shell.json("export", "b1", "out.bin")
    target = shell.project / "out.bin"
    assert (exported["path"], exported["bytes"], target.read_bytes()) == (str(target), len(data), data)
    target.write_bytes(b"precious")
    assert "exists" in shell.fails(1, "export", "b1", "out.bin")
    assert target.read_bytes() == b"precious"
    shell.json("export", "b1", "out.bin", "--force")
    assert target.read_bytes() == data


def test_an_export_stays_inside_the_roots(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    assert "outside the allowed roots" in shell.fails(1, "export", "f1", str(shell.home / "x"))
    assert not (shell.home / "x").exists()
    shell.json("export", "f1", str(shell.home / "x"), "--root", str(shell.home))
    assert (shell.home / "x").exists()


def test_pins_releases_and_listings(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    shell.json("store", "-", "--name", "a.log", stdin=b"a\n")
    shell.json("pin", "f1")
    listed = shell.json("list")
    assert {entry["handle"]: entry["pinned"] for entry in listed["artifacts"]} == {"f1": True, "l2": False}
    assert listed["total"] == 2
    assert [entry["handle"] for entry in shell.json("list", "--kind", "log")["artifacts"]] == ["l2"]
    assert [entry["handle"] for entry in shell.json("list", "invoice")["artifacts"]] == ["f1"]
    assert len(shell.json("list", "--limit", "1")["artifacts"]) == 1
    shell.json("unpin", "f1")
    assert shell.json("release", "f1")["handles"] == ["f1"]
    assert "released" in shell.fails(1, "read", "f1@1")
    assert [entry["handle"] for entry in shell.json("list")["artifacts"]] == ["l2"]


def test_purging_never_gives_a_number_again(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    shell.text("purge")
    assert shell.json("list")["total"] == 0
    assert shell.json("store", "src/invoice.py")["handle"] == "f2"


def test_purging_spares_other_workspaces_unless_told(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    shell.json("store", "src/invoice.py", "--workspace", "other")
    shell.text("purge")
    assert shell.json("list", "--workspace", "other")["total"] == 1
    shell.text("purge", "--all")
    assert shell.json("list", "--workspace", "other")["total"] == 0


def test_stats_and_gc_say_what_is_there(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    stats = shell.json("stats")
    assert stats["store"] == str(shell.home / "store")
    assert (stats["artifacts"], stats["versions"], stats["durability"]) == (1, 1, "process")
    assert stats["workspace"] == str(shell.project)
    assert set(shell.json("gc")) == {"expired", "evicted", "orphans", "freed_bytes"}
