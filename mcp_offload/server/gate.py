"""The gate before everything that HTTP serves: names, tokens, rates."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_offload.settings import HttpSettings
from mcp_offload.wire.admission import Names, Principals, TokenBucket

if TYPE_CHECKING:
    from mcp_offload.server.oauth import ResourceServer

#: Where the gate leaves the principal's name in the scope of a request.
PRINCIPAL_KEY: Final = "mcp_offload.principal"
HEALTH_PATH: Final = "/healthz"
#: Principals whose rate is remembered; one that was forgotten starts anew.
MOST_BUCKETS: Final = 10_000


class Gate:
    """Lets in who may come, in the order: is this server meant, who asks, how often."""

    def __init__(
        self,
        app: ASGIApp,
        principals: Principals,
        names: Names,
        http: HttpSettings,
        oauth: ResourceServer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._principals = principals
        self._names = names
        self._http = http
        self._oauth = oauth
        self._clock = clock
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event."""
        refused = await self._refused(scope) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    async def _refused(self, scope: Scope) -> ASGIApp | None:
        # Whoever watches the server's health knows neither its name nor a token.
        if scope["path"] == HEALTH_PATH:
            return None
        headers = Headers(scope=scope)
        host = headers.get("host")
        if not self._names.admits_host(host):
            return Response("This server has other names; see --allow-host.\n", 421)
        # Where to get a token is told to everybody, pages included.
        if self._oauth is not None and scope["path"] in self._oauth.public_paths:
            return None
        if not self._names.admits_origin(headers.get("origin"), host):
            return Response("Pages of other origins may not use this server.\n", 403)
        found = await self._principal(scope, headers.get("authorization"))
        if not isinstance(found, str):
            return found
        wait_seconds = self._bucket(found).take(self._clock())
        if wait_seconds:
            return Response("Too many requests.\n", 429, {"Retry-After": str(math.ceil(wait_seconds))})
        scope[PRINCIPAL_KEY] = found
        return None

    async def _principal(self, scope: Scope, authorization: str | None) -> str | ASGIApp:
        """Whose request it is, or what answers a request that is nobody's."""
        named = self._principals.named(authorization)
        if named is not None:
            return named
        if self._oauth is not None:
            return await self._oauth.principal(scope)
        return Response("A token is needed.\n", 401, {"WWW-Authenticate": "Bearer"})

    def _bucket(self, principal: str) -> TokenBucket:
        http = self._http
        bucket = self._buckets.setdefault(principal, TokenBucket(http.requests_per_second, http.burst))
        self._buckets.move_to_end(principal)
        while len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket
