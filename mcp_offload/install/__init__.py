"""Registering the server with agent clients, in their own configuration.

A table (``clients``) says where each client keeps what; one module per file format edits it in place::

    client = client_named("cursor")
    start = launch(client, "user", places, sys.executable, (), ())
    Installer(places, Records(state_dir)).install(client, "user", start, approve=False)

The server is spawned by clients and never imported here.
"""

from __future__ import annotations

from mcp_offload.install.actions import Installer, Outcome, check_scope, file_of
from mcp_offload.install.clients import CLIENTS, client_named
from mcp_offload.install.entries import launch, snippet
from mcp_offload.install.model import Client, Launch, Places, Scope, System
from mcp_offload.install.places import VARIABLES
from mcp_offload.install.records import Records
from mcp_offload.install.status import ClientStatus, Registration, status

__all__ = [
    "CLIENTS",
    "VARIABLES",
    "Client",
    "ClientStatus",
    "Installer",
    "Launch",
    "Outcome",
    "Places",
    "Records",
    "Registration",
    "Scope",
    "System",
    "check_scope",
    "client_named",
    "file_of",
    "launch",
    "snippet",
    "status",
]
