"""Queries by handle: ``f3#?$.rows[*].name`` or ``f3#?select ...``; the rows become an artifact."""

from __future__ import annotations

import re
import tempfile
from typing import Final

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import ArtifactRef, QuerySelector, parse_handle
from mcp_offload.models import Artifact, Kind, Monitor, Version
from mcp_offload.parsing.queries import Form, run_query
from mcp_offload.service.context import Context, artifact_of, handle_of
from mcp_offload.service.ingest import Named, store_content

MOST_BYTES: Final = 512 << 20
MOST_JSON_BYTES: Final = 64 << 20
NAME_CHARS: Final = 60
EXAMPLES: Final = ("$.rows[*].name", "select count(*) from t")
_SQL: Final = re.compile(r"\s*(?:select|with|from)\b", re.IGNORECASE)
_FORMS: Final[tuple[tuple[str, Form], ...]] = (
    (".jsonl", "jsonl"),
    (".ndjson", "jsonl"),
    (".csv", "csv"),
    (".tsv", "csv"),
    (".tab", "csv"),
    (".parquet", "parquet"),
)


def stored_query(
    ctx: Context, artifact: Artifact, version: Version, selector: QuerySelector, monitor: Monitor
) -> tuple[Artifact, Version]:
    """Run a query over a version and store its rows, one JSON value a line.

    Raises:
        InvalidArgumentError: the query or the artifact is none of those that fit each other, or it takes
            too much time or memory.
    """
    handle = handle_of(artifact, version.version)
    sql = _SQL.match(selector.text) is not None
    if not sql and not selector.text.startswith("$"):
        examples = " or ".join(f"{handle}#?{query}" for query in EXAMPLES)
        raise InvalidArgumentError(f"A query is a JSONPath or SQL: {examples}.")
    form = _form(artifact, version)
    if form is None or (not sql and form not in ("json", "jsonl")):
        asked = "SQL asks JSON, JSON lines, CSV and Parquet" if sql else "A JSONPath asks JSON and JSON lines"
        raise InvalidArgumentError(f"{asked}; {handle} {artifact.name} is none of those.")
    rows = _rows(ctx, version, selector.text, form, sql=sql, monitor=monitor)
    name = f"{artifact.name}?{selector.text[:NAME_CHARS]}.jsonl"
    stored = store_content(ctx, [rows], Named(name, Kind.FILE), monitor)
    ref = parse_handle(stored.handle).artifact
    assert isinstance(ref, ArtifactRef)
    found = artifact_of(ctx, ref)
    return found, ctx.store.version(found.workspace, found.number, stored.version)


def _form(artifact: Artifact, version: Version) -> Form | None:
    name = artifact.name.lower()
    for ending, form in _FORMS:
        if name.endswith(ending):
            return form
    return "json" if version.language == "json" else None


def _rows(ctx: Context, version: Version, query: str, form: Form, *, sql: bool, monitor: Monitor) -> bytes:
    opened = ctx.store.open_raw(version) if form == "parquet" else ctx.store.open_view(version)
    with opened as reader, tempfile.TemporaryFile(dir=ctx.settings.store_dir) as data:
        most = MOST_JSON_BYTES if form in ("json", "jsonl") and not (sql and form == "jsonl") else MOST_BYTES
        if reader.size_bytes > most:
            raise InvalidArgumentError(
                f"It has {reader.size_bytes} bytes; queries read up to {most}. Search it, or read parts."
            )
        for piece in reader.chunks(1 << 20):
            data.write(piece)
            monitor.advance(data.tell(), reader.size_bytes, "reading")
        data.flush()
        data.seek(0)
        outcome = run_query(query, data.fileno(), reader.size_bytes, form, sql=sql)
    if outcome.missing:
        raise InvalidArgumentError(
            "SQL needs DuckDB: pip install 'mcp-offload[sql]'. JSONPath works without."
        )
    if outcome.wrong is not None:
        raise InvalidArgumentError(outcome.wrong)
    return outcome.rows
