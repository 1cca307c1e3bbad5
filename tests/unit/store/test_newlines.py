from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.store.config import BLOCK_BYTES
from mcp_offload.store.newlines import NewlineCounter, NewlineIndex, count_newlines, nth_newline


def counted(*chunks: bytes) -> NewlineCounter:
    counter = NewlineCounter()
    for chunk in chunks:
        counter.update(chunk)
    return counter


def test_counts_are_cumulative_at_the_end_of_each_full_block() -> None:
    data = b"\n" * 10 + b"x" * (BLOCK_BYTES - 10) + b"y" * (BLOCK_BYTES - 1) + b"\n" + b"tail\n"
    counter = counted(data)
    assert list(array("Q", counter.packed())) == [10, 11]
    assert counter.newlines == 12


def test_how_the_stream_is_cut_does_not_matter() -> None:
    data = b"some line\n" * 100_000
    whole = counted(data).packed()
    for size in (1000, 65_536, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7):
        assert counted(*(data[at : at + size] for at in range(0, len(data), size))).packed() == whole


@given(st.lists(st.sampled_from([b"\n", b"x" * 10 + b"\n", b"y" * 300 + b"\n", b"z" * 5000]), max_size=60))
def test_lines_of_any_length_are_counted(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert count_newlines(data) == sum(byte == 0x0A for byte in data)


def test_an_empty_update_says_nothing_about_the_end() -> None:
    assert counted(b"a\n", b"").ends_with_newline
    assert not counted(b"").ends_with_newline


def test_a_newline_that_ends_a_block_belongs_to_that_block() -> None:
    index = NewlineIndex(counted(b"x" * (BLOCK_BYTES - 1) + b"\n" + b"z\n").packed())
    assert index.block_of(1) == 0
    assert index.block_of(2) == 1
    assert index.before_block(1) == 1


@given(st.lists(st.sampled_from([b"\n", b"abc", b"\n\n\n", b"x" * 3000]), max_size=60))
def test_the_nth_newline_is_found(parts: list[bytes]) -> None:
    data = b"".join(parts)
    offsets = [at for at, byte in enumerate(data) if byte == 0x0A]
    assert [nth_newline(data, rank) for rank in range(1, len(offsets) + 1)] == offsets
