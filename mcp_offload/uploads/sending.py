"""GET /artifacts/{handle}: the exact bytes a handle names."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import aiofiles
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mcp_offload.errors import HandleNotFoundError, OffloadError
from mcp_offload.handle import looks_like_handle
from mcp_offload.models import Span
from mcp_offload.settings import MIB
from mcp_offload.uploads.answers import refusal
from mcp_offload.wire.media import media_type

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService
    from mcp_offload.service.content import Content

#: The event loop reads files in pieces of this size, so that a hop is cheap against the work.
PIECE_BYTES: Final = 1 * MIB
# Source: RFC 9110, section 14.1.2; one range is served, several are ignored.
_RANGE: Final = re.compile(r"bytes=([0-9]{1,18})-([0-9]{0,18})\Z")


class Sending:
    """The handler of GET and HEAD."""

    def __init__(self, service_of: Callable[[Request], OffloadService]) -> None:
        self._service_of = service_of

    async def get(self, request: Request) -> Response:
        """Send stored bytes: of a whole artifact as they are, of a part as UTF-8."""
        opened = ExitStack()
        try:
            content = await anyio.to_thread.run_sync(partial(self._open, request, opened))
        except OffloadError as exc:
            return refusal(exc)
        try:
            return _answer(request, content, opened)
        finally:
            opened.close()

    def _open(self, request: Request, opened: ExitStack) -> Content:
        handle = str(request.path_params["handle"])
        if not looks_like_handle(handle):
            raise HandleNotFoundError("Only what is stored can be fetched; name it by its handle, as f12.")
        return opened.enter_context(self._service_of(request).content(handle, raw=True))


class Sent(StreamingResponse):
    """A response that closes the content when it ends, however it ends."""

    def __init__(self, content: Content, status: int, headers: Mapping[str, str], opened: ExitStack) -> None:
        super().__init__(_pieces(content), status, headers)
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._opened.close()


def _answer(request: Request, content: Content, opened: ExitStack) -> Response:
    """The response; one that has a body takes over what is open."""
    headers = _headers(content)
    if content.blake3 is not None and request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers={"ETag": headers["ETag"]})
    status = 200
    asked = _RANGE.match(request.headers.get("range", ""))
    if asked is not None:
        whole = content.size_bytes
        start, end = int(asked[1]), min(int(asked[2] or whole), whole - 1) + 1
        if start >= whole or end <= start:
            return Response(status_code=416, headers={"Content-Range": f"bytes */{whole}"})
        origin = content.span.start_byte
        content = replace(content, span=Span(origin + start, origin + end), size_bytes=end - start)
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{whole}"
        status = 206
    headers["Content-Length"] = str(content.size_bytes)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return Sent(content, status, headers, opened.pop_all())


def _headers(content: Content) -> dict[str, str]:
    base = content.name.rsplit("/", 1)[-1].encode("utf-8", "replace")
    headers = {
        "Content-Type": media_type(content.name, content.language, binary=content.binary),
        # Never shown by a browser as a page of this server, whatever is in it.
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(base, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
        "X-Handle": quote(content.handle, safe="@#!.()'~"),
    }
    if content.blake3 is not None:
        headers["ETag"] = f'"{content.blake3}"'
    return headers


async def _pieces(content: Content) -> AsyncIterator[bytes]:
    """The bytes in order: by the event loop where they are a file, else from where they are held."""
    left = content.size_bytes
    path = content.view.path
    if path is not None:
        try:
            async with aiofiles.open(path, "rb") as file:
                await file.seek(content.span.start_byte)
                while left and (piece := await file.read(min(PIECE_BYTES, left))):
                    left -= len(piece)
                    yield piece
                return
        except FileNotFoundError:
            pass  # evicted since; what was opened stays readable
    chunks = content.chunks()
    while piece := await anyio.to_thread.run_sync(next, chunks, b""):
        yield piece
