"""Reports and build output of real tools, written by small programs of ours, against what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.digest import Digester, digest

DATA = Path(__file__).parents[2] / "data" / "digest"
FOLDERS = ("build", "machine")
CASES = [
    (folder, name)
    for folder in FOLDERS
    for name in json.loads((DATA / folder / "expected.json").read_text(encoding="utf-8"))
]


def _expected(folder: str, name: str) -> dict[str, Any]:
    return json.loads((DATA / folder / "expected.json").read_text(encoding="utf-8"))[name]


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_what_a_tool_says_is_what_the_digest_says(folder: str, name: str) -> None:
    found = digest((DATA / folder / name).read_bytes())
    expected = _expected(folder, name)
    assert found.verdict.value == expected["verdict"]
    assert list(found.tools) == expected["tools"]
    assert dict(found.totals) == expected["totals"]
    assert [
        [f.name, f.kind, f.file, f.line, f.message, f.log_line, f.block.start, f.block.end]
        for f in found.failures
    ] == expected["failures"]


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_pieces_of_any_size_give_the_same_digest(folder: str, name: str) -> None:
    data = (DATA / folder / name).read_bytes()
    digester = Digester()
    for start in range(0, len(data), 613):
        digester.feed(data[start : start + 613])
    assert digester.finish() == digest(data)


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_lines_named_by_a_failure_are_in_the_log(folder: str, name: str) -> None:
    data = (DATA / folder / name).read_bytes()
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    for failure in digest(data).failures:
        assert 1 <= failure.block.start <= failure.log_line <= failure.block.end <= lines


def test_every_input_has_its_expectation() -> None:
    for folder in FOLDERS:
        names = {path.name for path in (DATA / folder).iterdir()} - {"expected.json"}
        assert names == {name for kind, name in CASES if kind == folder}
