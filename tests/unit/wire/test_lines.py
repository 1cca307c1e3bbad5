"""However bytes are chunked, the same lines come out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.wire.lines import LineBuffer


@given(st.lists(st.binary(max_size=12)), st.binary(max_size=12))
def test_chunks_do_not_matter(chunks: list[bytes], tail: bytes) -> None:
    data = b"".join([*chunks, tail])
    buffer = LineBuffer()
    lines = [line for chunk in [*chunks, tail] for line in buffer.feed(chunk)]
    *whole, rest = data.split(b"\n")
    assert lines == whole
    assert (buffer.rest() or b"") == rest


def test_a_line_over_the_limit_is_dropped_alone() -> None:
    buffer = LineBuffer(max_line_bytes=4)
    lines = [line for chunk in (b"ab", b"cde", b"fgh\nok\n", b"1234\n12345\n") for line in buffer.feed(chunk)]
    assert lines == [None, b"ok", b"1234", None]


def test_a_long_line_comes_back_whole() -> None:
    line = b"x" * 10_000_000
    buffer = LineBuffer()
    for start in range(0, len(line), 65_536):
        assert buffer.feed(line[start : start + 65_536]) == []
    assert buffer.feed(b"\nnext") == [line]
    assert buffer.rest() == b"next"
