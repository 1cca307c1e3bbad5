"""What is put into a client's configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mcp_offload.server
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.install import CLIENTS, Client, Places, Scope, client_named, launch, snippet
from mcp_offload.install.data import get
from mcp_offload.install.document import read
from mcp_offload.install.entries import entry_path, is_ours, own_command_line, started_by
from mcp_offload.install.model import READ_ONLY_TOOLS, SERVER_KEY

PLACES = Places(system="linux", home="/home/ada", project="/home/ada/work", variables={})
EVERY = [(client, scope) for client in CLIENTS.values() for scope in client.scopes]


def _names(value: object) -> str:
    return value.id if isinstance(value, Client) else str(value)


def _snippet(client: Client, scope: Scope, **options: Any) -> dict[str, Any]:
    start = launch(client, scope, PLACES, "/opt/py", (), ["/srv/code"])
    return read(client.format, snippet(client, scope, PLACES, start, approve=False, **options).encode())


@pytest.mark.parametrize(("client", "scope"), EVERY, ids=_names)
def test_an_entry_starts_the_server_by_an_absolute_path_and_no_environment(
    client: Client, scope: Scope
) -> None:
    found = get(_snippet(client, scope), entry_path(client, scope, PLACES))
    line = ("/opt/py", "-P", "-m", "mcp_offload", "serve", "--root", "/srv/code")
    assert started_by(found) == line
    assert is_ours(line)
    assert not {"env", "envs", "environment", "env_vars"} & set(found)


def test_the_read_only_tools_are_those_that_say_so() -> None:
    recorded = Path(mcp_offload.server.__file__).with_name("snapshot.json").read_text(encoding="utf-8")
    found: dict[str, bool] = {}

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if "annotations" in value and "inputSchema" in value:
                found[value["name"]] = value["annotations"]["readOnlyHint"]
            for below in value.values():
                look(below)
        elif isinstance(value, list):
            for below in value:
                look(below)

    look(json.loads(recorded))
    assert sorted(name for name, reads in found.items() if reads) == sorted(READ_ONLY_TOOLS)
    assert not all(found.values())


def test_no_name_breaks_a_client() -> None:
    assert "_" not in SERVER_KEY
    assert len(SERVER_KEY) + max(map(len, READ_ONLY_TOOLS)) <= 60


def test_a_client_that_knows_no_projects_needs_a_root() -> None:
    desktop = client_named("claude-desktop")
    with pytest.raises(InvalidArgumentError, match="--root DIR"):
        launch(desktop, "user", PLACES, "/opt/py", (), ())


def test_a_project_is_named_where_a_client_may_start_servers_anywhere() -> None:
    cursor, zed = client_named("cursor"), client_named("zed")
    assert launch(cursor, "project", PLACES, "/py", (), ()).args[-2:] == ("--root", "/home/ada/work")
    assert "--root" not in launch(cursor, "user", PLACES, "/py", (), ()).args
    assert "--root" not in launch(zed, "project", PLACES, "/py", (), ()).args


def test_approvals_are_for_reading_alone() -> None:
    for client, scope in EVERY:
        start = launch(client, scope, PLACES, "/opt/py", (), ["/srv"])
        text = snippet(client, scope, PLACES, start, approve=True)
        assert not {"edit_handle", "export_handle", "release_handles", "store_artifact"} & set(
            text.split('"')
        )
        assert "trust" not in text
    codex = client_named("codex")
    text = snippet(codex, "user", PLACES, launch(codex, "user", PLACES, "/py", (), ()), approve=True)
    assert read("toml", text.encode())["mcp_servers"]["offload"]["tools"]["read_handle"] == {
        "approval_mode": "approve"
    }


def test_own_commands_are_filled_in() -> None:
    lines = {}
    for client in CLIENTS.values():
        if client.command:
            start = launch(client, "user", PLACES, "/opt/py", (), ())
            lines[client.id] = " ".join(
                own_command_line(client, client.command, client.command.add, "user", start)
            )
    serve = "-P -m mcp_offload serve"
    entry = {"type": "stdio", "command": "/opt/py", "args": serve.split(), "alwaysLoad": True}
    assert lines["claude-code"] == f"claude mcp add-json offload {json.dumps(entry)} -s user"
    assert lines["gemini"] == f"gemini mcp add -s user offload /opt/py -- {serve}"
    assert lines["cline"] == f"cline mcp install offload --yes -- /opt/py {serve}"
    assert all("$" not in line for line in lines.values())


def test_an_unknown_client_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidArgumentError, match="claude-code, claude-desktop, cursor"):
        client_named("emacs")


@pytest.mark.parametrize("found", [None, 1, {}, {"command": 1}, {"url": "https://x"}, {"args": "x"}])
def test_an_entry_that_starts_nothing_has_no_command_line(found: object) -> None:
    assert started_by(found) == ()
