"""MCP over streamable HTTP, with uploads and downloads beside it."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_offload import __version__
from mcp_offload.errors import SettingsError
from mcp_offload.server.gate import HEALTH_PATH, PRINCIPAL_KEY, Gate
from mcp_offload.server.tenants import Tenant, Tenants, TooManyTenantsError, make_tenant
from mcp_offload.settings import HttpSettings, OAuthSettings, Settings
from mcp_offload.uploads.receiving import Receiving
from mcp_offload.uploads.sending import Sending
from mcp_offload.wire.admission import Principals, load_principals, names_of
from mcp_offload.wire.lazy import LazyService

if TYPE_CHECKING:
    from mcp_offload.server.oauth import ResourceServer
    from mcp_offload.service import OffloadService

MCP_PATH: Final = "/mcp"
BACKLOG: Final = 128
#: Where the tenant stands in the scope of a request.
TENANT_KEY: Final = "mcp_offload.tenant"

_log = logging.getLogger(__name__)


class Tenancy:
    """Leaves each request's tenant in its scope. What is for everybody, such as its health, has none."""

    def __init__(self, app: ASGIApp, tenants: Tenants) -> None:
        self._app = app
        self._tenants = tenants

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event."""
        if PRINCIPAL_KEY not in scope:
            await self._app(scope, receive, send)
            return
        try:
            async with self._tenants.of(scope[PRINCIPAL_KEY]) as scope[TENANT_KEY]:
                await self._app(scope, receive, send)
        except TooManyTenantsError:
            await Response("Too many clients at once.\n", 503, {"Retry-After": "1"})(scope, receive, send)


class McpEndpoint:
    """Hands a request to its principal's server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        tenant: Tenant = scope[TENANT_KEY]
        await tenant.manager.handle_request(scope, receive, send)


def make_app(
    open_service: Callable[[], OffloadService],
    settings: Settings,
    http: HttpSettings,
    make: Callable[[str], Tenant] | None = None,
) -> ASGIApp:
    """The whole application; ``open_service`` is called when something stored is first asked for.

    ``make`` makes what a principal gets, by default :func:`make_tenant`.

    Raises:
        SettingsError: the token file is wrong, or who may come is not told where others can reach the server.
    """
    oauth = None if http.oauth is None else _resource_server(http.oauth)
    by_oauth_alone = oauth is not None and http.token_file is None
    principals = Principals({}) if by_oauth_alone else load_principals(http.token_file)
    names = names_of(http.host, http.allowed_hosts, open_to_all=principals.open)
    tenants = Tenants(make or (lambda principal: make_tenant(principal, open_service, settings, http)))

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncGenerator[None]:
        async with tenants.running():
            yield

    routes = [
        Route(HEALTH_PATH, _health, methods=["GET"]),
        Route(MCP_PATH, McpEndpoint()),
        Route("/artifacts", Receiving(_service_of, settings.max_artifact_bytes).put, methods=["PUT"]),
        Route("/artifacts/{handle:path}", Sending(_service_of).get, methods=["GET"]),
        *(oauth.routes if oauth is not None else ()),
    ]
    served = Tenancy(Starlette(routes=routes, lifespan=running), tenants)
    return Gate(served, principals, names, http, oauth)


def _resource_server(oauth: OAuthSettings) -> ResourceServer:
    # What checks signatures takes a while to load, and most servers have no use for it.
    from mcp_offload.server.oauth import ResourceServer

    return ResourceServer(oauth)


def _service_of(request: Request) -> OffloadService:
    tenant: Tenant = request.scope[TENANT_KEY]
    return tenant.service.get()


async def _health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "version": __version__})


def listen(http: HttpSettings) -> socket.socket:
    """The socket to serve on.

    Raises:
        SettingsError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    try:
        return socket.create_server((http.host, http.port), family=family, backlog=BACKLOG)
    except OSError as exc:
        raise SettingsError(f"{http.host}:{http.port} cannot be listened on: {exc}.") from None


def make_server(app: ASGIApp, http: HttpSettings) -> uvicorn.Server:
    """The HTTP server: silent on standard output, and patient with running requests when it ends."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=max(1, round(http.grace_seconds)),
    )
    return uvicorn.Server(config)


def serve_over_http(settings: Settings, http: HttpSettings) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP; return the exit status, 0.

    Running requests get ``grace_seconds`` to end. Call it from the main thread, once.

    Raises:
        SettingsError: the address or the tokens are wrong; nothing was served.
    """
    from mcp_offload.service import open_service

    lazy = LazyService(lambda: open_service(settings))
    app = make_app(lazy.get, settings, http)
    sock = listen(http)
    server = make_server(app, http)
    _end_quietly(server)
    host, port = sock.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"mcp-offload serves MCP on http://{shown}:{port}{MCP_PATH}\n")
    if http.token_file is None and http.oauth is None:
        sys.stderr.write("Every program on this machine may use it; --token-file asks for a token.\n")
    sys.stderr.flush()
    try:
        anyio.run(server.serve, [sock])
    finally:
        lazy.close()
    return 0


def _end_quietly(server: uvicorn.Server) -> None:
    """Signals end the server; what it raises again afterwards finds these handlers, which do nothing more."""

    def noted(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, noted)
