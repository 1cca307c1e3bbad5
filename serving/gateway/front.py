"""The gate's outside: who may come in, which routes there are, and its own pages."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs

from serving.compaction.dialects import GENERATING, UNLEASED, error_body
from serving.gateway.history import History
from serving.gateway.keys import Keys

_log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PASSED: Final = frozenset({
    "/health", "/ping", "/version", "/load", "/metrics", "/v1/models", "/tokenize", "/detokenize",
    "/v1/embeddings", "/v1/messages/count_tokens", "/pooling", "/classify", "/score", "/v1/score", "/rerank",
    "/v1/rerank", "/v2/rerank",
})  # fmt: skip
"""Routes of the engine that clients may use besides those that generate. The rest of what an engine
serves, such as sleeping, profiling and loading adapters, is its operator's."""

OPEN: Final = frozenset({"/health", "/ping", "/", "/gate"})
"""Routes that need no key: for load balancers, and the page, which asks for one itself."""


class Front:
    """The outermost application of the gate.

    Args:
        app: what serves the engine's routes.
        keys: who may come in; everybody where there are none.
        status: the gate now, for ``/gate/status``.
        metrics: the gate's own metrics, for ``/gate/metrics``.
        tenant_key: where the tenant is put into the scope's state.
        history: for ``/gate/history``; runs as long as the server does.
    """

    def __init__(
        self,
        app: App,
        *,
        keys: Keys,
        status: Callable[[], dict[str, Any]],
        metrics: Callable[[], bytes],
        tenant_key: str,
        history: History,
    ) -> None:
        self._app = app
        self._keys = keys
        self._status = status
        self._metrics = metrics
        self._tenant_key = tenant_key
        self._history = history

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's scope."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._live(scope, receive, send)
            return
        path: str = scope["path"].rstrip("/") or "/"
        tenant = self._tenant(scope)
        if tenant is None and path not in OPEN:
            await self._error(
                send, path, 401, "authentication_error", "a key is needed: Authorization: Bearer KEY"
            )
        elif (page := self._page(path, scope)) is not None:
            await _answer(send, 200, *page)
        elif _known(path):
            scope["state"] = {**scope.get("state", {}), self._tenant_key: tenant or ""}
            try:
                await self._app(scope, receive, send)
            except ConnectionError as error:
                # An answer that is not complete has the server close the connection, as it should.
                _log.warning("%s: %s", path, error)
        else:
            message = f"this gate has no route {path}; it serves {', '.join(sorted(GENERATING))}"
            await self._error(send, path, 404, "not_found_error", message)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The server's whole life, from its start to its end."""
        looking = asyncio.ensure_future(self._history.run())
        try:
            await self._app(scope, receive, send)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    def _page(self, path: str, scope: Scope) -> tuple[bytes, bytes] | None:
        """Type and body of one of the gate's own pages; None where it has none of that name."""
        if path in {"/", "/gate"}:
            return b"text/html; charset=utf-8", files("serving.gateway").joinpath("page.html").read_bytes()
        if path == "/gate/status":
            return b"application/json", json.dumps(self._status()).encode()
        if path == "/gate/history":
            return b"application/json", json.dumps(self._history.told(_after(scope))).encode()
        if path == "/gate/metrics":
            return b"text/plain; version=0.0.4; charset=utf-8", self._metrics()
        return None

    def _tenant(self, scope: Scope) -> str | None:
        if not self._keys:
            return ""
        for name, value in scope["headers"]:
            text = value.decode("latin-1")
            if name == b"authorization" and text.lower().startswith("bearer "):
                return self._keys.tenant_of(text[7:].strip())
            if name == b"x-api-key":
                return self._keys.tenant_of(text.strip())
        return None

    async def _error(self, send: Send, path: str, status: int, kind: str, message: str) -> None:
        body = error_body(GENERATING.get(path), status, kind, message)
        await _answer(send, status, b"application/json", body)


def _after(scope: Scope) -> float:
    """The moment that ``?after=`` names, in seconds since 1970; 0 where it names none."""
    told = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("after", ["0"])[0]
    try:
        return float(told)
    except ValueError:
        return 0.0


def _known(path: str) -> bool:
    return (
        path in GENERATING
        or path in UNLEASED
        or path in PASSED
        or path.startswith(("/v1/models/", "/v1/responses/"))
    )


async def _answer(send: Send, status: int, content_type: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
