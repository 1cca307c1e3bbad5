"""Digests of stored logs and test runs, computed once per content and kept in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_offload.digest import DIGEST_VERSION, Digest, Digester
from mcp_offload.digest.model import Cause, Excerpt, Failure, Lines, Section, Template, Verdict
from mcp_offload.digest.render import render
from mcp_offload.errors import InvalidArgumentError, SpanOutOfRangeError, SymbolNotFoundError
from mcp_offload.handle import ArtifactRef, FailureSelector, parse_handle
from mcp_offload.models import (
    Artifact,
    CauseEntry,
    DigestResult,
    FailureEntry,
    Monitor,
    Span,
    StoreResult,
    Version,
)
from mcp_offload.service.context import Context, handle_of, has_digest
from mcp_offload.service.jsonable import to_json
from mcp_offload.service.links import linked_symbols
from mcp_offload.service.runs_kept import outcome_of

CACHED_DIGESTS = 16
CHUNK_BYTES = 1 << 20
DIGEST_TOKENS = 600
# A longer log cannot be shorter than its digest.
SMALL_BYTES = 8_000


def with_digest(ctx: Context, result: StoreResult, monitor: Monitor) -> StoreResult:
    """The result of a store that is already acknowledged, with a digest where it is a log."""
    ref = parse_handle(result.handle).artifact
    assert isinstance(ref, ArtifactRef)
    artifact = ctx.store.artifact(ctx.settings.workspace, ref.number)
    version = ctx.store.version(ctx.settings.workspace, ref.number, result.version)
    if not has_digest(artifact, version):
        return result
    return replace(result, digest=digest_result(ctx, artifact, version, monitor))


def digest_of(ctx: Context, artifact: Artifact, version: Version, monitor: Monitor) -> Digest:
    """The digest of a version: from memory, from the store, or made now from one pass over its view."""
    outcome = outcome_of(ctx, artifact, version)
    status = None if outcome is None else outcome.exit_status
    told = "" if status is None else f":exit {status}"
    key = f"{version.view_blake3 or version.blake3}:digest:{DIGEST_VERSION}{told}"
    known = ctx.digests.get(key)
    if known is not None:
        return known
    stored = ctx.store.outline_get(key)
    if stored is not None:
        digest = load_digest(stored)
    else:
        digest = _digested(ctx, version, status, monitor)
        if not version.growing:
            ctx.store.outline_put(key, dump_digest(digest), "")
    while len(ctx.digests) >= CACHED_DIGESTS:
        ctx.digests.pop(next(iter(ctx.digests)), None)
    ctx.digests[key] = digest
    return digest


def digest_result(
    ctx: Context, artifact: Artifact, version: Version, monitor: Monitor, max_tokens: int = DIGEST_TOKENS
) -> DigestResult:
    """The digest as clients get it: fields, and the text shown to a model within ``max_tokens``."""
    digest = digest_of(ctx, artifact, version, monitor)
    handle = handle_of(artifact, version.version)
    lines = render(digest, handle, ctx.counter.count, max_tokens, _whole(ctx, version))
    symbols = linked_symbols(ctx, digest.failures, monitor)
    text = _with_links(ctx, handle, lines, symbols, max_tokens)
    return DigestResult(
        verdict=digest.verdict.value,
        complete=digest.complete,
        tools=digest.tools,
        totals=digest.totals,
        failures=tuple(
            replace(failure_entry(artifact, version, digest, i), symbol=symbols.get(i))
            for i in range(len(digest.failures))
        ),
        causes=tuple(
            CauseEntry(cause.message, cause.count, failure_handle(artifact, version, cause.first))
            for cause in digest.causes
        ),
        notes=digest.notes,
        text=text,
        tokens=ctx.counter.count(text),
    )


def _with_links(
    ctx: Context, handle: str, lines: Sequence[str], symbols: Mapping[int, str], max_tokens: int
) -> str:
    """The lines with ``-> f12#Invoice.total`` after each failure at a known symbol, while it fits."""
    text = "\n".join(lines)
    for index, symbol in symbols.items():
        mark = f"{handle}#!{index + 1} "
        linked = "\n".join(
            f"{line} -> {symbol}" if line.startswith(mark) else line for line in text.split("\n")
        )
        if ctx.counter.count(linked) > max_tokens:
            break
        text = linked
    return text


def failure_entry(artifact: Artifact, version: Version, digest: Digest, index: int) -> FailureEntry:
    """The failure at ``index``, which counts from 0; its handle counts from 1."""
    failure = digest.failures[index]
    return FailureEntry(
        handle=failure_handle(artifact, version, index),
        name=failure.name,
        kind=failure.kind,
        file=failure.file,
        line=failure.line,
        message=failure.message,
        log_line=failure.log_line,
    )


def failure_span(
    ctx: Context, artifact: Artifact, version: Version, selector: FailureSelector, monitor: Monitor
) -> Span:
    """The bytes of a failure's block, traceback or captured output.

    Raises:
        InvalidArgumentError: the artifact is no log or test run.
        SpanOutOfRangeError: there are not so many failures.
        SymbolNotFoundError: the failure has no such part.
    """
    handle = handle_of(artifact, version.version)
    if not has_digest(artifact, version):
        raise InvalidArgumentError(
            f"{handle} {artifact.name} is no log or test run, so it lists no failures."
        )
    digest = digest_of(ctx, artifact, version, monitor)
    if selector.index > len(digest.failures):
        raise SpanOutOfRangeError(
            f"{handle} lists {len(digest.failures)} failures; there is no !{selector.index}."
        )
    failure = digest.failures[selector.index - 1]
    lines = {None: failure.block, "tb": failure.traceback, "out": failure.output}[selector.part]
    if lines is None:
        part = "traceback" if selector.part == "tb" else "captured output"
        raise SymbolNotFoundError(
            f"{handle}#!{selector.index} has no {part}; read {handle}#!{selector.index}."
        )
    with ctx.store.open_view(version) as view:
        last = min(lines.end, view.line_count)
        return view.line_span(min(lines.start, last), last)


def _whole(ctx: Context, version: Version) -> str | None:
    """The log itself where it may be shorter than its digest."""
    if version.size_bytes > SMALL_BYTES:
        return None
    with ctx.store.open_view(version) as view:
        return view.read(0, view.size_bytes).decode("utf-8", "replace")


def failure_link(
    ctx: Context, artifact: Artifact, version: Version, selector: FailureSelector, monitor: Monitor
) -> str | None:
    """``-> f12#Invoice.total``: the stored symbol at a failure's place, None where none is known."""
    failure = digest_of(ctx, artifact, version, monitor).failures[selector.index - 1]
    symbol = linked_symbols(ctx, [failure], monitor).get(0)
    return f"-> {symbol}" if symbol else None


def failure_handle(artifact: Artifact, version: Version, index: int) -> str:
    """The printed handle of the failure at ``index``, which counts from 0."""
    return handle_of(artifact, version.version, FailureSelector(index + 1))


def _digested(ctx: Context, version: Version, exit_status: int | None, monitor: Monitor) -> Digest:
    digester = Digester(exit_status)
    done = 0
    with ctx.store.open_view(version) as view:
        for chunk in view.chunks(CHUNK_BYTES):
            digester.feed(chunk)
            done += len(chunk)
            monitor.advance(done, view.size_bytes, "digesting")
    return digester.finish()


# --- stored form --------------------------------------------------------------------------------


def dump_digest(digest: Digest) -> bytes:
    """Compact JSON of the digest's own fields."""
    return json.dumps(to_json(digest), separators=(",", ":")).encode()


def load_digest(payload: bytes) -> Digest:
    """The inverse of :func:`dump_digest`."""
    row: dict[str, Any] = json.loads(payload)
    row["verdict"] = Verdict(row["verdict"])
    row["failures"] = tuple(_failure(failure) for failure in row["failures"])
    row["causes"] = tuple(Cause(**cause) for cause in row["causes"])
    row["sections"] = tuple(_section(section) for section in row["sections"])
    row["excerpt"] = _excerpt(row["excerpt"])
    row["tools"], row["notes"] = tuple(row["tools"]), tuple(row["notes"])
    return Digest(**row)


def _failure(row: dict[str, Any]) -> Failure:
    for key in ("block", "traceback", "output"):
        row[key] = row[key] and Lines(**row[key])
    return Failure(**row)


def _section(row: dict[str, Any]) -> Section:
    return Section(row["name"], row["kind"], Lines(**row["lines"]))


def _excerpt(row: dict[str, Any]) -> Excerpt:
    templates = tuple(Template(**template) for template in row["templates"])
    return Excerpt(templates, row["unlisted"], tuple(row["head"]), tuple(row["tail"]))
