"""Editing by handle: only the new text travels, and the file on disk follows or nothing happens."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Literal

from mcp_offload.errors import (
    ConflictError,
    InvalidArgumentError,
    NotEditableError,
    NotTextError,
    SourceError,
    SourceUnreadableError,
    StoreError,
)
from mcp_offload.handle import LinesSelector
from mcp_offload.models import Artifact, EditResult, FileStamp, Monitor, Outline, Span, Version
from mcp_offload.outline.encoding import encode_back, sniff
from mcp_offload.paths import ConfinedPath, replace_file
from mcp_offload.paths.confine import file_stamp
from mcp_offload.service.compressed import is_gzip
from mcp_offload.service.context import Context, Session, handle_of
from mcp_offload.service.ingest import SNIFF_BYTES, Named, new_version
from mcp_offload.service.outlines import outline_of, symbol_handle
from mcp_offload.service.quota import commit
from mcp_offload.service.resolve import Target, resolve
from mcp_offload.service.select import Selection, is_whole_lines, select
from mcp_offload.service.splice import Splice, splice

EDITABLE_BYTES = 64 << 20

EditOp = Literal["replace", "before", "after"]


@dataclass(frozen=True, slots=True)
class Edit:
    """What to do: replace what the handle names with ``text``, or insert ``text`` before or after it."""

    handle: str
    text: str
    op: EditOp = "replace"
    write: bool = True


def edit(ctx: Context, request: Edit, session: Session, monitor: Monitor) -> EditResult:
    """Make the edited content a new version and, where the artifact has a source file, write that too.

    The file is replaced atomically and only where it still holds exactly the bytes of the version the
    handle means; mode bits, encoding, byte-order mark, line endings and final newline stay.

    Raises:
        ConflictError: the file holds something else; both versions are named, nothing was written.
        NotEditableError: too large, or the encoding cannot hold the new text.
        StoreError: the store cannot take the new version; the file is as it was.
        NotTextError, InvalidArgumentError, and what resolving raises.
    """
    if request.op not in ("replace", "before", "after"):
        raise InvalidArgumentError("op is replace, before or after.")
    target = resolve(ctx, request.handle, session, monitor, follow_path=False)
    if target.base.binary:
        raise NotTextError(f"{target.artifact.name} is binary; only text can be edited.")
    writes = request.write and target.artifact.source_path is not None
    if writes and not target.current:
        raise _conflict(ctx, target, monitor)
    selection = select(ctx, target, monitor, strict=True)
    view, raw = _contents(ctx, target.base)
    whole_lines = is_whole_lines(target.selector, view, selection.span)
    made = splice(view, selection.span, request.text, request.op, whole_lines=whole_lines)
    data = _encoded(raw, view, made.view)
    version = _commit(ctx, target, data, raw, monitor, writes=writes)
    session.show(target.artifact.number, version.version)
    return _result(ctx, target, version, made, selection, monitor, path=writes)


# --- what the edit applies to -------------------------------------------------------------------


def _contents(ctx: Context, version: Version) -> tuple[bytes, bytes]:
    if version.size_bytes > EDITABLE_BYTES:
        raise NotEditableError(
            f"{version.size_bytes} bytes are too many to edit by handle (at most {EDITABLE_BYTES}); "
            "export it instead."
        )
    with ctx.store.open_raw(version) as reader:
        raw = reader.read(0, reader.size_bytes)
    if version.view_blake3 is None:
        return raw, raw
    with ctx.store.open_view(version) as reader:
        return reader.read(0, reader.size_bytes), raw


def _encoded(raw: bytes, view: bytes, edited: bytes) -> bytes:
    """The edited view in the encoding of the stored bytes; the bytes around the edit must not change."""
    if view is raw:
        return edited
    if is_gzip(raw):
        raise NotEditableError("Compressed content is not edited in place; edit the file it was made from.")
    encoding = sniff(raw[:SNIFF_BYTES], whole=len(raw) <= SNIFF_BYTES)
    mark = raw[: encoding.bom_bytes]
    if mark + encode_back(view, encoding) != raw:
        raise NotEditableError(
            f"The stored {encoding.name} bytes do not survive decoding, so an edit would change others. "
            "Export, convert and store it as UTF-8."
        )
    return mark + encode_back(edited, encoding)


# --- writing ------------------------------------------------------------------------------------


def _commit(
    ctx: Context, target: Target, data: bytes, raw: bytes, monitor: Monitor, *, writes: bool
) -> Version:
    artifact = target.artifact
    named = Named(artifact.name, artifact.kind, target.base.language)
    with ctx.store.stage([data], monitor=monitor) as staged:
        stamp = _write_source(ctx, target, data, raw, monitor) if writes else None
        put, view = new_version(
            ctx, staged, artifact.name, named, path=artifact.source_path, stamp=stamp, number=artifact.number
        )
        try:
            return commit(ctx, artifact.workspace, [put])[0][1]
        except StoreError as exc:
            if stamp is not None:
                _put_back(ctx, artifact, raw, stamp, exc)
            raise
        finally:
            if view is not None:
                view.close()


def _put_back(ctx: Context, artifact: Artifact, raw: bytes, written: FileStamp, cause: StoreError) -> None:
    """Undo a write whose version the store refused, so that a failed edit has changed nothing.

    Raises:
        StoreError: the file could not be put back; says that it has the new content.
    """
    assert artifact.source_path is not None
    path = ctx.roots.confine(artifact.source_path)
    durable = ctx.settings.durability == "host"
    try:
        done = replace_file(path, raw, written, durable=durable)
    except SourceError:
        done = False
    if not done:
        raise StoreError(
            f"{artifact.name} was written, but its new version was not stored: {cause}"
        ) from cause


def _write_source(ctx: Context, target: Target, data: bytes, raw: bytes, monitor: Monitor) -> FileStamp:
    source = target.artifact.source_path
    assert source is not None
    path = ctx.roots.confine(source)
    stamp = _disk_stamp(ctx, path, raw)
    if stamp is None or not replace_file(path, data, stamp, durable=ctx.settings.durability == "host"):
        raise _conflict(ctx, target, monitor)
    fd = ctx.roots.open_file(path)
    try:
        return file_stamp(fd, time.time_ns())
    finally:
        os.close(fd)


def _disk_stamp(ctx: Context, path: ConfinedPath, raw: bytes) -> FileStamp | None:
    """What the file looks like now, where it holds exactly ``raw``; else None."""
    try:
        fd = ctx.roots.open_file(path)
    except SourceUnreadableError:
        return None
    try:
        stamp = file_stamp(fd, time.time_ns())
        if stamp.size_bytes != len(raw):
            return None
        content = b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
        return stamp if content == raw else None
    finally:
        os.close(fd)


def _conflict(ctx: Context, target: Target, monitor: Monitor) -> ConflictError:
    """Name the version the edit was based on and the one that is on disk, which is stored first."""
    again = resolve(ctx, handle_of(target.artifact), Session(), monitor)
    expected = handle_of(again.artifact, target.base.version)
    if again.note:
        return ConflictError(
            f"{target.artifact.name}: {again.note}. Nothing was written; {expected} is still readable.",
            expected=expected,
            actual=None,
        )
    actual = handle_of(again.artifact, again.newest.version)
    return ConflictError(
        f"{target.artifact.name} is no longer what {expected} says; it is now {actual}. "
        f"Nothing was written. See diff {expected} {actual}, then edit by {actual}.",
        expected=expected,
        actual=actual,
    )


# --- what came out ------------------------------------------------------------------------------


def _result(
    ctx: Context,
    target: Target,
    version: Version,
    made: Splice,
    selection: Selection,
    monitor: Monitor,
    *,
    path: bool,
) -> EditResult:
    artifact = ctx.store.artifact(target.artifact.workspace, target.artifact.number)
    before = outline_of(ctx, artifact, target.base, monitor)
    after = outline_of(ctx, artifact, version, monitor)
    inserted = made.view[made.inserted.start_byte : made.inserted.end_byte]
    first = made.view.count(b"\n", 0, made.inserted.start_byte) + 1
    last = max(first, first + inserted.rstrip(b"\r\n").count(b"\n"))
    return EditResult(
        handle=_edited_handle(artifact, version, after, made.inserted, selection, (first, last)),
        name=artifact.name,
        version=version.version,
        base=handle_of(artifact, target.base.version),
        path=artifact.source_path if path else None,
        start_line=first,
        end_line=last,
        tokens=ctx.counter.count(inserted),
        syntax_error_line=_new_error(before, after),
        indented=made.indented,
    )


def _edited_handle(
    artifact: Artifact,
    version: Version,
    after: Outline,
    inserted: Span,
    selection: Selection,
    lines: tuple[int, int],
) -> str:
    inside = [
        s
        for s in after.symbols
        if s.kind not in ("chunk", "lines")
        and s.span.start_byte < inserted.end_byte
        and inserted.start_byte <= s.span.start_byte
    ]
    if inside:
        same = [s for s in inside if selection.symbol is not None and s.path == selection.symbol.path]
        return symbol_handle(artifact, version, (same or inside)[0])
    return handle_of(artifact, version.version, LinesSelector(lines[0], lines[1]))


def _new_error(before: Outline, after: Outline) -> int | None:
    """The first line near a syntax error in ``after`` where ``before`` had fewer of them."""
    bad = [s.start_line for s in after.symbols if s.near_error]
    if len(bad) > sum(s.near_error for s in before.symbols):
        return min(bad)
    return 1 if before.parsed and not after.parsed else None
