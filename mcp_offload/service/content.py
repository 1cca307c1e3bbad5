"""The exact bytes a handle names, for programs: resources and downloads."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mcp_offload.handle import Selector
from mcp_offload.models import Kind, Monitor, Span, Version
from mcp_offload.service.context import Context, Session, handle_of
from mcp_offload.service.limits import Limits
from mcp_offload.service.read import read_one
from mcp_offload.service.resolve import Target, resolve
from mcp_offload.service.select import Selection, select
from mcp_offload.service.view import BytesView, View

CHUNK_BYTES = 1 << 20
UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes to be read while the content is open.

    Attributes:
        handle: with the version the bytes are of.
        binary: True where they are no text; text is UTF-8 unless the content was opened raw.
        size_bytes: of the bytes named, not of the whole artifact.
        blake3: of the stored bytes where all of them are named, else None.
        created_at: of the version, POSIX seconds.
        shown: the artifact's number and the version, for :meth:`Session.show`.
        view: what ``span`` is in; its ``path`` names a file with its bytes, or is None.
    """

    handle: str
    name: str
    kind: Kind
    language: str | None
    binary: bool
    size_bytes: int
    blake3: str | None
    created_at: float
    shown: tuple[int, int]
    view: View
    span: Span

    def read(self) -> bytes:
        """All the bytes at once."""
        return self.view.read(self.span.start_byte, self.span.end_byte)

    def chunks(self) -> Iterator[bytes]:
        """All the bytes in order, 1 MiB at a time."""
        for start in range(self.span.start_byte, self.span.end_byte, CHUNK_BYTES):
            yield self.view.read(start, min(start + CHUNK_BYTES, self.span.end_byte))


@contextmanager
def open_content(
    ctx: Context, handle: str, session: Session, monitor: Monitor, *, raw: bool
) -> Generator[Content]:
    """Open what a handle names: text as UTF-8, or where ``raw`` the stored bytes of a whole artifact.

    Raises:
        what resolving and selecting raise.
    """
    target = resolve(ctx, handle, session, monitor)
    if target.selector is None:
        version = target.base if target.stated else target.newest
        stored = raw or version.binary
        with ctx.store.open_raw(version) if stored else ctx.store.open_view(version) as reader:
            yield _content(target, version, None, reader, Span(0, reader.size_bytes))
        return
    selection = select(ctx, target, monitor)
    if selection.part is not None:
        view = _assembled(ctx, handle, session, monitor)
        yield _content(target, selection.version, target.selector, view, Span(0, view.size_bytes))
        return
    with ctx.store.open_view(selection.version) as reader:
        yield _content(target, selection.version, target.selector, reader, _inside(selection, reader))


def _assembled(ctx: Context, handle: str, session: Session, monitor: Monitor) -> BytesView:
    text = read_one(ctx, handle, Limits(UNLIMITED, UNLIMITED), session, monitor).text
    return BytesView(text.encode("utf-8", "surrogateescape"))


def _inside(selection: Selection, view: View) -> Span:
    """The span, no further than the view goes."""
    return Span(selection.span.start_byte, min(selection.span.end_byte, view.size_bytes))


def _content(target: Target, version: Version, selector: Selector | None, view: View, span: Span) -> Content:
    return Content(
        handle=handle_of(target.artifact, version.version, selector),
        name=target.artifact.name,
        kind=target.artifact.kind,
        language=version.language,
        binary=version.binary,
        size_bytes=span.end_byte - span.start_byte,
        blake3=version.blake3 if selector is None else None,
        created_at=version.created_at,
        shown=(version.number, version.version),
        view=view,
        span=span,
    )
