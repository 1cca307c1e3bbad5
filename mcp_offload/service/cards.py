"""Cards of stored artifacts, kept by content, and members of archives as artifacts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from mcp_offload.cards.build import card_of, has_members, open_member
from mcp_offload.cards.changes import card_changes
from mcp_offload.cards.detect import HEAD_BYTES, format_of
from mcp_offload.cards.model import CARD_VERSION, Card, Entry, clean, dump_card, load_card
from mcp_offload.cards.names import base_name, may_have_card
from mcp_offload.errors import InvalidArgumentError, SymbolNotFoundError
from mcp_offload.handle import ArtifactRef, LinesSelector, SymbolSelector, format_selector, parse_handle
from mcp_offload.models import (
    Artifact,
    CardChange,
    CardResult,
    Kind,
    Monitor,
    StoreResult,
    SymbolEntry,
    Version,
)
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.ingest import Named, store_content
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import outline_of, symbol_entry
from mcp_offload.service.render import outline_line
from mcp_offload.service.tally import Tally

HEADER_TOKENS = 60
HEADER_BYTES = 300
SUMMARY_CHARS = 600
CLOSE_NAMES = 3


def with_card(ctx: Context, result: StoreResult, monitor: Monitor) -> StoreResult:
    """The result of a store that is already acknowledged, with a card where it is a build artifact."""
    ref = parse_handle(result.handle).artifact
    assert isinstance(ref, ArtifactRef)
    artifact = ctx.store.artifact(ctx.settings.workspace, ref.number)
    version = ctx.store.version(ctx.settings.workspace, ref.number, result.version)
    card = find_card(ctx, artifact, version, monitor)
    return result if card is None else replace(result, card=card_result(card, version))


def find_card(ctx: Context, artifact: Artifact, version: Version, monitor: Monitor) -> Card | None:
    """The card of a version, kept or made now; None for text that needs none."""
    key = _format(ctx, artifact, version)
    if key is None:
        return None
    name = _file_name(artifact)
    kept_under = f"{version.view_blake3 or version.blake3}:card:{CARD_VERSION}:{key}:{base_name(name)}"
    stored = ctx.store.outline_get(kept_under)
    if stored is not None:
        return load_card(stored)
    with ctx.store.open_view(version) as view:
        card = card_of(view, key, name, monitor)
    if not any("mcp-offload[artifacts]" in note for note in card.notes):
        ctx.store.outline_put(kept_under, dump_card(card), "")
    return card


def card_result(card: Card, version: Version) -> CardResult:
    """The card as clients get it."""
    about = card.summary
    if card.format == "binary":
        about += f", {version.size_bytes:,} bytes, blake3 {version.blake3}"
    if len(about) > SUMMARY_CHARS:
        about = about[: SUMMARY_CHARS - 1] + "…"
    return CardResult(
        card.format, card.facts, card.notes, "\n".join([f"{card.format}: {about}", *card.notes])
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """What a card adds to an outline."""

    card: CardResult
    symbols: tuple[SymbolEntry, ...]
    omitted: int
    rest: str | None
    reason: str | None


def card_outline(
    ctx: Context, artifact: Artifact, version: Version, limits: Limits, monitor: Monitor
) -> Parts | None:
    """The card and one line a part, or None for text that needs no card.

    Lines that do not fit are stored as text, which ``rest`` names. Text without parts is outlined as
    text.
    """
    card = find_card(ctx, artifact, version, monitor)
    if card is None:
        return None
    shown = card_result(card, version)
    entries = [_entry(artifact, version, entry) for entry in card.entries]
    if not entries and not version.binary:
        table = outline_of(ctx, artifact, version, monitor)
        entries = [symbol_entry(artifact, version, symbol) for symbol in table.symbols]
    lines = [outline_line(entry) + "\n" for entry in entries]
    kept = _fitting(ctx, shown.text, lines, limits)
    rest = None
    if kept < len(lines):
        listing = [line.encode("utf-8", "replace") for line in lines]
        stored = store_content(ctx, listing, Named(f"{artifact.name}.listing", Kind.FILE), monitor)
        rest = str(parse_handle(stored.handle).select(LinesSelector(kept + 1, len(lines))))
    unlisted = f"{card.unlisted:,} further parts are not listed" if card.unlisted else None
    return Parts(shown, tuple(entries[:kept]), len(lines) - kept, rest, unlisted)


def changes_of(
    ctx: Context, before: tuple[Artifact, Version], after: tuple[Artifact, Version], monitor: Monitor
) -> tuple[CardChange, ...]:
    """What differs between two artifacts whose cards have one format; empty for all others."""
    old = find_card(ctx, *before, monitor)
    new = find_card(ctx, *after, monitor) if old is not None else None
    if old is None or new is None or old.format.partition(" (")[0] != new.format.partition(" (")[0]:
        return ()
    return tuple(CardChange(*change[:5]) for change in card_changes(old, new))


def stored_member(
    ctx: Context, artifact: Artifact, version: Version, selector: SymbolSelector, monitor: Monitor
) -> tuple[Artifact, Version] | None:
    """The member of an archive that a selector names, stored as an artifact of its own.

    None where the artifact is no archive, or is text that has no such member.

    Raises:
        SymbolNotFoundError: with the closest names.
        MemberUnreadableError: encrypted, damaged or too large.
    """
    key = _format(ctx, artifact, version)
    if key is None or not has_members(key):
        return None
    name = clean(".".join(selector.path))
    with ctx.store.open_view(version) as view:
        pieces = open_member(view, key, name, selector.ordinal, _file_name(artifact), monitor)
        if pieces is None:
            if version.binary:
                raise _no_member(ctx, artifact, version, selector, monitor)
            return None
        if selector.part or selector.params is not None:
            raise InvalidArgumentError(f"{name} is a member as a whole; drop what stands behind its name.")
        rank = f"'{selector.ordinal}" if selector.ordinal > 1 else ""
        stored = store_content(ctx, pieces, Named(f"{artifact.name}!{name}{rank}"), monitor)
    ref = parse_handle(stored.handle).artifact
    assert isinstance(ref, ArtifactRef)
    workspace = ctx.settings.workspace
    return ctx.store.artifact(workspace, ref.number), ctx.store.version(workspace, ref.number, stored.version)


def _no_member(
    ctx: Context, artifact: Artifact, version: Version, selector: SymbolSelector, monitor: Monitor
) -> SymbolNotFoundError:
    card = find_card(ctx, artifact, version, monitor)
    named = {entry.name: entry for entry in (card.entries if card else ()) if entry.selector}
    wanted = ".".join(selector.path)
    close = [name for name in named if name.endswith(f"/{wanted}")][:CLOSE_NAMES]
    close = close or get_close_matches(wanted, list(named), CLOSE_NAMES)
    handles = tuple(handle_of(artifact, version.version, named[name].selector) for name in close)
    handle = handle_of(artifact, version.version)
    hint = f"Closest: {', '.join(handles)}" if handles else f"Outline {handle} to see its members"
    return SymbolNotFoundError(
        f"{artifact.name} has no member {format_selector(selector)}. {hint}.", near=handles
    )


def _file_name(artifact: Artifact) -> str:
    return artifact.source_path or artifact.name


def _format(ctx: Context, artifact: Artifact, version: Version) -> str | None:
    name = _file_name(artifact)
    digested = artifact.kind in (Kind.LOG, Kind.TEST) and not version.binary
    if digested or not may_have_card(name, binary=version.binary):
        return None
    with ctx.store.open_view(version) as view:
        head = view.read(0, HEAD_BYTES)
    return format_of(name, head, binary=version.binary)


def _entry(artifact: Artifact, version: Version, entry: Entry) -> SymbolEntry:
    selector = entry.selector
    first = last = 0
    if isinstance(selector, LinesSelector):
        first, last = selector.first, selector.last or selector.first
    return SymbolEntry(
        handle=handle_of(artifact, version.version, selector),
        name=entry.name,
        kind=entry.kind,
        start_line=first,
        end_line=last,
        tokens=None,
        near_error=False,
        detail=entry.detail,
    )


def _fitting(ctx: Context, text: str, lines: Sequence[str], limits: Limits) -> int:
    """How many lines fit behind the card; at least one, so that there is progress."""
    tally = Tally(ctx.counter, limits.max_tokens - HEADER_TOKENS - ctx.counter.count(text))
    size = limits.max_bytes - HEADER_BYTES - len(text.encode("utf-8", "replace"))
    for index, line in enumerate(lines):
        size -= len(line.encode("utf-8", "replace"))
        if index and (size < 0 or not tally.take(line)):
            return index
    return len(lines)
