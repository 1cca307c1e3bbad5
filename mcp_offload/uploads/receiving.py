"""PUT /artifacts?name=NAME[&kind=KIND]: the body becomes an artifact."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from mcp_offload.errors import (
    ArtifactTooLargeError,
    InvalidArgumentError,
    OffloadError,
    QuotaExceededError,
)
from mcp_offload.models import StoreResult
from mcp_offload.service.jsonable import to_json
from mcp_offload.settings import MIB
from mcp_offload.uploads.answers import refusal
from mcp_offload.wire.scrub import scrub_message

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

#: A hop between the event loop and the storing thread is cheap against this much work.
PIECE_BYTES: Final = 1 * MIB
#: Bodies received at a time; they hold a thread each while the network is slow.
MOST_AT_ONCE: Final = 8
#: A client that sends nothing for so long is given up.
IDLE_SECONDS: Final = 60.0
#: More than this is not counted and digested before it is acknowledged.
AT_ONCE_BYTES: Final = 4 * MIB
MOST_NAME_CHARS: Final = 1_000
_CLIENT_GONE: Final = 499


class Receiving:
    """The handler of PUT."""

    def __init__(self, service_of: Callable[[Request], OffloadService], max_bytes: int) -> None:
        self._service_of = service_of
        self._max_bytes = max_bytes
        self._limiter = anyio.CapacityLimiter(MOST_AT_ONCE)

    async def put(self, request: Request) -> Response:
        """Store the body; nothing is stored unless all of it arrived."""
        try:
            name, kind = self._asked(request)
            pieces = _Pieces(request.stream())
            store = partial(self._store, request, pieces, name, kind)
            result = await anyio.to_thread.run_sync(store, limiter=self._limiter)
        except OffloadError as exc:
            return refusal(exc)
        except ClientDisconnect:
            return Response(status_code=_CLIENT_GONE)
        except TimeoutError:
            return Response("The body stopped arriving.\n", 408)
        headers = {"Location": f"/artifacts/{quote(result.handle, safe='@')}"}
        return JSONResponse(scrub_message(to_json(result)), 201 if result.new else 200, headers)

    def _asked(self, request: Request) -> tuple[str, str | None]:
        name = request.query_params.get("name", "").strip()
        if not name or len(name) > MOST_NAME_CHARS:
            raise InvalidArgumentError("Give the artifact's name: PUT /artifacts?name=build.log")
        declared = request.headers.get("content-length", "")
        if declared.isascii() and declared.isdecimal() and int(declared) > self._max_bytes:
            raise ArtifactTooLargeError(
                f"{int(declared)} bytes were announced; one artifact has at most {self._max_bytes}."
            )
        return name, request.query_params.get("kind")

    def _store(self, request: Request, pieces: _Pieces, name: str, kind: str | None) -> StoreResult:
        service = self._service_of(request)
        body = pieces.pulled(service.settings.workspace_bytes)
        result = service.store(content=body, name=name, kind=kind, at_once_bytes=AT_ONCE_BYTES)
        assert isinstance(result, StoreResult)
        return result


class _Pieces:
    """A body on its way from the event loop to a worker thread, at least 1 MiB at a time."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream

    def pulled(self, limit_bytes: int | None) -> Iterator[bytes]:
        """The body in order; call from a worker thread of anyio.

        Raises:
            QuotaExceededError: it is longer than ``limit_bytes``, so that the rest need not arrive.
            ClientDisconnect: the client went away before the end.
            TimeoutError: nothing arrived for a minute.
        """
        arrived_bytes = 0
        while piece := anyio.from_thread.run(self._next):
            arrived_bytes += len(piece)
            if limit_bytes is not None and arrived_bytes > limit_bytes:
                raise QuotaExceededError(f"The body is longer than the {limit_bytes} bytes allowed here.")
            yield piece

    async def _next(self) -> bytes:
        gathered = bytearray()
        while len(gathered) < PIECE_BYTES:
            with anyio.fail_after(IDLE_SECONDS):
                chunk = await anext(self._stream, None)
            if chunk is None:
                break
            gathered += chunk
        return bytes(gathered)
