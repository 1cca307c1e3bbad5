"""Drives an ASGI application the way a server does, with a client that may leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Exchange:
    """One request and what came back."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    complete: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    chunk: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def json(self) -> Any:
        return json.loads(self.body)


def send(
    app: Any, path: str, body: Any = None, *, method: str = "POST", **headers: str
) -> tuple[Exchange, Any]:
    """Begin a request; returns the exchange and the task that serves it."""
    exchange = Exchange()
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    task = asyncio.ensure_future(_serve(app, exchange, method, path, raw, headers))
    return exchange, task


async def ask(app: Any, path: str, body: Any = None, **more: Any) -> Exchange:
    """A whole request."""
    exchange, task = send(app, path, body, **more)
    await task
    return exchange


def chat(text: str = "x" * 160, output: int | None = 160, **more: Any) -> dict[str, Any]:
    """A chat request; with the fake engine's counting, twenty blocks unless told otherwise."""
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return body if output is None else {**body, "max_tokens": output}


async def _serve(
    app: Any, exchange: Exchange, method: str, path: str, raw: bytes, headers: dict[str, str]
) -> None:
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": raw, "more_body": False}
        await exchange.gone.wait()
        return {"type": "http.disconnect"}

    async def out(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert exchange.status is None, "an answer starts once"
            exchange.status = message["status"]
            exchange.headers = {k.decode().lower(): v.decode() for k, v in message["headers"]}
            return
        assert exchange.status is not None, "an answer starts before its body"
        assert not exchange.complete, "an answer ends once"
        if message.get("body"):
            exchange.chunks.append(message["body"])
            exchange.chunk.set()
        exchange.complete = not message.get("more_body", False)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [*given, (b"content-length", str(len(raw)).encode())],
    }  # fmt: skip
    await app(scope, receive, out)


async def until(done: Any) -> None:
    """Let the loop run until a condition holds, as it must before the loop has gone round so often."""
    for _ in range(10_000):
        if done():
            return
        await asyncio.sleep(0)
    raise AssertionError("what was waited for did not happen")


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run one test's coroutine on a loop of its own."""
    asyncio.run(work)
