"""Where clients keep their configuration, on every system."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mcp_offload.install.clients import CLIENTS
from mcp_offload.install.model import Places, System
from mcp_offload.install.places import candidates, fill, servers_path

HOMES: Mapping[System, tuple[str, str]] = {
    "linux": ("/home/ada", "/home/ada/work"),
    "macos": ("/Users/ada", "/Users/ada/work"),
    "windows": (r"C:\Users\ada", r"D:\work"),
}


def _places(system: System, **variables: str) -> Places:
    home, project = HOMES[system]
    return Places(system=system, home=home, project=project, variables=variables)


@pytest.mark.parametrize(
    ("client", "linux", "macos", "windows"),
    [
        (
            "claude-desktop",
            "/home/ada/.config/Claude/claude_desktop_config.json",
            "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
            r"C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json",
        ),
        (
            "vscode",
            "/home/ada/.config/Code/User/mcp.json",
            "/Users/ada/Library/Application Support/Code/User/mcp.json",
            r"C:\Users\ada\AppData\Roaming\Code\User\mcp.json",
        ),
        (
            "zed",
            "/home/ada/.config/zed/settings.json",
            "/Users/ada/.config/zed/settings.json",
            r"C:\Users\ada\AppData\Roaming\Zed\settings.json",
        ),
        (
            "goose",
            "/home/ada/.config/goose/config.yaml",
            "/Users/ada/.config/goose/config.yaml",
            r"C:\Users\ada\AppData\Roaming\Block\goose\config\config.yaml",
        ),
        (
            "codex",
            "/home/ada/.codex/config.toml",
            "/Users/ada/.codex/config.toml",
            r"C:\Users\ada\.codex\config.toml",
        ),
    ],
)
def test_a_user_file_stands_where_the_system_keeps_it(
    client: str, linux: str, macos: str, windows: str
) -> None:
    for system, expected in (("linux", linux), ("macos", macos), ("windows", windows)):
        assert candidates(CLIENTS[client], "user", _places(system)) == (expected,)


def test_variables_move_files() -> None:
    moved = _places("linux", XDG_CONFIG_HOME="/x", CODEX_HOME="/c", CLAUDE_CONFIG_DIR="/k")
    assert candidates(CLIENTS["opencode"], "user", moved)[0] == "/x/opencode/opencode.json"
    assert candidates(CLIENTS["codex"], "user", moved) == ("/c/config.toml",)
    assert candidates(CLIENTS["claude-code"], "user", moved) == ("/k/.claude.json",)
    assert fill("{env:CLAUDE_CONFIG_DIR|{home}/.claude}/settings.json", moved) == "/k/settings.json"
    assert fill("{env:CLAUDE_CONFIG_DIR|{home}/.claude}/s", _places("linux")) == "/home/ada/.claude/s"
    relative = _places("linux", XDG_CONFIG_HOME="not/absolute")
    assert candidates(CLIENTS["amp"], "user", relative) == ("/home/ada/.config/amp/settings.json",)
    roaming = _places("windows", APPDATA=r"E:\roaming")
    assert candidates(CLIENTS["vscode"], "user", roaming) == (r"E:\roaming\Code\User\mcp.json",)


@pytest.mark.parametrize("system", ["linux", "macos", "windows"])
def test_every_template_is_filled(system: System) -> None:
    places = _places(system)
    for client in CLIENTS.values():
        approvals = client.approval.files.values() if client.approval else ()
        for scope in client.scopes:
            names = [*candidates(client, scope, places), *(fill(name, places) for name in approvals)]
            assert [
                name for name in names if "{" in name or not name.startswith((places.home, places.project))
            ] == []


def test_a_local_scope_belongs_to_the_project() -> None:
    places = _places("linux")
    client = CLIENTS["claude-code"]
    assert servers_path(client, "local", places) == ("projects", "/home/ada/work", "mcpServers")
    assert servers_path(client, "user", places) == ("mcpServers",)
