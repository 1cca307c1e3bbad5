"""Reading what handles name, within a budget and with a handle for whatever did not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mcp_offload.errors import InvalidArgumentError, NotTextError, SymbolNotFoundError
from mcp_offload.handle import BytesSelector, FailureSelector, LinesSelector, SearchSelector
from mcp_offload.models import Artifact, Monitor, ReadResult, Rest, Span, Version
from mcp_offload.service.context import Context, Session, handle_of
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import outline_of, symbol_entry, symbol_handle
from mcp_offload.service.pattern import compile_pattern
from mcp_offload.service.resolve import Target, resolve
from mcp_offload.service.scan import scan
from mcp_offload.service.select import Selection, select
from mcp_offload.service.window import Budget, Display, window

MAX_HANDLES = 32
# What one result's header and marker line may cost.
FRAME_TOKENS = 80
FRAME_BYTES = 320
SEARCH_CONTEXT_LINES = 2
HEAD_DOC_LINES = 12


def read(
    ctx: Context, handles: Sequence[str], limits: Limits, session: Session, monitor: Monitor
) -> list[ReadResult]:
    """Read each handle in turn; what does not fit any more is named, not dropped.

    Raises:
        NotTextError: one of them is binary.
        InvalidArgumentError: no handle, or more than 32.
        and what resolving raises.
    """
    if not 1 <= len(handles) <= MAX_HANDLES:
        raise InvalidArgumentError(f"Give 1 to {MAX_HANDLES} handles at a time.")
    results: dict[int, ReadResult] = {}
    places = range(len(handles))
    for share, place in _shares(limits, places, results):
        results[place] = read_one(ctx, handles[place], share, session, monitor)
    cut = [place for place in places if results[place].truncated]
    if 0 < len(cut) < len(handles):
        # What the short ones left over goes to those that were cut, the shortest of them first.
        left = limits
        for place in set(places) - set(cut):
            left = _less(left, results[place])
        for share, place in _shares(
            left, sorted(cut, key=lambda place: _size_bytes(results[place])), results
        ):
            results[place] = read_one(ctx, handles[place], share, session, monitor)
    return [results[place] for place in places]


def _shares(
    limits: Limits, places: Sequence[int], results: Mapping[int, ReadResult]
) -> Iterator[tuple[Limits, int]]:
    """An even share of what is left for each place in turn, so that the first cannot starve the others."""
    for waiting, place in zip(range(len(places), 0, -1), places, strict=True):
        tokens = max(FRAME_TOKENS + 8, limits.max_tokens // waiting)
        size = max(FRAME_BYTES + 16, limits.max_bytes // waiting)
        yield Limits(tokens, size), place
        limits = _less(limits, results[place], Limits(tokens, size))


def _less(limits: Limits, result: ReadResult, at_most: Limits | None = None) -> Limits:
    """What a result leaves; one that is over its share took its share."""
    tokens, size = result.tokens + FRAME_TOKENS, len(result.text.encode("utf-8", "replace")) + FRAME_BYTES
    if at_most is not None:
        tokens, size = min(tokens, at_most.max_tokens), min(size, at_most.max_bytes)
    return Limits(limits.max_tokens - tokens, limits.max_bytes - size)


def _size_bytes(result: ReadResult) -> int:
    return len(result.text) + (0 if result.rest is None else result.rest.bytes)


def read_one(ctx: Context, text: str, limits: Limits, session: Session, monitor: Monitor) -> ReadResult:
    """Read one handle; see :func:`read`."""
    target = resolve(ctx, text, session, monitor)
    if target.base.binary:
        raise NotTextError(
            f"{handle_of(target.artifact)} {target.artifact.name} is binary "
            f"({target.base.size_bytes} bytes, blake3 {target.base.blake3[:16]}); "
            "export it to a path instead."
        )
    note = target.note
    if isinstance(target.selector, SearchSelector):
        target, note = _searched(ctx, target, target.selector, monitor)
    selection = select(ctx, target, monitor)
    result = _head(ctx, target, selection, limits, monitor) if selection.part else None
    result = result or _windowed(ctx, target, selection, limits)
    if isinstance(target.selector, FailureSelector):
        from mcp_offload.service.digests import failure_link  # see facade: loaded where it is used

        note = failure_link(ctx, target.artifact, target.base, target.selector, monitor) or note
    session.show(target.artifact.number, selection.version.version)
    return replace(result, note=note, base=_base(target, selection))


def _windowed(ctx: Context, target: Target, selection: Selection, limits: Limits) -> ReadResult:
    artifact, version = target.artifact, selection.version
    budget = Budget(limits.max_tokens, limits.max_bytes, FRAME_TOKENS, FRAME_BYTES)
    display = Display(ctx.counter)
    symbol = selection.symbol
    known = symbol.tokens if symbol is not None and symbol.span == selection.span else None
    with ctx.store.open_view(version) as view:
        shown = window(view, selection.span, budget, display, known)
    rest = None
    if shown.rest is not None:
        handle = handle_of(artifact, version.version, shown.rest.selector)
        size = shown.rest.span.end_byte - shown.rest.span.start_byte
        rest = Rest(handle, shown.rest.lines, size, shown.rest.tokens)
    return ReadResult(
        handle=_handle(artifact, version, target, selection),
        name=artifact.name,
        text=shown.text,
        start_line=shown.start_line,
        end_line=shown.end_line,
        tokens=shown.tokens,
        truncated=rest is not None,
        status=selection.status,
        kind=selection.symbol.kind if selection.symbol else None,
        now=selection.now,
        rest=rest,
    )


def _handle(artifact: Artifact, version: Version, target: Target, selection: Selection) -> str:
    if selection.symbol is not None:
        return symbol_handle(artifact, version, selection.symbol)
    selector = target.selector
    if isinstance(selector, LinesSelector | BytesSelector | FailureSelector):
        return handle_of(artifact, version.version, selector)
    return handle_of(artifact, version.version)


def _base(target: Target, selection: Selection) -> str | None:
    if target.current or selection.version.version == target.base.version:
        return None
    return handle_of(target.artifact, target.base.version)


def _searched(
    ctx: Context, target: Target, selector: SearchSelector, monitor: Monitor
) -> tuple[Target, str | None]:
    """The lines around the first place where the text stands, and how many more places there are."""
    version = target.base if target.stated else target.newest
    if not selector.text:
        raise InvalidArgumentError("Nothing stands after '~'; give the text to look for.")
    with ctx.store.open_view(version) as view:
        matcher = compile_pattern(selector.text, literal=True)
        hits = list(scan(view, matcher, Span(0, view.size_bytes), limit=100, monitor=monitor))
        count = view.line_count
    if not hits:
        handle = handle_of(target.artifact, version.version)
        raise SymbolNotFoundError(
            f"{selector.text[:60]!r} does not occur in {handle} {target.artifact.name}."
        )
    line = hits[0].line
    lines = LinesSelector(max(1, line - SEARCH_CONTEXT_LINES), min(count, line + SEARCH_CONTEXT_LINES))
    others = len(hits) - 1
    note = f"first of {'100 or more' if len(hits) == 100 else len(hits)} lines with it" if others else None
    return replace(target, base=version, selector=lines, stated=target.stated), note


def _head(
    ctx: Context, target: Target, selection: Selection, limits: Limits, monitor: Monitor
) -> ReadResult | None:
    """Signature, doc and, for what has members, one line for each; None where there is nothing to add."""
    symbol = selection.symbol
    if symbol is None:
        return None
    outline = outline_of(ctx, target.artifact, selection.version, monitor)
    depth = len(symbol.path) + 1
    members = [s for s in outline.symbols if len(s.path) == depth and s.path[:-1] == symbol.path]
    with ctx.store.open_view(selection.version) as view:
        lines = _head_lines(view.read(symbol.span.start_byte, symbol.span.end_byte), selection)
    for member in members:
        entry = symbol_entry(target.artifact, selection.version, member)
        lines.append(f"{entry.handle} {entry.kind} L{entry.start_line}-{entry.end_line}")
    text, cut = _fit_lines(ctx, lines, limits)
    rest = None
    if cut:
        rest = Rest(symbol_handle(target.artifact, selection.version, symbol), cut, 0, None)
    return ReadResult(
        handle=symbol_handle(target.artifact, selection.version, symbol),
        name=target.artifact.name,
        text=text,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        tokens=ctx.counter.count(text),
        truncated=rest is not None,
        status=selection.status,
        kind=symbol.kind,
        now=selection.now,
        rest=rest,
    )


def _head_lines(source: bytes, selection: Selection) -> list[str]:
    symbol = selection.symbol
    assert symbol is not None
    origin = symbol.span.start_byte
    end = symbol.body.start_byte - origin if symbol.body else len(source)
    head = source[:end].rstrip()
    if symbol.doc is not None and symbol.doc.start_byte - origin >= end:
        head += b"\n" + source[symbol.doc.start_byte - origin : symbol.doc.end_byte - origin]
    lines = head.decode("utf-8", "replace").split("\n")
    return (
        lines
        if len(lines) <= 2 * HEAD_DOC_LINES
        else [*lines[:HEAD_DOC_LINES], "…", *lines[-HEAD_DOC_LINES:]]
    )


def _fit_lines(ctx: Context, lines: list[str], limits: Limits) -> tuple[str, int]:
    """As many lines as fit, and how many were left out."""
    text = "\n".join(lines) + "\n"
    size = max(0, limits.max_bytes - FRAME_BYTES)
    kept = text.encode()[:size].decode("utf-8", "ignore")
    kept = kept[: ctx.counter.fit(kept, limits.max_tokens - FRAME_TOKENS)]
    if kept == text:
        return text, 0
    kept = kept[: kept.rfind("\n") + 1]
    return kept, len(lines) - kept.count("\n")
