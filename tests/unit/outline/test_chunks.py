"""Chunks: handles for any text, cut where it pauses, few, and without holes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.outline.scanners.chunks import CHUNK_BYTES, MAX_CHUNKS, chunks


def test_cuts_fall_before_a_line_that_starts_afresh() -> None:
    blocks = [f"block {name}:\n" + "  inner\n" * 24 + "\n" for name in "abcd"]
    found = chunks("".join(blocks).encode())
    assert [(s.start_line, s.end_line) for s in found] == [(1, 51), (53, 103)]


def test_a_chunk_is_named_by_its_first_words_or_its_line() -> None:
    text = b"".join(b"Part %c of it\n" % letter + b"\n".join([b"-- 1 --"] * 39) + b"\n\n" for letter in b"AB")
    assert [s.path for s in chunks(text)] == [("<chunk:Part-A-of>",), ("<chunk:Part-B-of>",)]
    same = (b"Same start\n" + b"more\n" * 39 + b"\n") * 2
    assert [s.path for s in chunks(same)] == [("<chunk:L1>",), ("<chunk:L42>",)]
    assert [s.path for s in chunks(b"12 34\n56\n")] == [("<chunk:L1>",)]


def test_a_long_line_is_cut_by_bytes_and_never_inside_a_character() -> None:
    view = "é".encode() * 40_000
    found = chunks(view)
    assert len(found) > 2
    for symbol in found:
        view[symbol.span.start_byte : symbol.span.end_byte].decode()
        assert symbol.span.end_byte - symbol.span.start_byte <= 4 * CHUNK_BYTES
    assert found[1].path == (f"<chunk:B{found[1].span.start_byte}>",)


def test_their_number_is_bounded_however_long_the_text() -> None:
    assert len(chunks(b"line\n" * 200_000)) <= 2 * MAX_CHUNKS
    assert len(chunks(b"x" * 20_000_000)) <= MAX_CHUNKS


def test_nothing_has_no_chunks() -> None:
    assert chunks(b"") == []
    assert chunks(b"\n \t\n\r\n") == []


@given(st.lists(st.sampled_from([b"", b" ", b"text", b"  indented", b"}", b"\xff\x00"]), max_size=300))
def test_every_line_with_text_is_in_one_chunk(lines: list[bytes]) -> None:
    view = b"\n".join(lines)
    covered: list[int] = []
    for symbol in chunks(view):
        covered.extend(range(symbol.start_line, symbol.end_line + 1))
    assert len(covered) == len(set(covered))
    filled = {number for number, line in enumerate(lines, 1) if line.strip()}
    assert filled <= set(covered)
