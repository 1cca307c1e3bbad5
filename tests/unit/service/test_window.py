"""Windows: what fits a reply, and a remainder that is exactly what did not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import BytesSelector, LinesSelector
from mcp_offload.models import Span
from mcp_offload.service.view import BytesView, View
from mcp_offload.service.window import Budget, Display, Window, window
from mcp_offload.tokens import TokenCounter

DISPLAY = Display(TokenCounter())
AMPLE = Budget(max_tokens=100_000, max_bytes=1_000_000)


def read(data: bytes, budget: Budget = AMPLE, span: Span | None = None) -> Window:
    view = BytesView(data)
    return window(view, span or Span(0, view.size_bytes), budget, DISPLAY)


def resolve(view: View, selector: LinesSelector | BytesSelector) -> Span:
    """What the handle of a remainder resolves to."""
    if isinstance(selector, LinesSelector):
        return view.line_span(selector.first, selector.last or selector.first)
    assert selector.end is not None
    return Span(selector.start, selector.end)


def all_parts(view: View, span: Span, budget: Budget) -> list[Window]:
    parts = [window(view, span, budget, DISPLAY)]
    while (rest := parts[-1].rest) is not None:
        parts.append(window(view, resolve(view, rest.selector), budget, DISPLAY))
    return parts


CONTENT = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(str.encode),
        st.sampled_from([b"\n", b"\r\n", b"\n\n\n", b"key = value\n", "größe\n".encode(), b"x" * 300]),
    ),
    max_size=12,
).map(b"".join)


@given(CONTENT, st.integers(4, 60), st.integers(4, 200), st.data())
@settings(max_examples=300)
def test_parts_make_up_exactly_what_was_asked_for_and_each_fits(
    content: bytes, max_tokens: int, max_bytes: int, data: st.DataObject
) -> None:
    view = BytesView(content)
    start = data.draw(st.integers(0, len(content)))
    span = Span(start, data.draw(st.integers(start, len(content))))
    parts = all_parts(view, span, Budget(max_tokens, max_bytes))
    shown = b"".join(view.read(part.span.start_byte, part.span.end_byte) for part in parts)
    assert shown == content[span.start_byte : span.end_byte]
    for part in parts:
        assert part.tokens == DISPLAY.counter.count(part.text) <= max_tokens
        assert len(part.text.encode()) <= max_bytes


@given(CONTENT, st.integers(4, 60))
def test_a_remainder_is_told_exactly(content: bytes, max_tokens: int) -> None:
    view = BytesView(content)
    part = read(content, Budget(max_tokens, 1000))
    if part.rest is None:
        assert part.span == Span(0, len(content))
        return
    left = content[part.span.end_byte :]
    assert part.rest.span == resolve(view, part.rest.selector) == Span(part.span.end_byte, len(content))
    assert part.rest.tokens == DISPLAY.counter.count(left)
    assert part.rest.lines == left.count(b"\n") + (not left.endswith(b"\n"))


def test_whole_lines_are_shown_as_long_as_they_fit() -> None:
    part = read(b"alpha beta\n" * 100, Budget(20, 10_000))
    assert part.text == "alpha beta\n" * 6
    assert (part.start_line, part.end_line, part.tokens) == (1, 6, 18)
    assert part.rest is not None
    assert part.rest.selector == LinesSelector(7, 100)
    assert (part.rest.lines, part.rest.tokens) == (94, 282)


def test_the_byte_budget_is_one_of_the_text_as_shown() -> None:
    part = read(b"\xff" * 100, Budget(1000, 50))
    assert part.text == "\ufffd" * 16
    assert part.span == Span(0, 16)
    assert part.rest is not None
    assert part.rest.selector == BytesSelector(16, 100)


def test_the_reserve_is_kept_free() -> None:
    text = b"one two three four\n" * 20
    free = read(text, Budget(30, 10_000))
    kept = read(text, Budget(30, 10_000, reserve_tokens=10))
    assert free.tokens == 30
    assert kept.tokens == 20
    assert len(read(text, Budget(1000, 60, reserve_bytes=20)).text) <= 40


def test_one_endless_line_goes_on_inside_the_line() -> None:
    line = b'{"k": [' + b"12345, " * 20_000 + b"0]}"
    view = BytesView(line)
    part = read(line, Budget(2000, 10_000))
    assert part.rest is not None
    assert part.rest.selector == BytesSelector(part.span.end_byte, len(line))
    assert (part.start_line, part.end_line, part.rest.lines) == (1, 1, 1)
    assert len(all_parts(view, Span(0, len(line)), Budget(2000, 10_000))) < 60


def test_a_long_line_after_short_ones_starts_the_next_part() -> None:
    part = read(b"a\nb\n" + b"word " * 5000 + b"\nc\n", Budget(200, 10_000))
    assert part.text == "a\nb\n"
    assert part.rest is not None
    assert part.rest.selector == LinesSelector(3, 4)


def test_wide_characters_are_not_split() -> None:
    for budget in range(4, 40):
        for part in all_parts(BytesView("🧠é漢".encode() * 9), Span(0, 81), Budget(budget, budget)):
            assert "\ufffd" not in part.text


def test_blank_lines_are_lines() -> None:
    view = BytesView(b"x\n" + b"\n" * 50 + b"y\n")
    part = window(view, view.line_span(10, 20), AMPLE, DISPLAY)
    assert (part.text, part.start_line, part.end_line, part.rest) == ("\n" * 11, 10, 20, None)


@pytest.mark.parametrize("content", [b"", b"\n", b"no newline", b"a\r\nb\r\n"])
def test_what_fits_is_shown_as_it_is(content: bytes) -> None:
    part = read(content)
    assert part.text == content.decode()
    assert part.rest is None
    assert part.end_line == len(content.splitlines())


def test_a_span_that_ends_inside_a_line_never_grows_to_its_end() -> None:
    content = b"alpha beta\n" * 30
    part = read(content, Budget(20, 1000), Span(0, 14 * 11 + 4))
    assert part.rest is not None
    assert part.rest.selector == BytesSelector(66, 158)


@pytest.mark.parametrize(("left", "counted"), [(99, True), (100, False)])
def test_a_large_remainder_is_not_counted_unasked(left: int, counted: bool) -> None:
    display = Display(TokenCounter(), count_up_to_bytes=99)
    part = window(BytesView(b"abc\n" + b"x" * left), Span(0, 4 + left), Budget(4, 10), display)
    assert part.rest is not None
    assert (part.rest.tokens is not None) is counted


def test_no_room_for_a_character_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at least 24 tokens"):
        read(b"text", Budget(22, 1000, reserve_tokens=20))


def test_text_can_be_made_fit_for_showing() -> None:
    display = Display(TokenCounter(), show=lambda text: text.replace("\x1b", "\u241b"))
    part = window(BytesView(b"\x1b[31mred\n" * 9), Span(0, 81), Budget(30, 1000), display)
    assert part.text.startswith("\u241b[31mred\n")
    assert part.span.end_byte == 9 * part.text.count("\n")
