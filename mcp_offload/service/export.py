"""Writing stored bytes to a path, never through a reply."""

from __future__ import annotations

from collections.abc import Iterator

from blake3 import blake3

from mcp_offload.errors import CorruptBlobError
from mcp_offload.models import ExportResult, Monitor, Version
from mcp_offload.paths import create_file
from mcp_offload.service.context import Context, Session, handle_of
from mcp_offload.service.resolve import resolve
from mcp_offload.service.select import select

CHUNK_BYTES = 1 << 20


def export(
    ctx: Context, handle: str, path: str, session: Session, monitor: Monitor, *, overwrite: bool
) -> ExportResult:
    """Write an artifact's stored bytes, or the bytes of a symbol or range of its view, to ``path``.

    The file appears complete or not at all. The hash is checked while a whole artifact is written.

    Raises:
        PathNotAllowedError: ``path`` is outside the roots.
        SourceError: it exists and ``overwrite`` is False, or cannot be written.
        CorruptBlobError: the stored bytes no longer match their hash.
        and what resolving raises.
    """
    destination = ctx.roots.confine(path)
    target = resolve(ctx, handle, session, monitor)
    if target.selector is None:
        version = target.base if target.stated else target.newest
        chunks = _whole(ctx, version, monitor)
        printed = handle_of(target.artifact, version.version)
    else:
        selection = select(ctx, target, monitor)
        version = selection.version
        chunks = _part(ctx, version, selection.span.start_byte, selection.span.end_byte)
        printed = handle_of(target.artifact, version.version, target.selector)
    written = _Written(chunks)
    durable = ctx.settings.durability == "host"
    whole = version.blake3 if target.selector is None else None
    create_file(destination, written.checked(printed, whole), overwrite=overwrite, durable=durable)
    return ExportResult(printed, destination.absolute, written.size_bytes, written.hasher.hexdigest())


class _Written:
    """Passes chunks on and knows their size and hash afterwards."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.hasher = blake3()
        self.size_bytes = 0
        self._chunks = chunks

    def checked(self, handle: str, expected: str | None) -> Iterator[bytes]:
        """Yield the chunks.

        Raises:
            CorruptBlobError: at the end, where their hash is not ``expected``.
        """
        for chunk in self._chunks:
            self.size_bytes += len(chunk)
            self.hasher.update(chunk)
            yield chunk
        if expected is not None and self.hasher.hexdigest() != expected:
            raise CorruptBlobError(
                f"The stored bytes of {handle} no longer match their hash; nothing was written. "
                "Store the source again."
            )


def stream(ctx: Context, handle: str, session: Session, monitor: Monitor) -> Iterator[bytes]:
    """The bytes that :func:`export` would write, as they are read.

    Raises:
        what resolving raises; CorruptBlobError while reading.
    """
    target = resolve(ctx, handle, session, monitor)
    if target.selector is None:
        return _whole(ctx, target.base if target.stated else target.newest, monitor)
    selection = select(ctx, target, monitor)
    return _part(ctx, selection.version, selection.span.start_byte, selection.span.end_byte)


def _whole(ctx: Context, version: Version, monitor: Monitor) -> Iterator[bytes]:
    done = 0
    with ctx.store.open_raw(version) as reader:
        for chunk in reader.chunks(CHUNK_BYTES):
            done += len(chunk)
            monitor.advance(done, version.size_bytes, "bytes written")
            yield chunk


def _part(ctx: Context, version: Version, start: int, end: int) -> Iterator[bytes]:
    with ctx.store.open_view(version) as reader:
        for position in range(start, end, CHUNK_BYTES):
            yield reader.read(position, min(end, position + CHUNK_BYTES))
