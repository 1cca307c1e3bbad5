"""The outline of a log: its digest, then every failure, or where none failed its phases and suites."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_offload.digest import Digest
from mcp_offload.handle import LinesSelector
from mcp_offload.models import Artifact, DigestResult, Monitor, SymbolEntry, Version
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.digests import digest_of, digest_result, failure_entry
from mcp_offload.service.limits import Limits
from mcp_offload.service.outlines import outline_of, symbol_entry
from mcp_offload.service.render import outline_line
from mcp_offload.service.tally import Tally

HEADER_TOKENS = 60
HEADER_BYTES = 300
DIGEST_SHARE = 2


def log_outline(
    ctx: Context,
    artifact: Artifact,
    version: Version,
    limits: Limits,
    part: tuple[int, int] | None,
    monitor: Monitor,
) -> tuple[list[SymbolEntry], list[SymbolEntry], DigestResult | None]:
    """The entries of a log's outline that fit, those that do not, and the digest above them.

    Entries are in the order of their first lines, so that outlining the lines from the first one left
    out goes on exactly there. ``part`` keeps those that start within some lines, without the digest. A
    log in which nothing is recognised is divided by lines.
    """
    digest = digest_of(ctx, artifact, version, monitor)
    shown = None
    tokens, size = limits.max_tokens - HEADER_TOKENS, limits.max_bytes - HEADER_BYTES
    if part is None:
        shown = digest_result(ctx, artifact, version, monitor, min(600, limits.max_tokens // DIGEST_SHARE))
        tokens -= shown.tokens
        size -= len(shown.text.encode("utf-8", "replace"))
    entries = _failures(artifact, version, digest) or _sections(artifact, version, digest)
    if not entries:
        table = outline_of(ctx, artifact, version, monitor)
        entries = [symbol_entry(artifact, version, symbol) for symbol in table.symbols]
    first, last = part or (1, version.lines)
    entries = [entry for entry in entries if first <= entry.start_line <= last]
    entries.sort(key=lambda entry: entry.start_line)
    kept = _fitting(ctx, entries, tokens, size)
    return entries[:kept], entries[kept:], shown


def _fitting(ctx: Context, entries: Sequence[SymbolEntry], tokens: int, size: int) -> int:
    """How many entries fit; at least one, so that paging goes on."""
    tally = Tally(ctx.counter, tokens)
    for kept, entry in enumerate(entries):
        line = outline_line(entry) + "\n"
        size -= len(line.encode("utf-8", "replace"))
        if size < 0 or not tally.take(line):
            return max(1, kept)
    return len(entries)


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
