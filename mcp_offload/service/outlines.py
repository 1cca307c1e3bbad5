"""Symbol tables of stored versions, computed once per content and kept in the store."""

from __future__ import annotations

import json
from dataclasses import replace

from mcp_offload.handle import LinesSelector, SymbolSelector
from mcp_offload.models import Artifact, Monitor, Outline, Span, Symbol, SymbolEntry, Version
from mcp_offload.outline import OUTLINE_VERSION
from mcp_offload.service.context import Context, handle_of

CACHED_OUTLINES = 64
OUTLINE_BYTES = 32 << 20
# Above this, an artifact without a parser is divided by lines from the newline index alone.
CHUNKED_BYTES = 2 << 20
RANGES = 40


def outline_of(ctx: Context, artifact: Artifact, version: Version, monitor: Monitor) -> Outline:
    """The symbol table of a version: from memory, from the store, or parsed now.

    ``tokens`` of every symbol is exact, except for line ranges of large text, where it is None.
    """
    key = outline_key(artifact, version)
    known = ctx.outlines.get(key)
    if known is not None:
        return known
    stored = ctx.store.outline_get(key)
    outline = load_outline(stored) if stored is not None else _parse(ctx, artifact, version, key, monitor)
    while len(ctx.outlines) >= CACHED_OUTLINES:
        ctx.outlines.pop(next(iter(ctx.outlines)), None)
    ctx.outlines[key] = outline
    return outline


def outline_key(artifact: Artifact, version: Version) -> str:
    """What identifies a symbol table: the view's hash, the language it was read as, and our release of it."""
    language = version.language or _suffix(artifact.name)
    return f"{version.view_blake3 or version.blake3}:{language}:{OUTLINE_VERSION}"


def qualified_name(symbol: Symbol) -> str:
    """``Invoice.total``: the segments joined by dots, for display and search."""
    return ".".join(symbol.path)


def symbol_selector(symbol: Symbol) -> SymbolSelector:
    """The selector that names ``symbol`` and no other of its file."""
    if not symbol.overloaded:
        return SymbolSelector(symbol.path)
    return SymbolSelector(symbol.path, symbol.params, symbol.ordinal)


def symbol_handle(artifact: Artifact, version: Version, symbol: Symbol) -> str:
    """The printed handle of a symbol. Chunks of plain text are named by their lines."""
    if symbol.kind in ("chunk", "lines"):
        return handle_of(artifact, version.version, LinesSelector(symbol.start_line, symbol.end_line))
    return handle_of(artifact, version.version, symbol_selector(symbol))


def symbol_entry(artifact: Artifact, version: Version, symbol: Symbol) -> SymbolEntry:
    """One line of an outline."""
    return SymbolEntry(
        handle=symbol_handle(artifact, version, symbol),
        name=qualified_name(symbol),
        kind=symbol.kind,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        tokens=symbol.tokens,
        near_error=symbol.near_error,
    )


def _suffix(name: str) -> str:
    base = name.rsplit("/", 1)[-1]
    return "." + base.rsplit(".", 1)[-1] if "." in base else base


def _parse(ctx: Context, artifact: Artifact, version: Version, key: str, monitor: Monitor) -> Outline:
    if version.binary:
        return Outline(None, parsed=False, reason="binary content has no outline")
    with ctx.store.open_view(version) as reader:
        too_large = reader.size_bytes > (OUTLINE_BYTES if version.language else CHUNKED_BYTES)
        if too_large:
            return _line_ranges(version)
        view = reader.read(0, reader.size_bytes)
    monitor.advance(0, len(view), "parsing")
    outline = ctx.parser.outline(view, version.language, artifact.name)
    outline = replace(outline, symbols=_counted(ctx, view, outline.symbols))
    if outline.tokens is not None:
        ctx.store.tokens_put(version.view_blake3 or version.blake3, outline.tokens)
    names = "\n".join(qualified_name(symbol) for symbol in outline.symbols if symbol.kind != "chunk")
    ctx.store.outline_put(key, dump_outline(outline), names)
    return outline


def _counted(ctx: Context, view: bytes, symbols: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
    """The symbols, each with its tokens: the parser counts them unless it was defeated or out of time."""
    if all(symbol.tokens is not None for symbol in symbols):
        return symbols
    texts = [view[symbol.span.start_byte : symbol.span.end_byte] for symbol in symbols]
    counts = ctx.counter.count_many(texts)
    return tuple(replace(symbol, tokens=tokens) for symbol, tokens in zip(symbols, counts, strict=True))


def _line_ranges(version: Version) -> Outline:
    """Equal ranges of lines for text too large to look at as a whole; spans are not filled in."""
    step = max(1, -(-version.lines // RANGES))
    ranges = tuple(
        Symbol((f"L{first}",), "lines", Span(0, 0), first, min(first + step - 1, version.lines))
        for first in range(1, version.lines + 1, step)
    )
    return Outline(
        version.language, parsed=False, reason="too large to parse; ranges of lines", symbols=ranges
    )


# --- stored form --------------------------------------------------------------------------------


def dump_outline(outline: Outline) -> bytes:
    """Compact JSON; one array per symbol."""
    rows = [
        [
            list(s.path),
            s.kind,
            s.span.start_byte,
            s.span.end_byte,
            s.start_line,
            s.end_line,
            s.params,
            int(s.overloaded),
            s.ordinal,
            _pair(s.sig),
            _pair(s.doc),
            _pair(s.body),
            int(s.near_error),
            s.text_key,
            s.tokens,
        ]
        for s in outline.symbols
    ]
    # ASCII with escapes: a name cut out of invalid UTF-8 may hold lone surrogates.
    return json.dumps(
        [outline.language, outline.parsed, outline.reason, rows], separators=(",", ":")
    ).encode()


def load_outline(payload: bytes) -> Outline:
    """The inverse of :func:`dump_outline`."""
    language, parsed, reason, rows = json.loads(payload)
    symbols = tuple(
        Symbol(
            tuple(row[0]),
            row[1],
            Span(row[2], row[3]),
            row[4],
            row[5],
            row[6],
            bool(row[7]),
            row[8],
            _span(row[9]),
            _span(row[10]),
            _span(row[11]),
            bool(row[12]),
            row[13],
            row[14],
        )
        for row in rows
    )
    return Outline(language, parsed, reason, symbols)


def _pair(span: Span | None) -> list[int] | None:
    return None if span is None else [span.start_byte, span.end_byte]


def _span(pair: list[int] | None) -> Span | None:
    return None if pair is None else Span(pair[0], pair[1])
