"""The real HTTP server on a free loopback port, in the test's own event loop."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_offload.server.http import listen, make_app, make_server
from mcp_offload.service import open_service
from mcp_offload.settings import HttpSettings, Settings
from tests.interaction.harness import Mode

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"


def tokens_in(folder: Path) -> str:
    """A token file for ann and bob; its path."""
    path = folder / "tokens"
    path.write_text(f"# who may come\nann {ANN}\nbob {BOB}  # the other\n", encoding="utf-8")
    os.chmod(path, 0o600)
    return str(path)


def bearer(token: str | None) -> dict[str, str]:
    """The headers that carry a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def free_port() -> int:
    """A port that is free now, for a server that must know its own URL beforehand."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


@asynccontextmanager
async def serving(settings: Settings, **changes: Any) -> AsyncIterator[str]:
    """Serve over HTTP; gives the server's base URL."""
    http = HttpSettings(**{"host": "127.0.0.1", "port": 0, "grace_seconds": 1.0, **changes})
    with open_service(settings) as service:
        server = make_server(make_app(lambda: service, settings, http), http)
        # Closed by the server, unless that comes to grief.
        with listen(http) as sock:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [sock])
                try:
                    yield f"http://127.0.0.1:{sock.getsockname()[1]}"
                finally:
                    server.should_exit = True


@asynccontextmanager
async def client_of(base: str, mode: Mode, token: str | None = None) -> AsyncIterator[Client]:
    """A client of a server that is being served."""
    async with AsyncExitStack() as stack:
        http = httpx2.AsyncClient(headers=bearer(token), timeout=30, follow_redirects=True)
        await stack.enter_async_context(http)
        transport = streamable_http_client(f"{base}/mcp", http_client=http)
        yield await stack.enter_async_context(Client(transport, mode=mode))


def plain(base: str, token: str | None = None) -> httpx2.AsyncClient:
    """A client of what stands beside MCP."""
    return httpx2.AsyncClient(base_url=base, headers=bearer(token), timeout=30)
