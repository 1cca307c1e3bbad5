"""Outputs of test runners, of small projects of ours, against what the runners say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.digest import Digester, digest

DATA = Path(__file__).parents[2] / "data" / "digest" / "tests"
EXPECTED: dict[str, dict[str, Any]] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
NAMES = sorted(EXPECTED)
FAILING = [
    name
    for name in NAMES
    if EXPECTED[name]["verdict"] == "failed" and not name.startswith(("mocha", "gtest_brief"))
]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_runner_says_is_what_the_digest_says(name: str) -> None:
    found = digest((DATA / name).read_bytes())
    expected = EXPECTED[name]
    assert found.verdict.value == expected["verdict"]
    assert found.complete is expected["complete"]
    assert list(found.tools) == expected["tools"]
    assert dict(found.totals) == expected["totals"]
    assert [
        [f.name, f.kind, f.file, f.line, f.message, f.log_line, f.block.start, f.block.end]
        for f in found.failures
    ] == expected["failures"]


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_a_failure_are_lines_of_the_log_and_in_order(name: str) -> None:
    data = (DATA / name).read_bytes()
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    for failure in digest(data).failures:
        assert 1 <= failure.block.start <= failure.block.end <= lines
        assert 1 <= failure.log_line <= lines
        for part in (failure.traceback, failure.output):
            if part is not None:
                assert failure.block.start <= part.start <= part.end <= failure.block.end


@pytest.mark.parametrize("name", FAILING)
def test_a_run_cut_anywhere_is_never_green(name: str) -> None:
    """Cut before its closing line, a failing run may be unknown or incomplete, but not passed.

    Mocha prints how many passed before how many failed; nothing tells the first from a whole run.
    """
    data = (DATA / name).read_bytes()
    for percent in range(0, 100, 4):
        assert digest(data[: len(data) * percent // 100]).verdict.value != "passed"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrap", ["actions", "taskcluster", "compose", "crlf"])
def test_what_a_ci_system_wraps_around_lines_changes_nothing(name: str, wrap: str) -> None:
    plain = digest((DATA / name).read_bytes())
    prefix = {
        "actions": b"2026-01-02T03:04:05.1234567Z ",
        "taskcluster": b"[task 2026-01-02T03:04:05.123Z] ",
        "compose": b"tests-1  | ",
        "crlf": b"",
    }[wrap]
    end = b"\r\n" if wrap == "crlf" else b"\n"
    lines = (DATA / name).read_bytes().removesuffix(b"\n").split(b"\n")
    wrapped = digest(b"".join(prefix + line + end for line in lines))
    assert (wrapped.verdict, wrapped.totals) == (plain.verdict, plain.totals)
    assert [(f.name, f.file, f.line, f.log_line) for f in wrapped.failures] == [
        (f.name, f.file, f.line, f.log_line) for f in plain.failures
    ]


@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_any_size_give_the_same_digest(name: str) -> None:
    data = (DATA / name).read_bytes()
    digester = Digester()
    for start in range(0, len(data), 701):
        digester.feed(data[start : start + 701])
    assert digester.finish() == digest(data)


def test_every_input_has_its_expectation() -> None:
    assert sorted(path.name for path in DATA.glob("*.log")) == NAMES
