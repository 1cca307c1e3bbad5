"""From raw definitions to symbols: exact spans, lines, documentation, ranks among twins, text keys."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.docs import DOC_LIMIT_LINES, comment_above, docstring
from mcp_offload.outline.grammar import Grammar
from mcp_offload.outline.lines import Lines

_BLANK = b" \t\r\f\v"
_SPACES = b" \t\r\n\f\v"
# No indentation is looked for farther into a line: on a document of one line that would be quadratic.
_MAX_INDENT_BYTES = 1024


def finish(
    found: Iterable[Symbol], view: bytes, grammar: Grammar | None = None, errors: Sequence[Span] = ()
) -> tuple[Symbol, ...]:
    """Complete and sort definitions by (start, -end), outer before inner.

    ``grammar`` says what documents a definition; without one spans stay as the scanner gave them, but
    for white space. ``errors`` are the places of syntax errors.
    """
    lines = Lines(view)
    placed = [_placed(symbol, view, lines, grammar) for symbol in found]
    placed.sort(key=lambda symbol: (symbol.span.start_byte, -symbol.span.end_byte))
    return tuple(_marked(_ranked(placed, view), view, errors))


def _placed(symbol: Symbol, view: bytes, lines: Lines, grammar: Grammar | None) -> Symbol:
    end = _end(view, min(symbol.span.end_byte, len(view)), terminated=grammar is not None)
    start = min(symbol.span.start_byte, end)
    body = _body(symbol.body, view, end)
    doc = symbol.doc
    if grammar is not None:
        doc = docstring(view, symbol.body) if grammar.docstrings and symbol.body else doc
        above = comment_above(view, start, lines, grammar)
        if above is not None:
            doc = above
            if lines.line_of(_name_offset(symbol, view)) - lines.line_of(above.start_byte) <= DOC_LIMIT_LINES:
                start = above.start_byte
    start = _line_start(view, start)
    return replace(
        symbol,
        span=Span(start, end),
        start_line=lines.line_of(start),
        end_line=lines.line_of(max(start, end - 1)),
        params=normalised(symbol.params),
        sig=_sig(symbol.sig, view, start, end),
        doc=doc,
        body=body,
    )


def _name_offset(symbol: Symbol, view: bytes) -> int:
    """Where the definition's own name stands, for want of that the definition's first byte."""
    area = symbol.sig or symbol.span
    name = symbol.path[-1].encode("utf-8", "replace") if symbol.path else b""
    return max(area.start_byte, view.find(name, area.start_byte, area.end_byte))


def _line_start(view: bytes, start: int) -> int:
    """The start of the line where only white space stands before ``start`` on it."""
    floor = max(0, start - _MAX_INDENT_BYTES)
    opening = view.rfind(b"\n", floor, start) + 1
    if opening == 0 and floor > 0:
        return start
    if opening == 0 and view.startswith(b"\xef\xbb\xbf") and start >= 3:
        opening = 3
    return opening if not view[opening:start].strip(_BLANK) else start


def _end(view: bytes, end: int, *, terminated: bool) -> int:
    """After the last byte that is not white space, and after the ``;`` that follows it."""
    floor = end
    while floor > 0 and view[floor - 1] in _SPACES:
        floor -= 1
    if terminated:
        following = floor
        while following < len(view) and view[following] in b" \t":
            following += 1
        if view[following : following + 1] == b";":
            return following + 1
    return floor


def _sig(sig: Span | None, view: bytes, start: int, end: int) -> Span | None:
    if sig is None:
        return None
    first, last = max(start, sig.start_byte), min(end, sig.end_byte)
    while last > first and view[last - 1] in _SPACES:
        last -= 1
    return Span(first, max(first, last))


def _body(body: Span | None, view: bytes, end: int) -> Span | None:
    if body is None:
        return None
    last = min(body.end_byte, end)
    while last > body.start_byte and view[last - 1] in _SPACES:
        last -= 1
    return Span(min(_line_start(view, body.start_byte), last), last)


def normalised(params: str | None) -> str | None:
    """A parameter list without its brackets and without white space."""
    if params is None:
        return None
    text = "".join(params.split())
    if len(text) >= 2 and text[0] in "([|<" and text[-1] in ")]|>":
        text = text[1:-1]
    return text.rstrip(",")


def text_key(text: bytes) -> str:
    """A hash of the text with runs of white space folded."""
    return blake2b(b" ".join(text.split()), digest_size=8).hexdigest()


def _ranked(symbols: Sequence[Symbol], view: bytes) -> Iterable[Symbol]:
    twins = Counter(symbol.path for symbol in symbols)
    ranks: Counter[tuple[tuple[str, ...], str | None]] = Counter()
    for symbol in symbols:
        key = (symbol.path, symbol.params)
        ranks[key] += 1
        yield replace(
            symbol,
            overloaded=twins[symbol.path] > 1,
            ordinal=ranks[key],
            text_key=text_key(view[symbol.span.start_byte : symbol.span.end_byte]),
        )


def _marked(symbols: Iterable[Symbol], view: bytes, errors: Sequence[Span]) -> Iterable[Symbol]:
    """Mark what overlaps an error or has nothing but white space between itself and one."""
    reach = _merged(_widened(error, view) for error in errors)
    starts = [span.start_byte for span in reach]
    for symbol in symbols:
        before = bisect_right(starts, symbol.span.end_byte) - 1
        near = before >= 0 and reach[before].end_byte >= symbol.span.start_byte
        yield replace(symbol, near_error=True) if near and not symbol.near_error else symbol


def _widened(span: Span, view: bytes) -> Span:
    start, end = max(0, span.start_byte), min(len(view), span.end_byte)
    while start > 0 and view[start - 1] in _SPACES:
        start -= 1
    while end < len(view) and view[end] in _SPACES:
        end += 1
    return Span(start, end)


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start_byte <= merged[-1].end_byte:
            merged[-1] = Span(merged[-1].start_byte, max(merged[-1].end_byte, span.end_byte))
        else:
            merged.append(span)
    return merged
