"""Exact token counts, in pieces, and what fits a budget."""

from __future__ import annotations

import threading

import pytest
import toktok
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload import tokens
from mcp_offload.tokens import PIECE_BYTES, TokenCounter

COUNTER = TokenCounter()

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)
LINES = st.lists(
    st.sampled_from(["", "  return total\n", "ERROR 0x7f at 12:03\n", "größe = 'ß🧠'\n", "\n\n"])
)


def whole(text: str) -> int:
    """Count without cutting into pieces: the reference."""
    return toktok.batch_count([text], "o200k_base", threads=1)[0]


@given(ANY_TEXT)
def test_short_text_counts_as_the_tokenizer_counts_it(text: str) -> None:
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert COUNTER.count(text) == whole(clean)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), (b"", 0), ("hello world", 2), (b"hello world", 2), ("<|endoftext|>", 7)],
)
def test_known_counts(text: str | bytes, expected: int) -> None:
    assert COUNTER.count(text) == expected


def test_lone_surrogates_and_stray_bytes_count_as_replacement_characters() -> None:
    assert COUNTER.count("a\ud800b") == whole("a\ufffdb")
    assert COUNTER.count(b"a\xff\xe2\x82b") == whole("a\ufffd\ufffd\ufffdb")
    assert tokens.shown(b"\xed\xa0\x80") == "\ufffd" * 3


def test_a_million_spaces_are_counted() -> None:
    spaces = " " * 1_000_000
    assert abs(COUNTER.count(spaces) - whole(spaces)) <= len(spaces) // PIECE_BYTES + 1


@given(LINES)
@settings(max_examples=20)
def test_pieces_cut_at_line_ends_add_next_to_nothing(lines: list[str]) -> None:
    block = "".join(lines) or "x\n"
    text = block * (3 * PIECE_BYTES // len(block.encode()) + 1)
    exact, counted = whole(text), COUNTER.count(text)
    assert exact <= counted <= exact + len(text.encode()) // (PIECE_BYTES // 2) + 1


def test_a_long_line_of_wide_characters_is_cut_between_characters() -> None:
    text = "x" + "🧠" * PIECE_BYTES
    assert abs(COUNTER.count(text) - whole(text)) <= 8
    assert COUNTER.count(text.encode()) == COUNTER.count(text)


@given(st.binary(max_size=200), st.integers(1, 40), st.integers(1, 5000))
@settings(max_examples=40)
def test_a_stream_counts_as_its_concatenation(unit: bytes, repeats: int, chunk: int) -> None:
    data = (unit + b"\n" + unit) * repeats * 40
    chunks = [data[at : at + chunk * 16] for at in range(0, len(data), chunk * 16)]
    assert COUNTER.count_stream(chunks) == COUNTER.count(data)


def test_a_stream_of_several_pieces_counts_as_its_concatenation() -> None:
    data = ("ä" * 700 + "\n").encode() * 200 + b"\xff" + "🧠".encode() * 40_000
    chunks = [data[at : at + 9973] for at in range(0, len(data), 9973)]
    assert len(data) > 4 * PIECE_BYTES
    assert COUNTER.count_stream(chunks) == COUNTER.count(data)


@given(st.one_of(ANY_TEXT, LINES.map("".join)), st.integers(0, 60))
@settings(max_examples=300)
def test_what_fits_never_exceeds_the_budget_and_one_line_more_does(text: str, max_tokens: int) -> None:
    length = COUNTER.fit(text, max_tokens)
    assert COUNTER.count(text[:length]) <= max_tokens
    next_end = text.find("\n", length) + 1 or len(text)
    if length < len(text):
        assert COUNTER.count(text[:next_end]) > max_tokens
        assert length == 0 or text[length - 1] == "\n" or "\n" not in text[:length]
    if text and max_tokens >= tokens.MAX_TOKENS_PER_CHARACTER:
        assert length > 0


def test_fit_prefers_whole_lines_and_cuts_a_line_that_is_too_long() -> None:
    text = "one two three\n" * 5 + "word " * 500 + "\nend\n"
    assert text[: COUNTER.fit(text, 30)] == "one two three\n" * 5
    rest = text[len("one two three\n" * 5) :]
    cut = COUNTER.fit(rest, 30)
    assert 0 < cut < rest.index("\n")
    assert 25 <= COUNTER.count(rest[:cut]) <= 30


def test_fit_over_several_pieces_is_exact() -> None:
    text = "x\n" + "lorem ipsum " * 20_000 + "\n" + "dolor\n" * 30_000
    budget = COUNTER.count(text) - 1000
    length = COUNTER.fit(text, budget)
    assert text[length - 1] == "\n"
    assert COUNTER.count(text[:length]) <= budget < COUNTER.count(text[: length + len("dolor\n")])
    assert COUNTER.fit(text, COUNTER.count(text)) == len(text)


@given(st.binary(min_size=0, max_size=30), st.integers(0, 30))
def test_character_boundary_moves_back_less_than_a_character(data: bytes, offset: int) -> None:
    offset = min(offset, len(data))
    assert offset - 3 <= tokens.character_boundary(data, offset) <= offset


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.data())
def test_character_boundary_is_one(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cut = tokens.character_boundary(raw, data.draw(st.integers(0, len(raw))))
    assert raw[:cut].decode() + raw[cut:].decode() == text


@given(st.binary())
def test_decoding_bytewise_is_reversible_and_shown_keeps_its_length(data: bytes) -> None:
    text = tokens.decode_bytewise(data)
    assert text.encode("utf-8", "surrogateescape") == data
    assert len(tokens.shown(data)) == len(text)
    assert not any("\ud800" <= c <= "\udfff" for c in tokens.shown(data))


def test_threads_may_share_a_counter() -> None:
    counter, text, results = TokenCounter(), "def f(x): return x\n" * 2000, list[int]()
    threads = [threading.Thread(target=lambda: results.append(counter.count(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [whole(text)] * 4
