"""Searching one view: the matching lines, in order, in bounded memory whatever the lines are like.

A view is read in windows that end at a line end. A line longer than a window is read whole up to a
limit; of a longer one, overlapping pieces are searched, so that there a match longer than the overlap
can be missed. Such a line still gives one hit at most. :data:`SIZES` holds the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from mcp_offload.models import Monitor, Span
from mcp_offload.service.pattern import Matcher
from mcp_offload.service.view import View
from mcp_offload.tokens import character_boundary

#: A hit's line is shortened to about this much around the match.
SHOWN_LINE_BYTES: Final = 400
#: Up to this distance newlines are counted from the last hit on, beyond it the view's index is asked.
_COUNT_BYTES: Final = 64 * 1024
_ELLIPSIS: Final = "…".encode()
_LF: Final = 0x0A


class Sizes(NamedTuple):
    """How much is read at a time, in bytes.

    Attributes:
        window: of ordinary lines.
        whole_line: the longest line that is searched in one piece.
        piece: of a longer line.
        overlap: of two pieces.
    """

    window: int = 1024 * 1024
    whole_line: int = 16 * 1024 * 1024
    piece: int = 4 * 1024 * 1024
    overlap: int = 1024 * 1024


SIZES: Final = Sizes()


class LineHit(NamedTuple):
    """One matching line.

    Attributes:
        line: its number in the view.
        text: the line without its end; shortened around the match where long, with ``…`` for what
            is left out and, at the end, the bytes shown as a selector: ``(B1200-1600)``.
        match: the bytes of the first match in it.
    """

    line: int
    text: bytes
    match: Span


class _Match(NamedTuple):
    """A match and where its line starts, as offsets into the view."""

    line_start: int
    start: int
    end: int


def span_of_lines(view: View, first_line: int, last_line: int | None) -> Span:
    """Return the bytes of the lines; ``last_line`` None = to the end.

    Raises:
        SpanOutOfRangeError: there are no such lines.
    """
    if first_line == 1 and last_line is None:
        return Span(0, view.size_bytes)
    return view.line_span(first_line, view.line_count if last_line is None else last_line)


def scan(
    view: View, matcher: Matcher, span: Span, *, limit: int, monitor: Monitor, sizes: Sizes = SIZES
) -> Iterator[LineHit]:
    """Yield the first ``limit`` lines of ``span`` that match, each once.

    ``span`` is made of whole lines. Threads run while a window is searched.

    Raises:
        OperationCancelledError: the monitor asked to stop.
    """
    numbers = LineNumbers(view)
    for match in islice(_matches(view, matcher, span, monitor, sizes), limit):
        yield LineHit(numbers.at(match.line_start), *shorten(view, match.line_start, match.start, match.end))


class LineNumbers:
    """Line numbers of ascending offsets of line starts, without counting through all between them."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._offset = 0
        self._line = 1

    def at(self, offset: int) -> int:
        """Return the number of the line that starts at ``offset``."""
        if offset - self._offset <= _COUNT_BYTES:
            self._line += self._view.read(self._offset, offset).count(b"\n")
        else:
            self._line = self._view.line_of(offset)
        self._offset = offset
        return self._line


def _matches(view: View, matcher: Matcher, span: Span, monitor: Monitor, sizes: Sizes) -> Iterator[_Match]:
    """Yield the first match of each matching line."""
    at, end = span.start_byte, span.end_byte
    while at < end:
        monitor.advance(at - span.start_byte, end - span.start_byte)
        window = view.read(at, min(at + sizes.window, end))
        size = _whole_lines(window, last=at + len(window) >= end)
        if not size:
            window = view.read(at, min(at + sizes.whole_line, end))
            size = _whole_lines(window, last=at + len(window) >= end)
        if size:
            for match in _matches_in(window, size, matcher):
                yield _Match(at + match.line_start, at + match.start, at + match.end)
            at += size
        else:
            found, line_end = _search_endless_line(view, matcher, Span(at, end), monitor, sizes)
            if found:
                yield found
            at = line_end


def _whole_lines(window: bytes, *, last: bool) -> int:
    """Return how much of a window is whole lines; all of it where the view ends with it."""
    return len(window) if last else window.rfind(b"\n") + 1


def _matches_in(window: bytes, size: int, matcher: Matcher) -> Iterator[_Match]:
    """Yield the first match of each matching line among the first ``size`` bytes of ``window``."""
    searcher = matcher.over(window)
    # The last line's end is left out, or a pattern that matches nothing would match after it.
    end = size - 1 if window[size - 1] == _LF else size
    at = 0
    while at <= end and (found := searcher.find(at, end)):
        start, stop = found
        line_end = window.find(b"\n", stop, end)
        yield _Match(max(at, window.rfind(b"\n", at, start) + 1), start, stop)
        if line_end < 0:
            return
        at = line_end + 1


def _search_endless_line(
    view: View, matcher: Matcher, span: Span, monitor: Monitor, sizes: Sizes
) -> tuple[_Match | None, int]:
    """Search the line at the start of ``span`` piecewise; return its first match and where it ends."""
    found: _Match | None = None
    at, line_end = span.start_byte, 0
    while not line_end:
        monitor.advance(at, view.size_bytes)
        # One byte on either side, so that ^, $ and word boundaries see what stands there.
        base = max(span.start_byte, at - 1)
        piece = view.read(base, min(at + sizes.piece + 1, span.end_byte))
        newline = piece.find(b"\n", at - base)
        if newline >= 0:
            line_end, stop = base + newline + 1, newline
        elif base + len(piece) >= span.end_byte:
            line_end, stop = span.end_byte, len(piece)
        else:
            stop = character_boundary(piece, len(piece) - 1)
        if found is None and (match := matcher.over(piece).find(at - base, stop)):
            found = _Match(span.start_byte, base + match[0], base + match[1])
        at = base + stop if found else base + character_boundary(piece, max(1, stop - sizes.overlap))
    return found, line_end


def shorten(view: View, line_start: int, start: int, end: int) -> tuple[bytes, Span]:
    """Return the line at ``line_start`` as shown around the match from ``start`` to ``end``; and the match.

    Reads a few hundred bytes, however long the line is.
    """
    half = SHOWN_LINE_BYTES // 2
    middle = min((start + end) // 2, start + half)
    left = max(line_start, min(middle - half, start))
    block = view.read(left, left + SHOWN_LINE_BYTES + 4)
    newline = block.find(b"\n")
    text = block[:newline] if newline >= 0 else block
    if newline < 0 and left + len(block) < view.size_bytes:
        text = block[: character_boundary(block, SHOWN_LINE_BYTES)]
    skipped = 0 if left == line_start else _continuation_bytes(text)
    text = text[skipped:]
    after = view.read(left + skipped + len(text), left + skipped + len(text) + 1)
    if left == line_start and after in (b"", b"\n"):
        return text.removesuffix(b"\r"), Span(start, end)
    shown = Span(left + skipped, left + skipped + len(text))
    before_mark = _ELLIPSIS if left > line_start else b""
    after_mark = _ELLIPSIS if after not in (b"", b"\n") else b""
    where = f" (B{shown.start_byte}-{shown.end_byte})".encode()
    return before_mark + text.removesuffix(b"\r") + after_mark + where, Span(start, end)


def _continuation_bytes(text: bytes) -> int:
    """Return how many bytes of a character that began before ``text`` stand at its start."""
    count = 0
    while count < min(3, len(text)) and text[count] & 0xC0 == 0x80:
        count += 1
    return count
