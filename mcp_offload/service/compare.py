"""Comparing two contents: versions, artifacts, parts of them, or a snapshot against the newest content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_offload.cards.names import may_have_card
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import LinesSelector, PathRef, SymbolSelector, parse_handle
from mcp_offload.models import CardChange, DiffResult, Monitor, Rest, RunDiff, SymbolChange
from mcp_offload.service.context import Context, Session, artifact_of, handle_of, has_digest
from mcp_offload.service.difference import MAX_BYTES, Hunk, difference
from mcp_offload.service.ingest import Named, store_content
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import outline_of, qualified_name, symbol_handle
from mcp_offload.service.resolve import Target, resolve
from mcp_offload.service.select import Selection, select
from mcp_offload.service.symbol_changes import Side, SymbolDelta, symbol_changes
from mcp_offload.service.tally import Tally

FRAME_TOKENS = 60
FRAME_BYTES = 240
SYMBOL_TOKENS = 14
SYMBOL_BYTES = 60
SHOWN_SYMBOLS = 20


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two contents: its printed handle, its bytes, and its line in the artifact."""

    handle: str
    data: bytes
    first_line: int
    target: Target
    selection: Selection


def compare(
    ctx: Context, before: str, after: str | None, limits: Limits, session: Session, monitor: Monitor
) -> DiffResult:
    """The unified diff of two handles, cut to the budget at a hunk; the rest is stored and named.

    Without ``after``, the snapshot that ``before`` means (the version it states, else the newest one
    shown or stored so far) is compared with the newest content, the file on disk included.

    Raises:
        InvalidArgumentError: a side is too large.
        and what resolving raises.
    """
    old, new = _sides(ctx, before, after, session, monitor)
    parts = _parts(ctx, old, new, monitor)
    if old.target.base.binary or new.target.base.binary:
        text, rest = _fitting(ctx, old, new, [*map(_line_of, parts)], limits, monitor)
        return replace(_binary(old, new, text), truncated=rest is not None, rest=rest, changes=parts)
    runs = _runs(ctx, old, new, monitor)
    if runs is not None:
        return DiffResult(
            old.handle, new.handle, old.data == new.data, None, None, (), "", truncated=False, runs=runs
        )
    found = difference(old.data, new.data, monitor=monitor)
    hunks = [_placed(hunk, old, new) for hunk in found.hunks]
    changes = _changes(ctx, old, new, monitor) if hunks and not parts else ()
    shown = min(len(changes), SHOWN_SYMBOLS)
    room = Limits(limits.max_tokens - shown * SYMBOL_TOKENS, limits.max_bytes - shown * SYMBOL_BYTES)
    text, rest = _fitting(ctx, old, new, [*map(_line_of, parts), *(h.text() for h in hunks)], room, monitor)
    return DiffResult(
        before=old.handle,
        after=new.handle,
        identical=not hunks,
        added_lines=found.added_lines,
        removed_lines=found.removed_lines,
        symbols=changes,
        text=text,
        truncated=rest is not None,
        rest=rest,
        changes=parts,
    )


def _sides(
    ctx: Context, before: str, after: str | None, session: Session, monitor: Monitor
) -> tuple[_Side, _Side]:
    if after is not None:
        old = resolve(ctx, before, session, monitor)
        new = resolve(ctx, after, session, monitor)
        return _side(ctx, old, monitor), _side(ctx, new, monitor)
    # What is newest before the file is looked at is the snapshot that the file is compared with.
    seen = Session({**_stored_so_far(ctx, before), **session.shown})
    old = resolve(ctx, before, seen, monitor, follow_path=False)
    handle = parse_handle(before)
    if old.selector is None and isinstance(handle.selector, SymbolSelector):
        # A member of an archive: the one of that name in the newest content.
        newest = str(replace(handle, artifact=replace(handle.artifact, version=None)))
        return _side(ctx, old, monitor), _side(ctx, resolve(ctx, newest, Session(), monitor), monitor)
    new = replace(old, base=old.newest, stated=True)
    return _side(ctx, replace(old, stated=True), monitor), _side(ctx, new, monitor)


def _stored_so_far(ctx: Context, text: str) -> dict[int, int]:
    ref = parse_handle(text).artifact
    if not isinstance(ref, PathRef):
        artifact = artifact_of(ctx, ref)
        return {artifact.number: artifact.latest}
    path = ctx.roots.confine(ref.path)
    known = ctx.store.artifact_by_path(ctx.settings.workspace, path.absolute)
    return {known.number: known.latest} if known else {}


def _side(ctx: Context, target: Target, monitor: Monitor) -> _Side:
    selection = select(ctx, target, monitor)
    version, span = selection.version, selection.span
    if version.binary:
        span = replace(span, end_byte=span.start_byte)
    if span.end_byte - span.start_byte > MAX_BYTES:
        raise InvalidArgumentError(
            f"{target.artifact.name} is too large to compare as a whole ({version.size_bytes} bytes); "
            "compare ranges of lines, such as l2#L1-50000."
        )
    with ctx.store.open_view(version) as view:
        data = view.read(span.start_byte, span.end_byte)
        first = view.line_of(span.start_byte) if view.size_bytes else 1
    if selection.symbol is not None:
        handle = symbol_handle(target.artifact, version, selection.symbol)
    else:
        handle = handle_of(target.artifact, version.version, target.selector)
    return _Side(handle, data, first, replace(target, base=version), selection)


def _runs(ctx: Context, old: _Side, new: _Side, monitor: Monitor) -> RunDiff | None:
    """The comparison by test, where both sides are whole runs of tests."""
    if old.target.selector is not None or new.target.selector is not None:
        return None
    before, after = ((side.target.artifact, side.target.base) for side in (old, new))
    if not (has_digest(*before) and has_digest(*after)):
        return None
    from mcp_offload.service.runs import run_diff  # see facade: loaded where it is used

    return run_diff(ctx, before, after, monitor)


def _parts(ctx: Context, old: _Side, new: _Side, monitor: Monitor) -> tuple[CardChange, ...]:
    """What differs between two build artifacts as wholes."""
    if old.target.selector is not None or new.target.selector is not None:
        return ()
    before, after = ((side.target.artifact, side.target.base) for side in (old, new))
    named = all(may_have_card(artifact.name, binary=v.binary) for artifact, v in (before, after))
    if not named or before[1].blake3 == after[1].blake3:
        return ()
    # The readers of build artifacts take a while to load.
    from mcp_offload.service.cards import changes_of

    return changes_of(ctx, before, after, monitor)


def _line_of(change: CardChange) -> bytes:
    """``changed requests 2.31.0 -> 2.32.3``, ``uncovered src/app.py 10-14``."""
    values = " -> ".join(value for value in (change.before, change.after) if value)
    kind = "" if change.kind in ("member", "package", "file") else f"{change.kind} "
    return f"{change.change} {kind}{change.name} {values}".rstrip().encode("utf-8", "replace") + b"\n"


def _binary(old: _Side, new: _Side, changes: str) -> DiffResult:
    identical = old.target.base.blake3 == new.target.base.blake3
    sizes = f"{old.target.base.size_bytes} and {new.target.base.size_bytes} bytes"
    text = changes if identical or changes else f"binary contents differ ({sizes})"
    return DiffResult(old.handle, new.handle, identical, 0, 0, (), text, truncated=False)


def _changes(ctx: Context, old: _Side, new: _Side, monitor: Monitor) -> tuple[SymbolChange, ...]:
    """The symbols that differ, where both sides are whole files of one language."""
    if old.target.selector is not None or new.target.selector is not None:
        return ()
    sides = [
        Side(outline_of(ctx, side.target.artifact, side.target.base, monitor), side.data)
        for side in (old, new)
    ]
    if not all(side.outline.parsed for side in sides) or len({s.outline.language for s in sides}) > 1:
        return ()
    return tuple(_change(old, new, delta) for delta in symbol_changes(*sides))


def _change(old: _Side, new: _Side, delta: SymbolDelta) -> SymbolChange:
    symbol = delta.after or delta.before
    assert symbol is not None
    before = delta.before and symbol_handle(old.target.artifact, old.target.base, delta.before)
    after = delta.after and symbol_handle(new.target.artifact, new.target.base, delta.after)
    return SymbolChange(delta.change, qualified_name(symbol), symbol.kind, before, after)


def _placed(hunk: Hunk, old: _Side, new: _Side) -> Hunk:
    """The hunk with line numbers of the artifacts, where parts of them were compared."""
    return replace(
        hunk,
        before_start=hunk.before_start + old.first_line - 1,
        after_start=hunk.after_start + new.first_line - 1,
    )


def _fitting(
    ctx: Context, old: _Side, new: _Side, texts: Sequence[bytes], limits: Limits, monitor: Monitor
) -> tuple[str, Rest | None]:
    tokens, size = limits.max_tokens - FRAME_TOKENS, limits.max_bytes - FRAME_BYTES
    kept: list[str] = []
    tally = Tally(ctx.counter, tokens)
    for text in texts:
        shown = text.decode("utf-8", "replace")
        size -= len(shown.encode())
        if size < 0 or not tally.take(shown):
            break
        kept.append(shown)
    if len(kept) == len(texts):
        return "".join(kept), None
    return "".join(kept), _stored_rest(ctx, old, new, texts, len(kept), monitor)


def _stored_rest(
    ctx: Context, old: _Side, new: _Side, texts: Sequence[bytes], kept: int, monitor: Monitor
) -> Rest:
    """Store the whole diff as an artifact, so that what was left out can be read by handle."""
    named = Named(f"{old.handle}..{new.handle}.diff", None, "diff")
    stored = store_content(ctx, list(texts), named, monitor)
    first = sum(text.count(b"\n") for text in texts[:kept]) + 1
    handle = parse_handle(stored.handle).select(LinesSelector(first, stored.lines))
    rest = b"".join(texts[kept:])
    return Rest(str(handle), stored.lines - first + 1, len(rest), ctx.counter.count(rest))
