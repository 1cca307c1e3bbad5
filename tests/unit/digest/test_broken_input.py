"""Cut, damaged and joined logs: nothing raises, nothing turns green, and the time stays in proportion."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mcp_offload.digest import digest
from mcp_offload.digest.model import Verdict

DATA = Path(__file__).parents[2] / "data" / "digest"
FILES = sorted(
    path
    for folder in ("build", "machine", "captured")
    for path in (DATA / folder).iterdir()
    if path.name not in {"expected.json", "truth.json"}
)
SMALL = [path for path in FILES if path.stat().st_size < 5000]
# What they cut off a failing run is all that tells it from a good one: go names no packages in advance,
# cargo says "Finished" before it runs the program, mocha how many passed before how many failed.
END_BEFORE_FAILURE = {"cargo_panic.log", "go_test.json", "mocha_11_min.log"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_cut_log_is_never_green(path: Path) -> None:
    data = path.read_bytes()
    whole = digest(data).verdict
    for percent in range(100):
        verdict = digest(data[: len(data) * percent // 100]).verdict
        if whole is not Verdict.PASSED and path.name not in END_BEFORE_FAILURE:
            assert verdict is not Verdict.PASSED, percent


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_damaged_bytes_do_not_raise(path: Path) -> None:
    data = path.read_bytes()
    chance = random.Random(path.name)
    for _ in range(10):
        damaged = bytearray(data)
        for _ in range(30):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        assert digest(bytes(damaged)).line_count >= 1


def test_joined_logs_do_not_raise_and_keep_their_failures() -> None:
    logs = [path.read_bytes() for path in FILES if path.suffix == ".log"]
    chance = random.Random(7)
    for _ in range(20):
        first, second = chance.choice(logs), chance.choice(logs)
        assert digest(first + b"\n" + second).line_count >= first.count(b"\n")


def test_lines_in_any_order_do_not_raise() -> None:
    lines = [line for path in SMALL for line in path.read_bytes().split(b"\n")]
    chance = random.Random(11)
    for _ in range(5):
        chance.shuffle(lines)
        assert digest(b"\n".join([*lines, b"end"])).line_count == len(lines) + 1


def test_long_lines_of_brackets_and_quotes_are_bounded() -> None:
    for text in (b'{"' * 100_000, b"[" * 200_000, b'["' + b"\\" * 300_000, b"<a>" * 100_000):
        assert digest(text).verdict is not Verdict.PASSED


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_numbers_of_any_length_do_not_raise(path: Path) -> None:
    data = path.read_bytes()
    for digit in b"0123456789":
        assert digest(data.replace(bytes([digit]), b"9" * 5000, 3)).line_count >= 1


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_a_line_of_half_a_megabyte_is_ordinary(path: Path) -> None:
    data = path.read_bytes()
    first, rest = data.partition(b"\n")[0], data.partition(b"\n")[2]
    for filler in (b" ", b"/", b"a:1: error: "):
        long = first + filler * (450_000 // len(filler)) + b"\n" + rest
        assert digest(long).line_count == digest(data).line_count


def test_what_comes_after_the_first_mebibyte_counts() -> None:
    noise = b"".join(
        b"[%06d] copied part %d of the archive\n" % (number, number) for number in range(200_000)
    )
    end = b'Traceback (most recent call last):\n  File "/srv/pack.py", line 9, in f\nOSError: gone\n'
    found = digest(noise + end)
    assert found.line_count == 200_003
    assert [(f.message, f.line, f.log_line) for f in found.failures] == [("OSError: gone", 9, 200_003)]


def test_any_number_of_joined_reports_is_read() -> None:
    report = (DATA / "machine" / "pytest.xml").read_bytes()
    one = digest(report)
    found = digest(report * 1500)
    assert found.verdict is one.verdict
    assert found.totals == {key: count * 1500 for key, count in one.totals.items()}
