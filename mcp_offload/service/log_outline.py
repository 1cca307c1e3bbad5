"""The outline of a log: its digest, then every failure, then its phases, groups and suites."""

from __future__ import annotations

from mcp_offload.digest import Digest
from mcp_offload.handle import LinesSelector
from mcp_offload.models import Artifact, Monitor, OutlineResult, SymbolEntry, Version
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.digests import digest_of, digest_result, failure_entry
from mcp_offload.service.ingest import version_tokens
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import outline_of, symbol_entry
from mcp_offload.service.render import outline_line

HEADER_TOKENS = 60
HEADER_BYTES = 300
DIGEST_SHARE = 3


def log_outline(
    ctx: Context, artifact: Artifact, version: Version, limits: Limits, monitor: Monitor
) -> OutlineResult:
    """The outline of a whole log or test run within a budget.

    A log in which nothing is recognised is divided by lines.
    """
    digest = digest_of(ctx, artifact, version, monitor)
    shown = digest_result(ctx, artifact, version, monitor, min(600, limits.max_tokens // DIGEST_SHARE))
    entries = _failures(artifact, version, digest) + _sections(artifact, version, digest)
    if not entries:
        table = outline_of(ctx, artifact, version, monitor)
        entries = [symbol_entry(artifact, version, symbol) for symbol in table.symbols]
    tokens = limits.max_tokens - HEADER_TOKENS - shown.tokens
    size = limits.max_bytes - HEADER_BYTES - len(shown.text.encode("utf-8", "replace"))
    kept: list[SymbolEntry] = []
    for entry in entries:
        line = outline_line(entry) + "\n"
        tokens -= ctx.counter.count(line)
        size -= len(line.encode("utf-8", "replace"))
        if kept and (tokens < 0 or size < 0):
            break
        kept.append(entry)
    left = entries[len(kept) :]
    rest = None
    if left:
        first = min(entry.start_line for entry in left)
        rest = handle_of(artifact, version.version, LinesSelector(first, version.lines))
    return OutlineResult(
        handle=handle_of(artifact, version.version),
        name=artifact.name,
        language=version.language,
        parsed=True,
        reason=None,
        symbols=tuple(kept),
        bytes=version.size_bytes,
        lines=version.lines,
        tokens=version_tokens(ctx, version, count=True),
        omitted=len(left),
        rest=rest,
        digest=shown,
    )


def _failures(artifact: Artifact, version: Version, digest: Digest) -> list[SymbolEntry]:
    entries: list[SymbolEntry] = []
    for index, failure in enumerate(digest.failures):
        entry = failure_entry(artifact, version, digest, index)
        name = " ".join(part for part in (failure.name, failure.file) if part)
        entries.append(
            SymbolEntry(
                entry.handle,
                name,
                failure.kind,
                failure.block.start,
                failure.block.end,
                None,
                near_error=False,
            )
        )
    return entries


def _sections(artifact: Artifact, version: Version, digest: Digest) -> list[SymbolEntry]:
    return [
        SymbolEntry(
            handle_of(artifact, version.version, LinesSelector(section.lines.start, section.lines.end)),
            section.name,
            section.kind,
            section.lines.start,
            section.lines.end,
            None,
            near_error=False,
        )
        for section in digest.sections
    ]
