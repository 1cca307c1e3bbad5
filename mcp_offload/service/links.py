"""From the places that a log names to the symbols of stored sources."""

from __future__ import annotations

import os.path
from collections.abc import Sequence

from mcp_offload.digest.model import Failure
from mcp_offload.errors import NotFoundError
from mcp_offload.models import Artifact, Monitor, Symbol, Version
from mcp_offload.service.context import Context
from mcp_offload.service.outlines import outline_of, symbol_handle

MOST_FILES = 8
SAME_NAME = 20


def linked_symbols(ctx: Context, failures: Sequence[Failure], monitor: Monitor) -> dict[int, str]:
    """The innermost symbol at each failure's file and line, by the failure's index.

    Only where exactly one stored source fits the file as the log names it. The first files named are
    looked at, and each in the newest version stored.
    """
    sources: dict[str, tuple[Artifact, Version, Sequence[Symbol]] | None] = {}
    links: dict[int, str] = {}
    for index, failure in enumerate(failures):
        file = failure.file
        if file is None or failure.line is None:
            continue
        if file not in sources:
            if len(sources) >= MOST_FILES:
                continue
            sources[file] = _source(ctx, file, monitor)
        source = sources[file]
        symbol = source and _innermost(source[2], failure.line)
        if source and symbol:
            links[index] = symbol_handle(source[0], source[1], symbol)
    return links


def _source(ctx: Context, file: str, monitor: Monitor) -> tuple[Artifact, Version, Sequence[Symbol]] | None:
    artifact = _artifact(ctx, file)
    if artifact is None:
        return None
    try:
        version = ctx.store.version(artifact.workspace, artifact.number, None)
        if version.binary or version.language is None:
            return None
        return artifact, version, outline_of(ctx, artifact, version, monitor).symbols
    except NotFoundError:
        return None


def _artifact(ctx: Context, file: str) -> Artifact | None:
    workspace = ctx.settings.workspace
    known = ctx.store.artifact_by_path(workspace, os.path.normpath(os.path.join(ctx.settings.base_dir, file)))
    if known is not None:
        return known
    tail = "/" + os.path.normpath(file).lstrip("/")
    rows, _ = ctx.store.list(workspace, limit=SAME_NAME, offset=0, name_contains=os.path.basename(tail))
    # A log made elsewhere (in a container, say) names the file under another root.
    fitting = [a for a, _ in rows if ("/" + a.name).endswith(tail) or tail.endswith("/" + a.name)]
    return fitting[0] if len(fitting) == 1 else None


def _innermost(symbols: Sequence[Symbol], line: int) -> Symbol | None:
    around = [s for s in symbols if s.start_line <= line <= s.end_line and s.kind not in ("chunk", "lines")]
    return min(around, key=lambda s: (s.end_line - s.start_line, -len(s.path)), default=None)
