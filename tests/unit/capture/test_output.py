from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.capture import output
from mcp_offload.capture.output import Output, OutputLimitError


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    yield fd
    os.close(fd)


def _content(fd: int) -> bytes:
    return os.pread(fd, 1 << 20, 0)


def test_what_comes_from_standard_error_is_known_by_its_bytes(fd: int) -> None:
    out = Output(fd, 100, 0)
    for data, is_stderr in ((b"aa", False), (b"bb", True), (b"c", True), (b"dd", False), (b"e", True)):
        out.write(data, is_stderr=is_stderr)
    assert _content(fd) == b"aabbcdde"
    assert out.stderr == [(2, 5), (7, 8)]


def test_what_fits_the_limit_is_kept(fd: int) -> None:
    out = Output(fd, 5, 0)
    out.write(b"abc", is_stderr=False)
    with pytest.raises(OutputLimitError):
        out.write(b"defg", is_stderr=True)
    with pytest.raises(OutputLimitError):
        out.write(b"h", is_stderr=False)
    assert _content(fd) == b"abcde"
    assert out.stderr == [(3, 5)]


def test_a_disk_that_is_nearly_full_takes_nothing_more(fd: int) -> None:
    out = Output(fd, 100, 1 << 62)
    for _ in range(2):
        with pytest.raises(OSError):
            out.write(b"abc", is_stderr=False)
    assert _content(fd) == b""


def test_ranges_are_bounded_and_the_bytes_are_not(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST_RANGES", 2)
    out = Output(fd, 100, 0)
    for _ in range(4):
        out.write(b"o", is_stderr=False)
        out.write(b"e", is_stderr=True)
    assert _content(fd) == b"oeoeoeoe"
    assert (out.stderr, out.stderr_cut) == ([(1, 2), (3, 4)], True)


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=5), st.booleans()), max_size=20))
def test_the_streams_can_be_told_apart_again(pieces: list[tuple[bytes, bool]]) -> None:
    fd = os.memfd_create("out", os.MFD_CLOEXEC) if hasattr(os, "memfd_create") else os.open("/dev/null", 2)
    try:
        out = Output(fd, 1 << 20, 0)
        for data, is_stderr in pieces:
            out.write(data, is_stderr=is_stderr)
        written = os.pread(fd, 1 << 20, 0)
    finally:
        os.close(fd)
    assert b"".join(written[s:e] for s, e in out.stderr) == b"".join(d for d, is_err in pieces if is_err)
    assert all(a[1] < b[0] for a, b in zip(out.stderr, out.stderr[1:], strict=False))
