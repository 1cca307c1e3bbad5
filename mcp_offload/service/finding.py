"""What a search applies to: lines of text by pattern, symbols by name, in some artifacts or in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_offload.errors import (
    HandleGoneError,
    InvalidArgumentError,
    NothingStoredError,
)
from mcp_offload.handle import BytesSelector
from mcp_offload.models import (
    Artifact,
    Monitor,
    SearchResult,
    Symbol,
    SymbolEntry,
    SymbolHits,
    Version,
)
from mcp_offload.service.context import Context, Session, handle_of
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import (
    load_outline,
    outline_key,
    outline_of,
    qualified_name,
    symbol_entry,
)
from mcp_offload.service.pattern import Matcher
from mcp_offload.service.render import outline_line
from mcp_offload.service.resolve import refreshed, resolve
from mcp_offload.service.search import SearchOptions, SearchTarget, search_targets
from mcp_offload.service.select import select
from mcp_offload.service.survey import files_below
from mcp_offload.service.tally import Tally
from mcp_offload.service.window import Budget, Display

DEFAULT_HITS = 200
UNLIMITED_HITS = 1 << 40
PAGE = 500
CANDIDATES = 2_000
FRAME_TOKENS = 24
FRAME_BYTES = 120


def search(
    ctx: Context,
    matcher: Matcher,
    handles: Sequence[str],
    limits: Limits,
    session: Session,
    monitor: Monitor,
    *,
    limit: int | None,
) -> SearchResult:
    """Search the handles given (artifacts, symbols, lines, directories), or all that is stored.

    Source files that changed are stored anew first, so hits are never about content that is gone.

    Raises:
        NothingStoredError: no handles, and nothing is stored.
        and what resolving raises.
    """
    targets = _given(ctx, handles, session, monitor) if handles else _everything(ctx, session, monitor)
    budget = Budget(limits.max_tokens, limits.max_bytes, FRAME_TOKENS, FRAME_BYTES)
    default = UNLIMITED_HITS if limits.max_tokens >= UNLIMITED_HITS else DEFAULT_HITS
    if limit is not None and limit < 1:
        raise InvalidArgumentError("limit is at least 1.")
    options = SearchOptions(limit or default, budget, Display(ctx.counter), ctx.settings.rg_path)
    return search_targets(targets, matcher, options, monitor)


def find_symbols(
    ctx: Context, name: str, handles: Sequence[str], limits: Limits, session: Session, monitor: Monitor
) -> SymbolHits:
    """Symbols whose qualified name contains ``name``, case aside; whole names first, then ends, then parts.

    Raises:
        InvalidArgumentError: ``name`` is empty.
        NothingStoredError: no handles, and nothing is stored.
    """
    wanted = name.strip().replace("::", ".").casefold()
    if not wanted:
        raise InvalidArgumentError("Give a symbol's name or a part of it.")
    found: list[tuple[int, int, SymbolEntry]] = []
    searched = 0
    tables = _tables_of(ctx, handles, session, monitor) if handles else _all_tables(ctx, wanted, monitor)
    for artifact, version, symbols in tables:
        searched += 1
        for symbol in symbols:
            rank = _rank(symbol, wanted)
            if rank is not None:
                found.append((rank, len(found), symbol_entry(artifact, version, symbol)))
    found.sort(key=lambda item: (item[0], len(item[2].name), item[1]))
    kept = _fitting(ctx, [entry for _, _, entry in found], limits)
    return SymbolHits(tuple(kept), len(found) - len(kept), searched)


# --- where to search ----------------------------------------------------------------------------


def _given(ctx: Context, handles: Sequence[str], session: Session, monitor: Monitor) -> list[SearchTarget]:
    targets: list[SearchTarget] = []
    for handle in handles:
        for file in files_below(ctx, handle, monitor):
            targets.append(_target_of(ctx, file, session, monitor))
    # A handle named twice would give every hit twice.
    return list({(t.handle, t.first_line, t.last_line): t for t in targets}.values())


def _target_of(ctx: Context, text: str, session: Session, monitor: Monitor) -> SearchTarget:
    target = resolve(ctx, text, session, monitor)
    if target.selector is None:
        version = target.base if target.stated else target.newest
        session.show(target.artifact.number, version.version)
        return _target(ctx, target.artifact, version)
    selection = select(ctx, target, monitor)
    version, span = selection.version, selection.span
    session.show(target.artifact.number, version.version)
    with ctx.store.open_view(version) as view:
        if span.start_byte >= span.end_byte:
            return _target(ctx, target.artifact, version)
        if isinstance(target.selector, BytesSelector) and span.end_byte == view.size_bytes:
            return _target(ctx, target.artifact, version, view.line_of(span.start_byte))
        first, last = view.line_of(span.start_byte), view.line_of(span.end_byte - 1)
        return _target(ctx, target.artifact, version, first, None if last == view.line_count else last)


def _everything(ctx: Context, session: Session, monitor: Monitor) -> list[SearchTarget]:
    targets: list[SearchTarget] = []
    for artifact, version in latest_versions(ctx, monitor):
        session.show(artifact.number, version.version)
        targets.append(_target(ctx, artifact, version))
    return targets


def latest_versions(ctx: Context, monitor: Monitor) -> Iterator[tuple[Artifact, Version]]:
    """Every artifact of the workspace with its newest content, most recently used first.

    Raises:
        NothingStoredError: there is none.
    """
    rows: list[tuple[Artifact, Version]] = []
    total = 1
    while len(rows) < total:
        page, total = ctx.store.list(ctx.settings.workspace, limit=PAGE, offset=len(rows))
        if not page:
            break
        rows += page
    if not rows:
        raise NothingStoredError("Nothing is stored in this workspace yet; store a path first.")
    for done, (artifact, version) in enumerate(rows):
        monitor.advance(done, len(rows), "looking at source files")
        current, _ = refreshed(ctx, artifact, monitor)
        if current.latest == artifact.latest:
            yield artifact, version
        else:
            yield current, ctx.store.version(current.workspace, current.number, None)


def _target(
    ctx: Context, artifact: Artifact, version: Version, first_line: int = 1, last_line: int | None = None
) -> SearchTarget:
    return SearchTarget(
        handle=handle_of(artifact, version.version),
        name=artifact.name,
        open=lambda: ctx.store.open_view(version),
        size_bytes=version.size_bytes,
        first_line=first_line,
        last_line=last_line,
        binary=version.binary,
    )


# --- symbols ------------------------------------------------------------------------------------

_Table = tuple[Artifact, Version, Sequence[Symbol]]


def _tables_of(ctx: Context, handles: Sequence[str], session: Session, monitor: Monitor) -> Iterator[_Table]:
    for handle in handles:
        for file in files_below(ctx, handle, monitor):
            target = resolve(ctx, file, session, monitor)
            version = target.base if target.stated else target.newest
            session.show(target.artifact.number, version.version)
            yield target.artifact, version, outline_of(ctx, target.artifact, version, monitor).symbols


def _all_tables(ctx: Context, wanted: str, monitor: Monitor) -> Iterator[_Table]:
    artifacts: dict[int, tuple[Artifact, Version]] = {}
    for artifact, version in latest_versions(ctx, monitor):
        if version.language is None or version.binary:
            continue
        artifacts[artifact.number] = artifact, version
        if ctx.store.outline_get(outline_key(artifact, version)) is None:
            try:
                outline_of(ctx, artifact, version, monitor)
            except HandleGoneError:
                continue
    last = wanted.rsplit(".", 1)[-1]
    for candidate in ctx.store.symbol_candidates(ctx.settings.workspace, last, CANDIDATES):
        known = artifacts.get(candidate.number)
        if known is not None and candidate.key == outline_key(*known):
            yield *known, load_outline(candidate.payload).symbols


def _rank(symbol: Symbol, wanted: str) -> int | None:
    """0 whole name, 1 its end, 2 the last segment's start, 3 anywhere; None = not at all."""
    if symbol.kind in ("chunk", "lines"):
        return None
    name = qualified_name(symbol).casefold()
    if wanted not in name:
        return None
    if name == wanted:
        return 0
    if name.endswith(f".{wanted}"):
        return 1
    return 2 if symbol.path[-1].casefold().startswith(wanted) else 3


def _fitting(ctx: Context, entries: Sequence[SymbolEntry], limits: Limits) -> list[SymbolEntry]:
    kept: list[SymbolEntry] = []
    size = limits.max_bytes - FRAME_BYTES
    tally = Tally(ctx.counter, limits.max_tokens - FRAME_TOKENS)
    for entry in entries:
        line = outline_line(entry) + "\n"
        size -= len(line.encode("utf-8", "replace"))
        fits = size >= 0 and tally.take(line)
        if fits or not kept:
            kept.append(entry)
        if not fits:
            break
    return kept
