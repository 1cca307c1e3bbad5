"""A reverse proxy to one engine, as an ASGI application: bytes pass unchanged and as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final

import aiohttp
from yarl import URL

from serving.compaction.dialects import GENERATING, error_body

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_HOP_BY_HOP: Final = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
"""Source: RFC 9110, section 7.6.1."""


class Forward:
    """Sends every HTTP request to one engine.

    Args:
        engine_url: scheme, host and port, and a path prefix where there is one.
        engine_key: sent to the engine as a bearer token; the client's own never is.
        connect_seconds: how long a connection may take.
        request_seconds: how long a request may take from beginning to end.
    """

    def __init__(
        self,
        engine_url: str,
        *,
        engine_key: str | None = None,
        connect_seconds: float = 5.0,
        request_seconds: float = 3600.0,
    ) -> None:
        self._base = engine_url.rstrip("/")
        self._key = engine_key
        self._timeout = aiohttp.ClientTimeout(total=request_seconds, sock_connect=connect_seconds)
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one request, or answer the server's lifespan messages."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def close(self) -> None:
        """End every connection to the engine."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        first = await receive()
        if first["type"] == "http.disconnect":
            return
        whole = not first.get("more_body", False)
        body = first.get("body", b"") if whole else _streamed(first, receive)
        forwarding = asyncio.ensure_future(self._forward(scope, body, send))
        # A body that is still coming is read by the request itself; whoever sends one is there.
        leaving = asyncio.ensure_future(_left(receive)) if whole else None
        try:
            await asyncio.wait(
                {forwarding, leaving} if leaving else {forwarding}, return_when=asyncio.FIRST_COMPLETED
            )
            if not forwarding.done():
                return
            await forwarding
        finally:
            forwarding.cancel()
            if leaving is not None:
                leaving.cancel()
            await asyncio.gather(forwarding, *([leaving] if leaving else []), return_exceptions=True)

    async def _forward(self, scope: Scope, body: bytes | AsyncIterator[bytes], send: Send) -> None:
        begun = False
        try:
            async with self._open(scope, body) as answer:
                headers = [(n, v) for n, v in answer.raw_headers if n.lower() not in _HOP_BY_HOP]
                begun = True
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                async for chunk in answer.content.iter_any():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if begun:
                raise ConnectionError(f"the engine ended its answer early: {error}") from error
            await self._unreachable(scope, send, error)

    def _open(self, scope: Scope, body: bytes | AsyncIterator[bytes]) -> Any:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=self._timeout,
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        query = scope.get("query_string", b"")
        raw_path = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0]
        target = self._base + raw_path.decode("latin-1") + (f"?{query.decode('latin-1')}" if query else "")
        return self._session.request(
            scope["method"],
            URL(target, encoded=True),
            data=body or None,
            headers=self._headers(scope),
            allow_redirects=False,
        )

    def _headers(self, scope: Scope) -> list[tuple[str, str]]:
        dropped = _HOP_BY_HOP | {b"host", b"content-length", b"authorization", b"x-api-key"}
        kept = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in scope["headers"]
            if name.lower() not in dropped
        ]
        if self._key is not None:
            kept.append(("Authorization", f"Bearer {self._key}"))
        return kept

    async def _unreachable(self, scope: Scope, send: Send, error: Exception) -> None:
        status = 504 if isinstance(error, TimeoutError) else 502
        message = f"the engine at {self._base} cannot be reached: {error or type(error).__name__}"
        body = error_body(GENERATING.get(scope["path"]), status, "engine_unavailable", message)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def _streamed(first: Message, receive: Receive) -> AsyncIterator[bytes]:
    message = first
    while True:
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client went away before its request was complete")


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
