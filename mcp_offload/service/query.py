"""Queries by handle: ``f3#?$.rows[*].name`` or ``f3#?select ...``; the rows become an artifact."""

from __future__ import annotations

import re
import tempfile
from typing import Final

from mcp_offload.distill import is_pipeline
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.handle import ArtifactRef, QuerySelector, parse_handle
from mcp_offload.models import Artifact, Kind, Monitor, Version
from mcp_offload.parsing.queries import Form, Outcome, run_query
from mcp_offload.service.context import Context, artifact_of, handle_of
from mcp_offload.service.ingest import Named, store_content, version_tokens
from mcp_offload.service.rows import rows_name

MOST_BYTES: Final = 512 << 20
MOST_JSON_BYTES: Final = 64 << 20
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
_SQL_FORMS: Final = frozenset({"json", "jsonl", "csv", "parquet"})
_PATH_FORMS: Final = frozenset({"json", "jsonl", "csv", "text"})


def stored_query(
    ctx: Context, artifact: Artifact, version: Version, selector: QuerySelector, monitor: Monitor
) -> tuple[Artifact, Version, str | None]:
    """Run a query over a version and store its rows, one JSON value a line; and what to say of them.

    Raises:
        InvalidArgumentError: the query or the artifact is none of those that fit each other, or it takes
            too much time or memory.
    """
    handle = handle_of(artifact, version.version)
    sql = _SQL.match(selector.text) is not None
    if not sql and not is_pipeline(selector.text):
        examples = " or ".join(f"{handle}#?{query}" for query in EXAMPLES)
        raise InvalidArgumentError(f"A query is a JSONPath or SQL: {examples}.")
    form = _form(artifact, version)
    if form not in (_SQL_FORMS if sql else _PATH_FORMS):
        asked = (
            "SQL asks JSON, JSON lines, CSV and Parquet" if sql else "A JSONPath asks text, Parquet only SQL"
        )
        raise InvalidArgumentError(f"{asked}; {handle} {artifact.name} does not fit.")
    outcome = _run(ctx, version, selector.text, form, sql=sql, monitor=monitor)
    # What was asked instead of read is known by its tokens then; a look-up from the second query on.
    version_tokens(ctx, version, count=True)
    stored = store_content(ctx, [outcome.rows], Named(rows_name(artifact, selector.text), Kind.FILE), monitor)
    ref = parse_handle(stored.handle).artifact
    assert isinstance(ref, ArtifactRef)
    found = artifact_of(ctx, ref)
    return found, ctx.store.version(found.workspace, found.number, stored.version), outcome.note


def _form(artifact: Artifact, version: Version) -> Form | None:
    name = artifact.name.lower().removesuffix(".gz")
    for ending, form in _FORMS:
        if name.endswith(ending):
            return form
    if version.binary:
        return None
    return "json" if version.language == "json" else "text"


def _run(ctx: Context, version: Version, query: str, form: Form, *, sql: bool, monitor: Monitor) -> Outcome:
    opened = ctx.store.open_raw(version) if form == "parquet" else ctx.store.open_view(version)
    with opened as reader, tempfile.TemporaryFile(dir=ctx.settings.store_dir) as data:
        most = MOST_JSON_BYTES if form in ("json", "text") else MOST_BYTES
        if reader.size_bytes > most:
            raise InvalidArgumentError(
                f"It has {reader.size_bytes} bytes; queries read up to {most}. Search it, or read parts."
            )
        for piece in reader.chunks(1 << 20):
            data.write(piece)
            monitor.advance(data.tell(), reader.size_bytes, "reading")
        data.flush()
        data.seek(0)
        outcome = run_query(query, data.fileno(), reader.size_bytes, form, sql=sql, monitor=monitor)
    if outcome.missing:
        raise InvalidArgumentError(
            "SQL needs DuckDB: pip install 'mcp-offload[sql]'. JSONPath works without."
        )
    if outcome.wrong is not None:
        raise InvalidArgumentError(outcome.wrong)
    return outcome
