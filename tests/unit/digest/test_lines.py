"""What stands around a line of output is taken off; the line itself stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.digest import digest
from mcp_offload.digest.lines import Peeler, fold, strip_control


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"2026-05-01T10:00:00.1234567Z make: done", "make: done"),
        (b"\xef\xbb\xbf2026-05-01T10:00:00.1234567Z first", "first"),
        (b"build\tRun tests\t2026-05-01T10:00:00.1234567Z ok", "ok"),
        (b"2026-05-01T10:00:00.123456Z 00O make: done", "make: done"),
        (b"2026-05-01T10:00:00.123456Z 01E+make: done", "make: done"),
        (b"[task 2026-02-13T21:47:59.642Z] 21:47:59     INFO - TEST-OK", "TEST-OK"),
        (b"[2026-02-13T21:47:59.642Z] + make", "+ make"),
        (b"#16 42.11 /src/a.c:1:2: error: x", "/src/a.c:1:2: error: x"),
        (b"#16 ERROR: process failed", "ERROR: process failed"),
        (b"web-1  | listening", "listening"),
        (b"PID 1234 | ==1==ERROR: AddressSanitizer", "==1==ERROR: AddressSanitizer"),
        (b"section_start:1560896352:build[collapsed=true]\r\x1b[0KBuilding", "Building"),
        (b"    [javac] A.java:1: error: x", "A.java:1: error: x"),
        (b"\x1b[31mFAILED\x1b[0m tests", "FAILED tests"),
        (b"[31mFAILED[0m tests", "FAILED tests"),
        (b"\x1b]8;;file:///a\x07link\x1b]8;;\x07", "link"),
        (b" 10%\r 50%\r100% done", "100% done"),
        (b"done\r", "done"),
        (b"[gw0] [ 12%] PASSED a", "[gw0] [ 12%] PASSED a"),
        (b"[ERROR] no", "[ERROR] no"),
        (b"  12 | int x;", "  12 | int x;"),
        (b"#1  0x0 in main ()", "#1  0x0 in main ()"),
        (b"    indented", "    indented"),
        ("café ✓".encode(), "café ✓"),
        (b"caf\xe9", "caf\ufffd"),
    ],
)
def test_wrappers_come_off(raw: bytes, text: str) -> None:
    assert Peeler().peel(raw) == text


def test_branch_names_come_off_only_in_logs_that_have_them() -> None:
    plain, jenkins = Peeler(), Peeler()
    jenkins.learn(b"Started by user x\n[Pipeline] Start\n")
    assert plain.peel(b"[linux build] make") == "[linux build] make"
    assert jenkins.peel(b"[linux build] make") == "make"
    assert jenkins.peel(b"[XPASS(strict)] why") == "[XPASS(strict)] why"


def test_a_very_long_line_is_shortened_in_its_middle() -> None:
    text = Peeler().peel(b"start " + b"x" * 450_000 + b" end")
    assert text.startswith("start ")
    assert text.endswith(" end")
    assert len(text) < 5000


def test_stripping_control_sequences_keeps_line_ends() -> None:
    assert strip_control(b"\x1b[1ma\x1b[0m\n\x1b]0;t\x07b\x1b(B\n") == b"a\nb\n"


@given(st.binary(max_size=400))
def test_stripping_never_loses_a_line_end(data: bytes) -> None:
    assert strip_control(data).count(b"\n") == data.count(b"\n")


@given(st.text(max_size=200))
def test_folding_takes_any_text(text: str) -> None:
    assert "\x1b[" not in fold("\x1b[1m" + text.replace("\x1b", ""))


def test_line_numbers_count_line_feeds_only() -> None:
    log = b"a\rb\rc\r\n\x0b\x0c\x85 more\n\nsrc/main.rs\n"
    log += b"error[E0425]: cannot find value `x`\n --> src/main.rs:7:13\n"
    assert [failure.log_line for failure in digest(log).failures] == [5]
    assert digest(log).line_count == 6
