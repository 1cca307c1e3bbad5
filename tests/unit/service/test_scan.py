"""Scanning: every matching line once, with its number, however the lines lie in the windows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_offload.errors import OperationCancelledError, SpanOutOfRangeError
from mcp_offload.models import SilentMonitor, Span
from mcp_offload.service.pattern import Matcher, compile_pattern
from mcp_offload.service.scan import SIZES, LineHit, Sizes, scan, span_of_lines
from mcp_offload.service.view import BytesView

QUIET = SilentMonitor()
ALL = 10**9


def hits(
    data: bytes,
    pattern: str,
    *,
    span: Span | None = None,
    limit: int = ALL,
    sizes: Sizes = SIZES,
    literal: bool = False,
) -> list[LineHit]:
    view = BytesView(data)
    matcher = compile_pattern(pattern, literal=literal)
    span = span or span_of_lines(view, 1, None)
    return list(scan(view, matcher, span, limit=limit, monitor=QUIET, sizes=sizes))


def line_by_line(data: bytes, matcher: Matcher) -> list[tuple[int, bytes, Span]]:
    """The reference: each line searched on its own."""
    found, at = list[tuple[int, bytes, Span]](), 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        if at < len(data) and (match := matcher.over(line).find(0, len(line))):
            found.append((number, line.removesuffix(b"\r"), Span(at + match[0], at + match[1])))
        at += len(line) + 1
    return found


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [b"", b"ab", b"xaby", b"b", b"aab\r", "äb".encode(), b"a\xffb", b"z" * 40, b"ab" * 30]
        ),
        st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")),
    ),
    max_size=14,
)
PATTERNS = st.sampled_from(
    ["ab", "^ab", "b$", "^$", "a.b", "^", "$", "x*", "[^z]", r"\bab\b", "(?i)AB", "zz", "^.{2}$", "ä"]
)


@given(LINES, PATTERNS, st.booleans(), st.integers(1, 60))
@settings(max_examples=400)
def test_windows_change_nothing(lines: list[bytes], pattern: str, newline: bool, window: int) -> None:
    data = b"\n".join(lines) + (b"\n" if newline and lines else b"")
    sizes = Sizes(window=window, whole_line=1000, piece=1000, overlap=100)
    assert hits(data, pattern, sizes=sizes) == line_by_line(data, compile_pattern(pattern))


@given(LINES, PATTERNS, st.data())
def test_a_range_of_lines_gives_the_hits_in_it(lines: list[bytes], pattern: str, data: st.DataObject) -> None:
    content = b"\n".join(lines)
    view = BytesView(content)
    if not view.line_count:
        return
    first = data.draw(st.integers(1, view.line_count))
    last = data.draw(st.integers(first, view.line_count))
    expected = [hit for hit in line_by_line(content, compile_pattern(pattern)) if first <= hit[0] <= last]
    assert hits(content, pattern, span=span_of_lines(view, first, last)) == expected


def test_the_limit_stops_the_scan() -> None:
    data = b"hit\n" * 1000
    assert [hit.line for hit in hits(data, "hit", limit=3)] == [1, 2, 3]
    assert hits(data, "hit", limit=0) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n"])
def test_an_empty_pattern_match_gives_each_line_once(content: bytes) -> None:
    assert [hit.line for hit in hits(content, "x*")] == list(range(1, content.count(b"\n") + 1))


def test_line_numbers_are_true_far_into_a_view() -> None:
    lines = [b"filler %07d" % number for number in range(60_000)]
    for number in (3, 9_999, 10_000, 59_999):
        lines[number - 1] += b" NEEDLE"
    assert [hit.line for hit in hits(b"\n".join(lines), "NEEDLE")] == [3, 9_999, 10_000, 59_999]


def test_lines_outside_the_view_are_refused() -> None:
    with pytest.raises(SpanOutOfRangeError):
        span_of_lines(BytesView(b"one\ntwo\n"), 2, 3)


class TestLongLines:
    """Lines longer than what is shown, than a window, and than what is searched in one piece."""

    TINY = Sizes(window=64, whole_line=256, piece=128, overlap=32)

    def test_a_long_line_is_shortened_around_the_match(self) -> None:
        data = b"short\n" + b"a" * 50_000 + b"NEEDLE" + b"b" * 50_000 + b"\nNEEDLE\n"
        long, short = hits(data, "NEEDLE")
        assert short.text == b"NEEDLE"
        assert len(long.text) < 450
        start = 6 + 50_000
        assert long.match == Span(start, start + 6)
        text = long.text.decode()
        shown, _, where = text.rpartition(" (B")
        assert shown.startswith("…a") and shown.endswith("b…") and "NEEDLE" in shown
        first, last = map(int, where.rstrip(")").split("-"))
        assert data[first:last].decode() == shown.strip("…")

    def test_the_ends_of_a_long_line_carry_no_mark(self) -> None:
        for data in (b"NEEDLE" + b"x" * 900, b"x" * 900 + b"NEEDLE"):
            (hit,) = hits(data, "NEEDLE")
            assert hit.text.startswith(b"NEEDLE") is data.startswith(b"NEEDLE")
            assert (b"NEEDLE (B" in hit.text) is data.endswith(b"NEEDLE")
            assert hit.text.count("…".encode()) == 1

    def test_a_long_match_is_shown_from_its_start(self) -> None:
        (hit,) = hits(b"-" * 600 + b"S" + b"m" * 5000 + b"E" + b"-" * 600, "Sm+E")
        assert b"Smmm" in hit.text
        assert hit.match == Span(600, 5602)

    def test_shortening_splits_no_character(self) -> None:
        for shift in range(4):
            (hit,) = hits(b"." * shift + "🧠".encode() * 300 + b"NEEDLE" + "🧠".encode() * 300, "NEEDLE")
            assert "\ufffd" not in hit.text.decode()

    def test_an_endless_line_gives_one_hit(self) -> None:
        data = b"one\n" + b"ab" * 2000 + b"\nab\n"
        assert [hit.line for hit in hits(data, "ab", sizes=self.TINY)] == [2, 3]

    @given(st.integers(0, 2500), st.booleans(), st.booleans())
    def test_a_match_across_two_pieces_is_found(self, at: int, newline: bool, wide: bool) -> None:
        filler = ("é" if wide else "--").encode()
        data = b"first\n" + filler * at + b"NEEDLE" + filler * 900 + b"\nlast" * newline
        (hit,) = hits(data, "NEEDLE", sizes=self.TINY)
        assert (hit.line, hit.match) == (2, Span(6 + 2 * at, 12 + 2 * at))

    @pytest.mark.parametrize(("pattern", "found"), [("^b", False), ("^a", True), ("a$", False), ("Z$", True)])
    def test_the_seams_of_pieces_are_no_line_boundaries(self, pattern: str, found: bool) -> None:
        data = b"a" + b"ba" * 3000 + b"Z\nx"
        assert bool(hits(data, pattern, sizes=self.TINY)) is found

    def test_the_seams_of_pieces_are_no_word_boundaries(self) -> None:
        assert not hits(b"a" * 5000, r"\ba{1,40}\b", sizes=self.TINY)


def test_text_beside_stray_bytes_is_found() -> None:
    data = b"ok\nros\xe9 one\nros\xc3\xa9 two\n" * 3
    assert [hit.line for hit in hits(data, "rosé")] == [2, 3, 5, 6, 8, 9]


class Impatient:
    """A monitor that cancels after some progress."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        assert total is not None and 0 <= done <= total
        self.left -= 1
        if self.left < 0:
            raise OperationCancelledError("stopped")


@pytest.mark.parametrize("data", [b"line\n" * 2000, b"x" * 10_000])
def test_a_scan_can_be_cancelled_at_every_window(data: bytes) -> None:
    view = BytesView(data)
    found = scan(
        view,
        compile_pattern("z"),
        Span(0, len(data)),
        limit=5,
        monitor=Impatient(4),
        sizes=TestLongLines.TINY,
    )
    with pytest.raises(OperationCancelledError):
        list(found)
