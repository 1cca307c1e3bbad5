"""Outlines within a budget: of an artifact, of a part of one, and of a directory as a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_offload.cards.names import may_have_card
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import BytesSelector, LinesSelector, PathRef, SymbolSelector, parse_handle
from mcp_offload.models import (
    MEMBER,
    Artifact,
    MapEntry,
    MapResult,
    Monitor,
    Outline,
    OutlineResult,
    StoreManyResult,
    Symbol,
    Version,
)
from mcp_offload.service.context import Context, Session, handle_of, has_digest
from mcp_offload.service.ingest import Named, store_source, version_tokens
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import outline_of, qualified_name, symbol_entry
from mcp_offload.service.render import outline_line
from mcp_offload.service.resolve import Target, resolve
from mcp_offload.service.select import select
from mcp_offload.service.tally import Tally
from mcp_offload.tokens import fits_surely

HEADER_TOKENS = 60
HEADER_BYTES = 300
MAP_SYMBOLS = 12


def outline(
    ctx: Context, text: str, limits: Limits, session: Session, monitor: Monitor
) -> OutlineResult | MapResult:
    """The symbols of an artifact, or those inside the symbol or lines a handle names.

    Where they do not all fit, outer symbols come before inner ones; where not even the outermost fit,
    those of the first lines come, and ``rest`` names the lines whose outline shows the others. A path
    of a directory gives a map of its files.

    Raises:
        what resolving raises.
    """
    if (stored := _directory(ctx, text, monitor)) is not None:
        return directory_map(ctx, stored, limits, monitor)
    target = resolve(ctx, text, session, monitor)
    version = target.base if target.stated else target.newest
    target = replace(target, base=version)
    session.show(target.artifact.number, version.version)
    if has_digest(target.artifact, version) and isinstance(target.selector, LinesSelector | None):
        return _of_log(ctx, target, limits, monitor)
    if (told := _of_parts(ctx, target, limits, monitor)) is not None:
        return told
    return _of_symbols(ctx, target, limits, monitor)


def _of_symbols(ctx: Context, target: Target, limits: Limits, monitor: Monitor) -> OutlineResult:
    """The symbols of a source or document, and the shape of its rows where it holds some."""
    version = target.base
    table = outline_of(ctx, target.artifact, version, monitor)
    inside = _inside(ctx, target, table, monitor)
    card = None
    if version.language == "json" and target.selector is None:
        # What structured data holds is seldom asked for.
        from mcp_offload.service.shapes import shape_card

        card = shape_card(ctx, target.artifact, version, limits.max_tokens - HEADER_TOKENS)
    if card is not None:
        # Its rows are reached by queries, a line for each would say less than their shape.
        inside = [s for s in inside if len(s.path) == 1 and not s.path[0].isdecimal()]
    kept, rest_line = _fitting(ctx, target.artifact, version, inside, limits)
    rest = None
    if rest_line is not None:
        rest = handle_of(
            target.artifact, version.version, LinesSelector(rest_line, max(s.end_line for s in inside))
        )
    return replace(
        _described(ctx, target),
        language=table.language,
        parsed=table.parsed,
        reason=table.reason,
        symbols=tuple(symbol_entry(target.artifact, version, s) for s in kept),
        omitted=len(inside) - len(kept),
        rest=rest,
        card=card,
    )


def _described(ctx: Context, target: Target) -> OutlineResult:
    """What an outline says of the artifact itself."""
    version = target.base
    return OutlineResult(
        handle=handle_of(target.artifact, version.version, target.selector),
        name=target.artifact.name,
        language=version.language,
        parsed=True,
        reason=None,
        symbols=(),
        bytes=version.size_bytes,
        lines=version.lines,
        tokens=version_tokens(ctx, version, count=True),
    )


def _of_parts(ctx: Context, target: Target, limits: Limits, monitor: Monitor) -> OutlineResult | None:
    """The outline of a build artifact by its parts; None for anything else."""
    version = target.base
    if target.selector is not None or not may_have_card(target.artifact.name, binary=version.binary):
        return None
    # The readers of build artifacts take a while to load.
    from mcp_offload.service.cards import card_outline

    parts = card_outline(ctx, target.artifact, version, limits, monitor)
    if parts is None:
        return None
    return replace(
        _described(ctx, target),
        symbols=parts.symbols,
        omitted=parts.omitted,
        rest=parts.rest,
        reason=parts.reason,
        card=parts.card,
    )


def _of_log(ctx: Context, target: Target, limits: Limits, monitor: Monitor) -> OutlineResult:
    version, part = target.base, None
    if target.selector is not None:
        span = select(ctx, target, monitor).span
        with ctx.store.open_view(version) as view:
            part = view.line_of(span.start_byte), view.line_of(max(span.start_byte, span.end_byte - 1))
    from mcp_offload.service.log_outline import log_outline  # see facade: loaded where it is used

    kept, left, digest = log_outline(ctx, target.artifact, version, limits, part, monitor)
    rest = None
    if left:
        last = version.lines if part is None else part[1]
        rest = handle_of(target.artifact, version.version, LinesSelector(left[0].start_line, last))
    return replace(_described(ctx, target), symbols=tuple(kept), omitted=len(left), rest=rest, digest=digest)


def _directory(ctx: Context, text: str, monitor: Monitor) -> StoreManyResult | None:
    """The files of a path that is a directory or glob, stored; None for anything else."""
    ref = parse_handle(text).artifact
    if not isinstance(ref, PathRef):
        return None
    if not ctx.roots.is_directory(ctx.roots.confine(ref.path)) and not any(c in ref.path for c in "*?["):
        return None
    stored = store_source(ctx, text.strip(), Named(), monitor)
    return stored if isinstance(stored, StoreManyResult) else None


def files_below(ctx: Context, text: str, monitor: Monitor) -> list[str]:
    """The handles that a handle or path stands for: the files of a directory or glob, else itself."""
    stored = _directory(ctx, text, monitor)
    return [text] if stored is None else [result.handle for result in stored.stored]


def directory_map(ctx: Context, stored: StoreManyResult, limits: Limits, monitor: Monitor) -> MapResult:
    """One line a file with its outermost symbols, as far as the budget goes; the rest are counted."""
    entries: list[MapEntry] = []
    tokens, size = limits.max_tokens - HEADER_TOKENS, limits.max_bytes - HEADER_BYTES
    share = max(20, tokens // max(1, len(stored.stored)))
    tally = Tally(ctx.counter, tokens)
    for done in stored.stored:
        number = parse_handle(done.handle).artifact
        assert not isinstance(number, PathRef)
        artifact = ctx.store.artifact(ctx.settings.workspace, number.number)
        version = ctx.store.version(ctx.settings.workspace, number.number, done.version)
        table = outline_of(ctx, artifact, version, monitor) if not version.binary else None
        names = _outermost(table)
        entry = MapEntry(done.handle, done.name, done.language, done.lines, done.bytes, done.binary, names)
        entry = _shortened(ctx, entry, share)
        line = outline_line(entry) + "\n"
        size -= len(line.encode("utf-8", "replace"))
        if size < 0 or not tally.take(line):
            break
        entries.append(entry)
        monitor.advance(len(entries), len(stored.stored), "outlining")
    left = stored.stored[len(entries) :]
    return MapResult(tuple(entries), len(left), left[0].handle if left else None, stored.skipped)


def _inside(ctx: Context, target: Target, table: Outline, monitor: Monitor) -> Sequence[Symbol]:
    match target.selector:
        case None:
            return [s for s in table.symbols if s.kind != MEMBER]
        case LinesSelector() | BytesSelector():
            span = select(ctx, target, monitor).span
            with ctx.store.open_view(target.base) as view:
                first = view.line_of(span.start_byte) if view.size_bytes else 1
                last = view.line_of(max(span.start_byte, span.end_byte - 1)) if view.size_bytes else 1
            return [s for s in table.symbols if first <= s.start_line <= last and s.kind != MEMBER]
        case SymbolSelector():
            outer = select(ctx, target, monitor).symbol
            assert outer is not None
            depth = len(outer.path)
            inner = [s for s in table.symbols if len(s.path) > depth and s.path[:depth] == outer.path]
            return [s for s in inner if s.kind != MEMBER or len(s.path) == depth + 1]
        case _:
            raise InvalidArgumentError(
                "Outline an artifact, a symbol or lines (f12, f12#Invoice, f12#L10-400)."
            )


def _fitting(
    ctx: Context, artifact: Artifact, version: Version, symbols: Sequence[Symbol], limits: Limits
) -> tuple[list[Symbol], int | None]:
    """The symbols that fit, and the line from which some outermost ones are missing, or None."""
    costs = _costs(ctx, artifact, version, symbols)
    tokens, size = limits.max_tokens - HEADER_TOKENS, limits.max_bytes - HEADER_BYTES
    levels = sorted({len(symbol.path) for symbol in symbols})
    kept: set[int] = set()
    for level in levels:
        chosen = [i for i, symbol in enumerate(symbols) if len(symbol.path) == level]
        if sum(costs[i][0] for i in chosen) > tokens or sum(costs[i][1] for i in chosen) > size:
            if level != levels[0]:
                break
            return _prefix(symbols, costs, chosen, tokens, size)
        kept.update(chosen)
        tokens -= sum(costs[i][0] for i in chosen)
        size -= sum(costs[i][1] for i in chosen)
    return [symbol for i, symbol in enumerate(symbols) if i in kept], None


def _prefix(
    symbols: Sequence[Symbol],
    costs: Sequence[tuple[int, int]],
    chosen: Sequence[int],
    tokens: int,
    size: int,
) -> tuple[list[Symbol], int | None]:
    kept: list[Symbol] = []
    for index in chosen:
        tokens -= costs[index][0]
        size -= costs[index][1]
        if (tokens < 0 or size < 0) and kept:
            return kept, symbols[index].start_line
        kept.append(symbols[index])
    return kept, None


def _costs(
    ctx: Context, artifact: Artifact, version: Version, symbols: Sequence[Symbol]
) -> list[tuple[int, int]]:
    lines = [outline_line(symbol_entry(artifact, version, symbol)) + "\n" for symbol in symbols]
    sizes = [len(line.encode("utf-8", "replace")) for line in lines]
    return list(zip(ctx.counter.count_many(lines), sizes, strict=True))


def _outermost(table: Outline | None) -> tuple[str, ...]:
    if table is None or not table.parsed:
        return ()
    return tuple(dict.fromkeys(qualified_name(s) for s in table.symbols if len(s.path) == 1))[:MAP_SYMBOLS]


def _shortened(ctx: Context, entry: MapEntry, share: int) -> MapEntry:
    names = entry.symbols
    while names and not _fits(ctx, outline_line(replace(entry, symbols=names)), share):
        names = names[: len(names) // 2]
    return replace(entry, symbols=names)


def _fits(ctx: Context, line: str, max_tokens: int) -> bool:
    return fits_surely(line, max_tokens) or ctx.counter.count(line) <= max_tokens
