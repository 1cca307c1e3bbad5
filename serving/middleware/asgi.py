"""The ASGI messages of one request: its body, its client's departure, its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from serving.compaction.dialects import Dialect, error_body, error_event

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

KEEP_ALIVE: Final = b": keep-alive\n\n"

_SCOPE: Final[Mapping[str, Any]] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "scheme": "http",
    "root_path": "",
    "client": None,
    "server": None,
    "headers": [(b"content-type", b"application/json")],
}
"""A request of our own, as far as it does not take after somebody's."""


class BodyTooLargeError(Exception):
    """A request's body exceeds the limit."""


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


async def read_body(receive: Receive, limit_bytes: int) -> bytes:
    """A request's whole body.

    Raises:
        BodyTooLargeError: it is larger than ``limit_bytes``; the rest was not read.
        ClientGoneError: the client went away.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit_bytes:
            raise BodyTooLargeError
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


class Client:
    """The far end of a request whose body was read: notices when it goes away."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._gone: asyncio.Task[None] = asyncio.ensure_future(self._watch())

    @property
    def gone(self) -> asyncio.Task[None]:
        """Done once the client went away."""
        return self._gone

    def body(self, body: bytes) -> Receive:
        """What an inner application receives: this body, then the client's departure when it happens."""
        sent = False

        async def receive() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.shield(self._gone)
            return {"type": "http.disconnect"}

        return receive

    def close(self) -> None:
        """Stop watching."""
        self._gone.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Answer:
    """The answer to one generating request as it goes out.

    Upstream bytes pass unchanged. Before the first of them a client that asked for a stream may be sent
    comments; an error after that goes out as an event, since the status is spent.
    """

    def __init__(
        self, send: Send, dialect: Dialect, *, stream: bool, seen: Callable[[bytes, bool], None]
    ) -> None:
        self.status: int | None = None
        self._send = send
        self._dialect = dialect
        self._stream = stream
        self._seen = seen
        self._commented = False
        self._upstream = False
        self._failed = bytearray()

    async def keep_alive(self) -> None:
        """Send a comment, where the client waits for a stream and upstream has not begun."""
        if not self._stream or self._upstream:
            return
        if not self._commented:
            self._commented = True
            headers = [
                (b"content-type", b"text/event-stream; charset=utf-8"),
                (b"cache-control", b"no-cache"),
            ]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})

    async def upstream(self, message: Message) -> None:
        """Pass a message of the inner application on."""
        self._upstream = True
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if not self._commented:
                await self._send(message)
            return
        body: bytes = message.get("body", b"")
        if not self._commented or self.status == 200:
            self._seen(body, not message.get("more_body", False))
            await self._send(message)
            return
        self._failed += body
        if not message.get("more_body", False):
            await self._event(self.status or 502, "engine_error", self._failed.decode("utf-8", "replace"))

    async def error(
        self, status: int, kind: str, message: str, headers: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        """Answer with an error of our own, in the dialect's shape."""
        self.status = status
        if self._commented:
            await self._event(status, kind, message)
            return
        body = error_body(self._dialect, status, kind, message)
        await send_whole(self._send, status, body, headers)

    async def _event(self, status: int, kind: str, message: str) -> None:
        event = error_event(self._dialect, status, kind, message)
        await self._send({"type": "http.response.body", "body": event, "more_body": False})


async def send_whole(
    send: Send,
    status: int,
    body: bytes,
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    content_type: bytes = b"application/json",
) -> None:
    """Send a whole answer, JSON unless told otherwise."""
    sent = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        *(headers or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def headers_of(scope: Scope) -> dict[str, str]:
    """A request's headers by lower-case name; the last of several counts."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def with_body(scope: Scope, body: bytes) -> Scope:
    """The scope of the same request with another body."""
    kept = [(n, v) for n, v in scope["headers"] if n.lower() not in {b"content-length", b"transfer-encoding"}]
    return {**scope, "headers": [*kept, (b"content-length", str(len(body)).encode())]}


async def call(
    app: App, method: str, path: str, body: bytes = b"", like: Scope | None = None
) -> tuple[int, bytes]:
    """Ask the inner application something of our own; returns status and body.

    Args:
        app: the inner application.
        method: of HTTP.
        path: with no query.
        body: JSON, or nothing.
        like: the request on whose behalf; its headers are sent along, so that keys reach the engine.
    """
    status = 0
    parts: list[bytes] = []
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    own: Scope = {"method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "state": {}}
    await app(with_body({**_SCOPE, **(like or {}), **own}, body), receive, send)
    return status, b"".join(parts)
