"""Looking after what is stored: listing, releasing, pinning, collecting, counting."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_offload.errors import HandleNotFoundError, InvalidArgumentError
from mcp_offload.handle import PathRef, parse_handle
from mcp_offload.models import (
    Artifact,
    ArtifactEntry,
    GcResult,
    Kind,
    ListResult,
    ReleaseResult,
    StatsResult,
    Version,
)
from mcp_offload.service.accounting import delivery_stats
from mcp_offload.service.context import Context, artifact_of, handle_of
from mcp_offload.service.ingest import version_tokens

LIST_LIMIT = 1_000


def list_artifacts(
    ctx: Context, *, name: str | None = None, kind: Kind | None = None, limit: int = 50, offset: int = 0
) -> ListResult:
    """Artifacts of the workspace, most recently used first; ``name`` keeps those whose name contains it."""
    if not 1 <= limit <= LIST_LIMIT or offset < 0:
        raise InvalidArgumentError(f"limit is 1 to {LIST_LIMIT} and offset at least 0.")
    rows, total = ctx.store.list(
        ctx.settings.workspace, limit=limit, offset=offset, kind=kind, name_contains=name
    )
    return ListResult(ctx.settings.workspace, tuple(_entry(ctx, a, v) for a, v in rows), total)


def release(ctx: Context, handles: Sequence[str]) -> ReleaseResult:
    """Drop the stored bytes of whole artifacts; files on disk are not touched."""
    artifacts = [_artifact(ctx, handle) for handle in _some(handles)]
    report = ctx.store.release(ctx.settings.workspace, [a.number for a in artifacts])
    return ReleaseResult(tuple(handle_of(a) for a in artifacts), report.freed_bytes)


def pin(ctx: Context, handles: Sequence[str], *, pinned: bool) -> ReleaseResult:
    """Keep artifacts from eviction and expiry, or stop keeping them."""
    artifacts = [_artifact(ctx, handle) for handle in _some(handles)]
    ctx.store.pin(ctx.settings.workspace, [a.number for a in artifacts], pinned)
    return ReleaseResult(tuple(handle_of(a) for a in artifacts), 0)


def purge(ctx: Context, *, everything: bool = False) -> ReleaseResult:
    """Release all artifacts of the workspace, or of every workspace in the store, pinned ones too."""
    report = ctx.store.purge(None if everything else ctx.settings.workspace)
    return ReleaseResult((), report.freed_bytes)


def gc(ctx: Context) -> GcResult:
    """Remove what expired, what exceeds the quota, and what unfinished writes left behind."""
    return ctx.store.gc()


def stats(ctx: Context) -> StatsResult:
    """What the store holds and what it promises."""
    counted = ctx.store.stats(ctx.settings.workspace)
    settings = ctx.settings
    return StatsResult(
        store=settings.store_dir,
        workspace=settings.workspace,
        workspace_path=settings.base_dir,
        durability=settings.durability,
        artifacts=counted.artifacts,
        versions=counted.versions,
        blobs=counted.blobs,
        stored_bytes=counted.stored_bytes,
        quota_bytes=settings.quota_bytes,
        ttl_seconds=settings.ttl_seconds,
        free_disk_bytes=counted.free_disk_bytes,
        wal_bytes=counted.wal_bytes,
        pinned=counted.pinned,
        delivered=delivery_stats(ctx.store.ledger, settings.workspace),
        details={"catalog_bytes": counted.catalog_bytes, "schema_version": counted.schema_version},
    )


def _entry(ctx: Context, artifact: Artifact, version: Version) -> ArtifactEntry:
    return ArtifactEntry(
        handle=handle_of(artifact, version.version),
        name=artifact.name,
        kind=artifact.kind.value,
        version=version.version,
        bytes=version.size_bytes,
        lines=version.lines,
        tokens=version_tokens(ctx, version, count=False),
        language=version.language,
        pinned=artifact.pinned,
        created_at=version.created_at,
        used_at=artifact.used_at,
    )


def _artifact(ctx: Context, text: str) -> Artifact:
    handle = parse_handle(text)
    if handle.selector is not None or handle.artifact.version is not None:
        raise InvalidArgumentError(f"{text} names a part; release and pin take whole artifacts (f12).")
    ref = handle.artifact
    if not isinstance(ref, PathRef):
        return _complete(artifact_of(ctx, ref))
    known = ctx.store.artifact_by_path(ctx.settings.workspace, ctx.roots.confine(ref.path).absolute)
    if known is None:
        raise HandleNotFoundError(f"{ref.path} is not stored.")
    return known


def _complete(artifact: Artifact) -> Artifact:
    if artifact.growing:
        raise InvalidArgumentError(f"{handle_of(artifact)} is still being written; end the run first.")
    return artifact


def _some(handles: Sequence[str]) -> Sequence[str]:
    if not handles:
        raise InvalidArgumentError("Name at least one handle.")
    return handles
