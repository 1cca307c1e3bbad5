"""What was delivered and what was kept out, from the ledger: exact counts, or None."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mcp_offload.errors import NotFoundError, PathNotAllowedError
from mcp_offload.handle import ArtifactRef, PathRef, parse_handle
from mcp_offload.models import Artifact, ArtifactUse, DeliveryStats, Kind, SessionUse, ToolUse
from mcp_offload.service.context import Context, artifact_of, handle_of, version_of
from mcp_offload.service.ingest import version_tokens
from mcp_offload.service.rows import are_rows
from mcp_offload.store import ContentRow, LeaseRow, Ledger, NewContent, UseRow


def entered(ctx: Context, handle: str, tool: str) -> NewContent | None:
    """The content that ``handle`` brings into a session; None where it is not stored, or still grows.

    The rows of a query bring nothing: they are part of what they were taken from.

    A file counts once a session, whatever versions of it follow; of logs and builds each version does,
    since each would have been printed. Binary content would not have been read, so it counts nothing.
    """
    ref = parse_handle(handle).artifact
    try:
        artifact = artifact_of(ctx, ref) if isinstance(ref, ArtifactRef) else _by_path(ctx, ref)
        if artifact is None or artifact.growing or are_rows(artifact):
            return None
        version = version_of(ctx, artifact, ref.version)
    except NotFoundError:
        return None
    return NewContent(
        artifact=artifact.number,
        version=version.version,
        tool=tool,
        handle=handle_of(artifact),
        name=artifact.name,
        view_blake3=version.view_blake3 or version.blake3,
        tokens=0 if version.binary else version_tokens(ctx, version, count=False),
        once=artifact.kind is Kind.FILE,
    )


def _by_path(ctx: Context, ref: PathRef) -> Artifact | None:
    """What is stored of a file, as it was asked for by its path."""
    try:
        place = ctx.roots.confine(ref.path)
    except PathNotAllowedError:
        return None
    return ctx.store.artifact_by_path(ctx.settings.workspace, place.absolute)


def delivery_stats(ledger: Ledger, workspace: str) -> DeliveryStats:
    """Everything that was delivered in a workspace, by session, tool and artifact."""
    leases = ledger.leases(workspace)
    uses, contents = ledger.uses(workspace), ledger.contents(workspace)
    delivered = sum(sum(lease.state.delivered.values()) for lease in leases)
    inline, unmeasured = _inline(contents)
    return DeliveryStats(
        delivered_tokens=delivered,
        inline_tokens=inline,
        kept_out_tokens=_less(inline, delivered),
        unmeasured=unmeasured,
        sessions=tuple(_session(lease, contents) for lease in leases),
        tools=_tools(uses, contents),
        artifacts=_artifacts(uses, contents),
    )


def _inline(contents: Iterable[ContentRow]) -> tuple[int | None, int]:
    """The tokens of what was counted, None where nothing was, and how many contents were not."""
    counts = [content.tokens for content in contents]
    known = [tokens for tokens in counts if tokens is not None]
    return (sum(known) if known or not counts else None), len(counts) - len(known)


def _less(inline: int | None, delivered: int) -> int | None:
    return None if inline is None else inline - delivered


def _session(lease: LeaseRow, contents: Iterable[ContentRow]) -> SessionUse:
    inline, unmeasured = _inline(one for one in contents if one.lease_id == lease.lease_id)
    delivered = sum(lease.state.delivered.values())
    return SessionUse(
        session=lease.session,
        delivered=dict(lease.state.delivered),
        delivered_tokens=delivered,
        inline_tokens=inline,
        kept_out_tokens=_less(inline, delivered),
        unmeasured=unmeasured,
    )


def _tools(uses: Iterable[UseRow], contents: Iterable[ContentRow]) -> tuple[ToolUse, ...]:
    calls: dict[str, int] = defaultdict(int)
    tokens: dict[str, int] = defaultdict(int)
    for use in uses:
        calls[use.tool] += use.calls
        tokens[use.tool] += use.tokens
    brought: dict[str, list[ContentRow]] = defaultdict(list)
    for content in contents:
        brought[content.tool].append(content)
    return tuple(
        ToolUse(tool, calls[tool], tokens[tool], _less(_inline(brought[tool])[0], tokens[tool]))
        for tool in sorted(calls, key=lambda tool: (-tokens[tool], tool))
    )


def _artifacts(uses: Iterable[UseRow], contents: Iterable[ContentRow]) -> tuple[ArtifactUse, ...]:
    tokens: dict[int, int] = defaultdict(int)
    for use in uses:
        tokens[use.artifact] += use.tokens
    rows: dict[int, list[ContentRow]] = defaultdict(list)
    for content in contents:
        rows[content.artifact].append(content)
    found: list[ArtifactUse] = []
    for number, brought in rows.items():
        if not number:  # what passed without being stored
            continue
        # In part uncounted is uncounted: the difference would be told of less than was delivered about.
        unknown = any(content.tokens is None for content in brought)
        inline = None if unknown else _inline(brought)[0]
        last = brought[-1]
        found.append(
            ArtifactUse(last.handle, last.name, tokens[number], inline, _less(inline, tokens[number]))
        )
    return tuple(sorted(found, key=lambda one: (-(one.kept_out_tokens or 0), one.handle)))
