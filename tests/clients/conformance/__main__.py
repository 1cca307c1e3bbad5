"""Serves the real server with the suite's fixtures over HTTP: ``python -m tests.clients.conformance FOLDER``.

The wiring is that of ``mcp-offload serve --http``; it ends with its standard input.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import anyio

from mcp_offload.server.http import MCP_PATH, listen, make_app, make_server
from mcp_offload.server.tenants import Tenant, make_tenant
from mcp_offload.service import open_service
from mcp_offload.settings import HttpSettings
from tests.clients.conformance.fixtures import add_fixtures
from tests.interaction.harness import settings_in


def main(folder: str) -> None:
    """Serve until standard input ends; the first line printed is the URL."""
    settings = settings_in(Path(folder))
    http = HttpSettings(
        host="127.0.0.1", port=0, requests_per_second=1_000.0, burst=10_000, grace_seconds=1.0
    )
    with open_service(settings) as service:

        def make(principal: str) -> Tenant:
            tenant = make_tenant(principal, lambda: service, settings, http)
            add_fixtures(tenant.assembly.server)
            return tenant

        server = make_server(make_app(lambda: service, settings, http, make), http)
        sock = listen(http)

        def end_with_input() -> None:
            sys.stdin.read()
            server.should_exit = True

        threading.Thread(target=end_with_input, daemon=True).start()
        sys.stdout.write(f"http://127.0.0.1:{sock.getsockname()[1]}{MCP_PATH}\n")
        sys.stdout.flush()
        anyio.run(server.serve, [sock])


if __name__ == "__main__":
    main(sys.argv[1])
