"""Bringing bytes into the store: files, directories, globs and content."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

from blake3 import blake3

from mcp_offload.errors import (
    ArtifactTooLargeError,
    InvalidArgumentError,
    PathNotAllowedError,
    SourceUnreadableError,
)
from mcp_offload.models import (
    Artifact,
    FileStamp,
    Kind,
    Monitor,
    SilentMonitor,
    SkippedFile,
    StoreManyResult,
    StoreResult,
    Version,
)
from mcp_offload.outline.classify import kind_of
from mcp_offload.outline.encoding import BINARY, Encoding, sniff, transcode
from mcp_offload.outline.languages import detect
from mcp_offload.paths import ConfinedPath, walk_files
from mcp_offload.paths.confine import file_stamp
from mcp_offload.service.compressed import GZIP, decompress, first_bytes, inner_name, is_gzip
from mcp_offload.service.context import Context, handle_of
from mcp_offload.service.quota import commit
from mcp_offload.store import NewVersion, Staged
from mcp_offload.tokens import LARGE_BYTES

CHUNK_BYTES = 1 << 20
SNIFF_BYTES = 1 << 16
MANY_FILES = 5_000
MANY_BYTES = 256 << 20
# Files whose times are this close to the read may change again without a visible trace.
RACY_NS = 2_000_000_000
# A larger file is staged, since staging hashes without holding it in memory.
HASHED_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Named:
    """What the caller says about new content; None = find out."""

    name: str | None = None
    kind: Kind | None = None
    language: str | None = None


def store_source(
    ctx: Context, source: str, named: Named, monitor: Monitor, count_bytes: int = LARGE_BYTES
) -> StoreResult | StoreManyResult:
    """Store a file, a directory or the files of a glob by path; up to ``count_bytes`` a file is counted.

    Raises:
        PathNotAllowedError, SourceUnreadableError: as :meth:`Roots.open_file`.
        StoreError: the store cannot take it.
    """
    top, pattern = _split_glob(ctx, source)
    if pattern is None and not ctx.roots.is_directory(top):
        return describe(ctx, *store_file(ctx, top, named, monitor), count_bytes=count_bytes)
    return _store_many(ctx, top, pattern, monitor)


def store_content(
    ctx: Context,
    content: Iterable[bytes],
    named: Named,
    monitor: Monitor,
    count_bytes: int = LARGE_BYTES,
) -> StoreResult:
    """Store bytes that have no path. The same name and bytes again give the same artifact."""
    with ctx.store.stage(content, monitor=monitor) as staged:
        name = named.name or "content"
        put, view = new_version(ctx, staged, name, named, anonymous=named.name is None)
        with view if view is not None else nullcontext():
            committed = commit(ctx, ctx.settings.workspace, [put])[0]
    return describe(ctx, *committed, count_bytes=count_bytes)


def store_file(
    ctx: Context, path: ConfinedPath, named: Named, monitor: Monitor
) -> tuple[Artifact, Version, bool]:
    """Store one file as the newest version of its artifact; the same bytes give the same version."""
    known, versions = ctx.store.known_file(ctx.settings.workspace, path.absolute) or (None, ())
    live = {version.version: version for version in versions}
    on_disk = _disk_version(live)
    fd = ctx.roots.open_file(path)
    try:
        if known is not None and on_disk is not None and _certainly_unchanged(on_disk, fd):
            latest = live.get(known.latest) or ctx.store.version(known.workspace, known.number, None)
            return known, latest, False
        return _store_open_file(ctx, path, fd, (known, on_disk), named, monitor)
    finally:
        os.close(fd)


def display_name(ctx: Context, absolute: str) -> str:
    """A source path as clients see it: relative to the base directory where that is shorter."""
    base = ctx.settings.base_dir.rstrip("/") + "/"
    return absolute[len(base) :] if absolute.startswith(base) else absolute


def describe(
    ctx: Context, artifact: Artifact, version: Version, new: bool, *, count_bytes: int = -1
) -> StoreResult:
    """The result that tells a client what is stored; up to ``count_bytes`` its tokens are counted now."""
    return StoreResult(
        handle=handle_of(artifact, version.version),
        name=artifact.name,
        kind=artifact.kind.value,
        version=version.version,
        bytes=version.size_bytes,
        lines=version.lines,
        tokens=version_tokens(ctx, version, count=version.size_bytes <= count_bytes),
        blake3=version.blake3,
        language=version.language,
        path=artifact.source_path,
        new=new,
        binary=version.binary,
    )


def version_tokens(ctx: Context, version: Version, *, count: bool) -> int | None:
    """Exact tokens of a version's view, or None: binary, above 4 MB, or not counted yet."""
    if version.binary:
        return None
    key = version.view_blake3 or version.blake3
    known = ctx.store.tokens_get(key)
    if known is not None or not count or version.size_bytes > LARGE_BYTES:
        return known
    with ctx.store.open_view(version) as reader:
        if reader.size_bytes > LARGE_BYTES:  # a compressed file holds more than it has bytes
            return None
        counted = ctx.counter.count_stream(reader.chunks(SNIFF_BYTES))
    ctx.store.tokens_put(key, counted)
    return counted


# --- one file -----------------------------------------------------------------------------------


def _disk_version(live: Mapping[int, Version]) -> Version | None:
    """The newest version that was read from or written to the file; later ones are store-only edits."""
    return live[max(stamped)] if (stamped := [n for n, v in live.items() if v.stamp is not None]) else None


def _certainly_unchanged(on_disk: Version, fd: int) -> bool:
    stamp = on_disk.stamp
    if stamp is None:
        return False
    return not _racy(stamp) and file_stamp(fd, stamp.read_at_ns) == stamp


def _racy(stamp: FileStamp) -> bool:
    return max(stamp.mtime_ns, stamp.ctime_ns) > stamp.read_at_ns - RACY_NS


def _hashed_unchanged(on_disk: Version, fd: int, stamp: FileStamp) -> bool:
    """True where the bytes are those of the version and nothing is worth writing about it.

    Right after a change the times of a file tell nothing, and a stamp taken then would not either: such
    a file is often read again at once, and hashing it is all that this has to cost.
    """
    if stamp.size_bytes != on_disk.size_bytes or stamp.size_bytes > HASHED_BYTES or not _racy(stamp):
        return False
    data = os.pread(fd, stamp.size_bytes + 1, 0)
    return blake3(data).hexdigest() == on_disk.blake3


def _store_open_file(
    ctx: Context,
    path: ConfinedPath,
    fd: int,
    known: tuple[Artifact | None, Version | None],
    named: Named,
    monitor: Monitor,
) -> tuple[Artifact, Version, bool]:
    stamp = file_stamp(fd, time.time_ns())
    if stamp.size_bytes > ctx.settings.max_artifact_bytes:
        raise ArtifactTooLargeError(
            f"{path.absolute} has {stamp.size_bytes} bytes; at most {ctx.settings.max_artifact_bytes} "
            "are stored as one artifact. Store a part of it."
        )
    artifact, on_disk = known
    if artifact is not None and on_disk is not None and _hashed_unchanged(on_disk, fd, stamp):
        ctx.store.touch(artifact.workspace, [artifact.number])
        return artifact, ctx.store.version(artifact.workspace, artifact.number, None), False
    with _staged_file(ctx, path, fd, stamp, monitor) as staged:
        if file_stamp(fd, stamp.read_at_ns) != stamp:
            # Written to while it was read: the stamp of no moment fits, so none is ever trusted.
            stamp = replace(stamp, read_at_ns=0)
        if artifact is not None and on_disk is not None and on_disk.blake3 == staged.blake3:
            latest = ctx.store.version(artifact.workspace, artifact.number, None)
            if latest.version != on_disk.version:
                return artifact, latest, False
        named = Named(named.name or display_name(ctx, path.absolute), named.kind, named.language)
        put, view = new_version(ctx, staged, path.absolute, named, path=path.absolute, stamp=stamp)
        with view if view is not None else nullcontext():
            return commit(ctx, ctx.settings.workspace, [put])[0]


def _staged_file(ctx: Context, path: ConfinedPath, fd: int, stamp: FileStamp, monitor: Monitor) -> Staged:
    try:
        return ctx.store.stage_file(fd, total_bytes=stamp.size_bytes, monitor=monitor)
    except OSError as exc:
        raise SourceUnreadableError(f"{path.absolute} cannot be read: {exc.strerror}.") from exc


def new_version(
    ctx: Context,
    staged: Staged,
    file_name: str,
    named: Named,
    *,
    path: str | None = None,
    stamp: FileStamp | None = None,
    number: int | None = None,
    anonymous: bool = False,
) -> tuple[NewVersion, Staged | None]:
    """What to commit for staged bytes, and the staged UTF-8 view where that differs from them."""
    head = staged.read(0, SNIFF_BYTES)
    encoding, view = _viewed(ctx, staged, head)
    binary = encoding == BINARY
    if encoding == GZIP:
        file_name = inner_name(file_name)
    shown = staged
    if view is not None:
        shown, head = view, view.read(0, SNIFF_BYTES)
    language = named.language or (None if binary else detect(file_name, head))
    looks = Encoding(BINARY if binary else "utf-8")
    kind = named.kind or kind_of("" if anonymous else file_name, head, looks, language)
    put = NewVersion(
        staged=staged,
        view=view,
        kind=kind,
        name=named.name or f"{kind.name.lower()} content",
        source_path=path,
        number=number,
        language=language,
        encoding=encoding,
        lines=0 if binary else shown.lines,
        stamp=stamp,
    )
    return put, view


def _viewed(ctx: Context, staged: Staged, head: bytes) -> tuple[str, Staged | None]:
    """The encoding of staged bytes, and their UTF-8 view where they are not UTF-8 themselves."""
    if is_gzip(head):
        inner = sniff(first_bytes(head, SNIFF_BYTES), whole=False)
        if inner.name == BINARY:
            return BINARY, None
        text = decompress(_staged_chunks(staged), ctx.settings.max_artifact_bytes)
        return GZIP, ctx.store.stage(transcode(text, inner) if inner.needs_view else text)
    encoding = sniff(head, whole=staged.size_bytes <= SNIFF_BYTES)
    if encoding.needs_view:
        return encoding.name, ctx.store.stage(transcode(_staged_chunks(staged), encoding))
    return encoding.name, None


def _staged_chunks(staged: Staged) -> Iterator[bytes]:
    position = 0
    while position < staged.size_bytes:
        chunk = staged.read(position, position + CHUNK_BYTES)
        position += len(chunk)
        yield chunk


# --- directories and globs ----------------------------------------------------------------------


def _split_glob(ctx: Context, source: str) -> tuple[ConfinedPath, str | None]:
    """The directory a path starts from and the glob below it, or the path itself and None."""
    if not any(mark in source for mark in "*?["):
        return ctx.roots.confine(source), None
    whole = ctx.roots.confine(source)
    if ctx.roots.is_file(whole) or ctx.roots.is_directory(whole):
        return whole, None
    parts = source.split("/")
    fixed = next(i for i, part in enumerate(parts) if any(mark in part for mark in "*?["))
    top = "/".join(parts[:fixed]) or ("/" if source.startswith("/") else ".")
    return ctx.roots.confine(top), "/" + "/".join(parts[fixed:])


def _store_many(ctx: Context, top: ConfinedPath, pattern: str | None, monitor: Monitor) -> StoreManyResult:
    """Store the files found in one transaction: all of them, or none."""
    skipped: list[SkippedFile] = []
    puts: list[NewVersion] = []
    open_views: list[Staged] = []
    total_bytes = 0
    try:
        for found in walk_files(ctx.roots, top, pattern):
            name = display_name(ctx, found.path.absolute)
            total_bytes += found.size_bytes
            if len(puts) >= MANY_FILES or total_bytes > MANY_BYTES:
                raise InvalidArgumentError(
                    f"More than {MANY_FILES} files or {MANY_BYTES >> 20} MB lie under {top.absolute}; "
                    "store a subdirectory or a glob such as src/**/*.py."
                )
            try:
                puts.append(_stage_found(ctx, found.path, name, open_views))
            except (SourceUnreadableError, PathNotAllowedError) as exc:
                skipped.append(SkippedFile(name, str(exc)))
            monitor.advance(len(puts), None, "files read")
        if not puts:
            raise SourceUnreadableError(
                f"No files to store under {top.absolute}"
                + (f" match {pattern.lstrip('/')}" if pattern else "")
                + " (files that git ignores are left out)."
            )
        committed = commit(ctx, ctx.settings.workspace, puts)
    finally:
        for staged in open_views:
            staged.close()
    return StoreManyResult(tuple(describe(ctx, *done) for done in committed), tuple(skipped))


def _stage_found(ctx: Context, path: ConfinedPath, name: str, opened: list[Staged]) -> NewVersion:
    fd = ctx.roots.open_file(path)
    try:
        stamp = file_stamp(fd, time.time_ns())
        staged = _staged_file(ctx, path, fd, stamp, SilentMonitor())
        opened.append(staged)
        put, view = new_version(ctx, staged, path.absolute, Named(name), path=path.absolute, stamp=stamp)
        if view is not None:
            opened.append(view)
        return put
    finally:
        os.close(fd)
