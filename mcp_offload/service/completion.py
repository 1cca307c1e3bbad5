"""What a half-typed handle may become: artifacts, versions, and the symbols or failures in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_offload.errors import OffloadError
from mcp_offload.handle import (
    ArtifactRef,
    FailureSelector,
    Handle,
    format_handle,
    format_selector,
    parse_handle,
)
from mcp_offload.models import Artifact, Kind, Monitor, Version
from mcp_offload.service.context import Context
from mcp_offload.service.outlines import outline_of, qualified_name, symbol_selector

PAGE = 500
#: Artifacts looked through, most recently used first; beyond that nobody completes by hand.
SCANNED = 5_000
LIMIT = 100


@dataclass(frozen=True, slots=True)
class Completions:
    """At most 100 values, best first, and how many there are."""

    values: tuple[str, ...]
    total: int


def complete_artifacts(ctx: Context, typed: str, kinds: Sequence[Kind]) -> Completions:
    """Handles that start with ``typed``, then those of artifacts whose name holds it; recent ones first."""
    begun: list[str] = []
    named: list[str] = []
    for artifact, _ in _recent(ctx, kinds):
        handle = _bare(artifact)
        if handle.startswith(typed):
            begun.append(handle)
        elif typed.casefold() in artifact.name.casefold():
            named.append(handle)
    return _first([*begun, *named])


def complete_versions(ctx: Context, artifact: str, typed: str) -> Completions:
    """Version numbers of an artifact whose bytes are there, newest first; none where it is unknown."""
    try:
        found = _find(ctx, artifact)
        versions = [] if found is None else ctx.store.versions(found[0].workspace, found[0].number)
    except OffloadError:
        return Completions((), 0)
    numbers = [str(version.version) for version in reversed(versions)]
    return _first([number for number in numbers if number.startswith(typed)])


def complete_selectors(ctx: Context, artifact: str, typed: str, monitor: Monitor) -> Completions:
    """What may stand after ``#``: failures of a log, symbols of a source; none where it is unknown."""
    try:
        found = _find(ctx, artifact)
        selectors = [] if found is None else list(_selectors(ctx, *found, monitor))
    except OffloadError:
        return Completions((), 0)
    folded = typed.casefold()
    begun = [text for text, _ in selectors if text.casefold().startswith(folded)]
    ended = [
        text
        for text, last in selectors
        if last.casefold().startswith(folded) and not text.casefold().startswith(folded)
    ]
    return _first([*begun, *ended])


def complete_handle(ctx: Context, typed: str, kinds: Sequence[Kind], monitor: Monitor) -> Completions:
    """A whole handle: the artifact, and from ``#`` on what is in it."""
    artifact, mark, selector = typed.partition("#")
    if not mark:
        return complete_artifacts(ctx, typed, kinds)
    found = complete_selectors(ctx, artifact, selector, monitor)
    return Completions(tuple(f"{artifact}#{value}" for value in found.values), found.total)


def _recent(ctx: Context, kinds: Sequence[Kind]) -> Iterator[tuple[Artifact, Version]]:
    seen, total = 0, 1
    while seen < min(total, SCANNED):
        page, total = ctx.store.list(ctx.settings.workspace, limit=PAGE, offset=seen)
        if not page:
            return
        seen += len(page)
        yield from ((artifact, version) for artifact, version in page if not kinds or artifact.kind in kinds)


def _bare(artifact: Artifact) -> str:
    return format_handle(Handle(ArtifactRef(artifact.kind, artifact.number)))


def _find(ctx: Context, text: str) -> tuple[Artifact, Version] | None:
    """The artifact and version of a handle or of a path that is stored; nothing is stored for it."""
    ref = parse_handle(text).artifact
    if isinstance(ref, ArtifactRef):
        artifact = ctx.store.artifact(ctx.settings.workspace, ref.number)
    else:
        known = ctx.store.artifact_by_path(ctx.settings.workspace, ctx.roots.confine(ref.path).absolute)
        if known is None:
            return None
        artifact = known
    return artifact, ctx.store.version(artifact.workspace, artifact.number, ref.version)


def _selectors(
    ctx: Context, artifact: Artifact, version: Version, monitor: Monitor
) -> Iterator[tuple[str, str]]:
    """Pairs of a selector and the last segment of its name."""
    if artifact.kind in (Kind.LOG, Kind.TEST):
        # The recognisers take a tenth of a second to load.
        from mcp_offload.service.digests import digest_of

        for index, failure in enumerate(digest_of(ctx, artifact, version, monitor).failures, 1):
            yield format_selector(FailureSelector(index)), failure.name
        return
    for symbol in outline_of(ctx, artifact, version, monitor).symbols:
        if symbol.kind not in ("chunk", "lines"):
            yield format_selector(symbol_selector(symbol)), qualified_name(symbol).rsplit(".", 1)[-1]


def _first(values: Sequence[str]) -> Completions:
    distinct = list(dict.fromkeys(values))
    return Completions(tuple(distinct[:LIMIT]), len(distinct))
