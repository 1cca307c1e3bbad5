"""The gate before everything that HTTP serves: names, tokens, rates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_offload.settings import HttpSettings
from mcp_offload.wire.admission import Names, Principals, TokenBucket

#: Where the gate leaves the principal's name in the scope of a request.
PRINCIPAL_KEY: Final = "mcp_offload.principal"
HEALTH_PATH: Final = "/healthz"


class Gate:
    """Lets in who may come, in the order: is this server meant, who asks, how often."""

    def __init__(
        self,
        app: ASGIApp,
        principals: Principals,
        names: Names,
        http: HttpSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._principals = principals
        self._names = names
        self._clock = clock
        self._buckets = _buckets(principals.names, http)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event."""
        # Whoever watches the server's health knows neither its name nor a token.
        if scope["type"] == "http" and scope["path"] != HEALTH_PATH:
            refused = self._refused(scope)
            if refused is not None:
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host")
        if not self._names.admits_host(host):
            return Response("This server has other names; see --allow-host.\n", 421)
        if not self._names.admits_origin(headers.get("origin"), host):
            return Response("Pages of other origins may not use this server.\n", 403)
        principal = self._principals.named(headers.get("authorization"))
        if principal is None:
            return Response("A token is needed.\n", 401, {"WWW-Authenticate": "Bearer"})
        wait_seconds = self._buckets[principal].take(self._clock())
        if wait_seconds:
            return Response("Too many requests.\n", 429, {"Retry-After": str(math.ceil(wait_seconds))})
        scope[PRINCIPAL_KEY] = principal
        return None


def _buckets(names: Iterable[str], http: HttpSettings) -> dict[str, TokenBucket]:
    return {name: TokenBucket(http.requests_per_second, http.burst) for name in names}
