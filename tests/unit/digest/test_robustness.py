"""Cut, joined, damaged and made-up logs: no exception, sane line numbers, linear work."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.digest import Digester, digest
from mcp_offload.digest.digester import ROWS
from mcp_offload.digest.model import Digest
from mcp_offload.digest.render import render

DATA = Path(__file__).parents[2] / "data" / "digest" / "tests"
LOGS = {path.name: path.read_bytes() for path in sorted(DATA.glob("*.log"))}
LINES = [line for data in LOGS.values() for line in data.split(b"\n")[:120]]


def _check(found: Digest, data: bytes) -> None:
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert found.line_count == lines
    for failure in found.failures:
        assert 1 <= failure.block.start <= failure.block.end <= max(lines, 1)
        assert 1 <= failure.log_line <= max(lines, 1)
    render(found, "t1", len)


@pytest.mark.parametrize(
    "name", ["pytest_83_rA.log", "cargo_fail.log", "go_v.log", "vitest_fail.log", "rspec_fail.log"]
)
def test_a_log_cut_at_every_percent(name: str) -> None:
    data = LOGS[name]
    for percent in range(101):
        piece = data[: len(data) * percent // 100]
        _check(digest(piece), piece)


@pytest.mark.parametrize("seed", range(6))
def test_logs_joined_in_any_order_and_damaged(seed: int) -> None:
    chosen = random.Random(seed)
    data = bytearray(b"".join(LOGS[name] for name in chosen.sample(sorted(LOGS), 6)))
    _check(digest(bytes(data)), bytes(data))
    for _ in range(len(data) // 150):
        data[chosen.randrange(len(data))] = chosen.randrange(256)
    _check(digest(bytes(data)), bytes(data))


def test_all_logs_joined_list_no_more_failures_than_the_logs_do() -> None:
    whole = b"\n".join(LOGS.values())
    assert len(digest(whole).failures) <= sum(len(digest(data).failures) for data in LOGS.values())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=3000))
def test_random_bytes(data: bytes) -> None:
    _check(digest(data), data)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=60), st.integers(min_value=1, max_value=50))
def test_lines_of_all_tools_in_any_order_and_any_pieces(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    digester = Digester()
    for start in range(0, len(data), size):
        digester.feed(data[start : start + size])
    found = digester.finish()
    _check(found, data)
    assert found == digest(data)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_family_takes_any_line_and_any_end(row: object) -> None:
    for text in (
        "",
        " ",
        "\x00",
        "é" * 5000,
        "1) x:",
        "  1) y",
        "E   ",
        "FAILED",
        "--- FAIL: (0.00s)",
        "=" * 70,
    ):
        made = next(item for item in ROWS if item is row).make()
        for number in range(1, 4):
            made.feed(number, text)
        made.finish(3)


@pytest.mark.parametrize(
    "line",
    [
        b"E   AssertionError: " + b"x" * 200,
        b"tests/a.py::test_%d FAILED",
        b"____ test ____",
        b"error: something failed",
        b"  1) a title without an end",
        b" FAIL  a.test.js > x",
        b"--- FAIL: TestX (0.00s)",
        b"=" * 70,
        b"##[error]step failed",
    ],
)
def test_a_line_repeated_many_times_is_taken(line: bytes) -> None:
    head = b"============================= test session starts ==============================\n"
    head += b"=================================== FAILURES ===================================\n"
    data = head + (line + b"\n") * 6000
    found = digest(data)
    assert len(found.failures) <= 5000
    assert found.line_count == 6002
