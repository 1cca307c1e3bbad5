"""From a resolved handle to the bytes it selects."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_offload.errors import InvalidArgumentError, SpanOutOfRangeError, SymbolNotFoundError
from mcp_offload.handle import (
    BytesSelector,
    FailureSelector,
    LinesSelector,
    QuerySelector,
    SearchSelector,
    Selector,
    SymbolSelector,
    format_selector,
)
from mcp_offload.models import Monitor, Span, Status, Symbol, Version
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.lookup import find
from mcp_offload.service.outlines import outline_of
from mcp_offload.service.resolve import Target, one_symbol, resolve_symbol
from mcp_offload.service.view import View

# Text up to this size is looked for in newer content to tell whether it moved.
TRACKED_BYTES = 1 << 20
TRAILING_BYTES = 256


@dataclass(frozen=True, slots=True)
class Selection:
    """The bytes a handle selects.

    Attributes:
        version: whose view ``span`` is in.
        status, now: how it stands against the newest content; see :class:`Status`.
        part: ``head`` where the text is assembled from the symbol's parts instead of ``span``.
    """

    version: Version
    span: Span
    symbol: Symbol | None = None
    status: Status = Status.SAME
    now: tuple[str, ...] = ()
    part: str | None = None


def select(ctx: Context, target: Target, monitor: Monitor, *, strict: bool = False) -> Selection:
    """Apply a target's selector. ``strict``: only ever in its base version, as an edit needs it.

    Raises:
        SymbolNotFoundError, SymbolAmbiguousError, SpanOutOfRangeError, InvalidArgumentError.
    """
    match target.selector:
        case None:
            return _whole(ctx, target, strict=strict)
        case LinesSelector() | BytesSelector():
            return _range(ctx, target)
        case SymbolSelector():
            return _symbol(ctx, target, target.selector, monitor, strict=strict)
        case FailureSelector():
            return _failure(ctx, target, target.selector, monitor)
        case SearchSelector() | QuerySelector():
            raise InvalidArgumentError(
                f"{format_selector(target.selector)} selects no fixed bytes; name a symbol or lines (L10-44)."
            )


def span_of(view: View, selector: LinesSelector | BytesSelector, handle: str) -> Span:
    """The bytes of a range of lines or bytes; a range that ends past the end is cut there.

    Raises:
        SpanOutOfRangeError: it starts past the end.
    """
    count = view.line_count
    if isinstance(selector, BytesSelector):
        if selector.start > view.size_bytes or (selector.start == view.size_bytes and selector.start > 0):
            raise SpanOutOfRangeError(
                f"{handle} has {view.size_bytes} bytes; byte {selector.start} is past the end."
            )
        end = view.size_bytes if selector.end is None else min(selector.end, view.size_bytes)
        return Span(selector.start, end)
    first = max(1, count - selector.tail + 1) if selector.tail is not None else selector.first
    if count == 0 and first == 1:
        return Span(0, 0)
    if first > count:
        raise SpanOutOfRangeError(f"{handle} has {count} lines; line {first} is past the end.")
    last = count if selector.last is None or selector.tail is not None else min(selector.last, count)
    return view.line_span(first, last)


def _whole(ctx: Context, target: Target, *, strict: bool) -> Selection:
    version = target.base if target.stated or strict else target.newest
    with ctx.store.open_view(version) as view:
        span = Span(0, view.size_bytes)
    if target.current or (version is target.newest and not target.stated):
        status = Status.SAME if target.base.blake3 == target.newest.blake3 else Status.CHANGED
        return Selection(version, span, status=status)
    now = (handle_of(target.artifact, target.newest.version),)
    return Selection(version, span, status=Status.CHANGED, now=now)


def _range(ctx: Context, target: Target) -> Selection:
    selector = target.selector
    assert isinstance(selector, LinesSelector | BytesSelector)
    handle = handle_of(target.artifact, target.base.version)
    with ctx.store.open_view(target.base) as view:
        span = span_of(view, selector, handle)
        if target.current:
            return Selection(target.base, span)
        size = span.end_byte - span.start_byte
        text = view.read(span.start_byte, span.end_byte) if size <= TRACKED_BYTES else b""
    status, now = _tracked(ctx, target, span, text)
    return Selection(target.base, span, status=status, now=now)


def _tracked(ctx: Context, target: Target, span: Span, text: bytes) -> tuple[Status, tuple[str, ...]]:
    """Whether the same bytes stand in the newest content: in place, elsewhere once, or not for certain."""
    with ctx.store.open_view(target.newest) as view:
        if text and view.read(span.start_byte, span.end_byte) == text:
            return Status.SAME, ()
        if not text.strip() or view.size_bytes > TRACKED_BYTES:
            return Status.CHANGED, (handle_of(target.artifact, target.newest.version),)
        content = view.read(0, view.size_bytes)
        at = content.find(text)
        if at < 0 or content.find(text, at + 1) >= 0:
            return Status.CHANGED, (handle_of(target.artifact, target.newest.version),)
        lines = LinesSelector(view.line_of(at), view.line_of(at + len(text) - 1))
    return Status.MOVED, (handle_of(target.artifact, target.newest.version, lines),)


def _failure(ctx: Context, target: Target, selector: FailureSelector, monitor: Monitor) -> Selection:
    """A failure of the version the handle means; failures are numbered per version, never carried over."""
    from mcp_offload.service.digests import failure_span  # see facade: loaded where it is used

    span = failure_span(ctx, target.artifact, target.base, selector, monitor)
    newer = () if target.current else (handle_of(target.artifact, target.newest.version),)
    status = Status.SAME if target.current else Status.CHANGED
    return Selection(target.base, span, status=status, now=newer)


def _symbol(
    ctx: Context, target: Target, selector: SymbolSelector, monitor: Monitor, *, strict: bool
) -> Selection:
    if strict:
        outline = outline_of(ctx, target.artifact, target.base, monitor)
        symbol = one_symbol(target.artifact, target.base, outline, selector, find(outline, selector))
        version, status, now = target.base, Status.SAME, ()
    else:
        resolved = resolve_symbol(ctx, target, selector, monitor)
        symbol, version, status, now = resolved.symbol, resolved.version, resolved.status, resolved.now
    span = symbol.span
    if selector.part == "head":
        return Selection(version, span, symbol=symbol, status=status, now=now, part="head")
    if selector.part:
        part = {"sig": symbol.sig, "doc": symbol.doc, "body": symbol.body}[selector.part]
        if part is None:
            raise SymbolNotFoundError(
                f"{format_selector(SymbolSelector(symbol.path))} has no {selector.part}; "
                f"drop :{selector.part}."
            )
        span = part
    return Selection(version, span, symbol=symbol, status=status, now=now)


def is_whole_lines(selector: Selector | None, view: bytes, span: Span) -> bool:
    """True where what a selector selects of a view runs from a line's start to a line's end."""
    if not isinstance(selector, SymbolSelector):
        return not isinstance(selector, BytesSelector)
    starts = span.start_byte == 0 or view[span.start_byte - 1 : span.start_byte] == b"\n"
    ended = span.end_byte > span.start_byte and view[span.end_byte - 1 : span.end_byte] == b"\n"
    # White space at the end of a line belongs to no symbol and makes no line of its own.
    after = view[span.end_byte : span.end_byte + TRAILING_BYTES].lstrip(b" \t")
    return starts and (ended or not after or after.startswith((b"\n", b"\r")))
