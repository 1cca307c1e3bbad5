"""Hooks in the configuration of clients."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.install.actions import Installer
from mcp_offload.install.clients import CLIENTS
from mcp_offload.install.hooks import HOOKS, hook_files
from mcp_offload.install.model import Launch, Places
from mcp_offload.install.records import Records
from mcp_offload.install.status import status

START = Launch("/opt/my py/bin/python", ("-P", "-m", "mcp_offload", "serve", "--store", "/s"))
SHELL = "'/opt/my py/bin/python' -P -m mcp_offload"


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    home, project = tmp_path / "home", tmp_path / "project"
    for directory in (home, project):
        directory.mkdir()
    places = Places(system="linux", home=str(home), project=str(project), variables={})
    return Installer(places, Records(str(tmp_path / "state")))


def _tree(installer: Installer) -> dict[str, bytes]:
    roots = (Path(installer.places.home), Path(installer.places.project))
    return {str(path): path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()}


def _json(installer: Installer, name: str) -> Any:
    return json.loads(Path(installer.places.home, name).read_text())


CASES = [(client, scope) for client, hooks in HOOKS.items() for scope in hooks.files]


@pytest.mark.parametrize(("client", "scope"), CASES)
def test_hooks_come_and_go_without_a_trace(installer: Installer, client: str, scope: Any) -> None:
    plain = installer.install(CLIENTS[client], scope, START, approve=False)
    assert not any(b" hook " in data for data in _tree(installer).values())
    installer.uninstall(CLIENTS[client], scope)
    assert _tree(installer) == {}
    outcome = installer.install(CLIENTS[client], scope, START, approve=True, hooks=True)
    assert set(outcome.files) >= set(plain.files)
    assert "hook" in outcome.diff
    assert any(client.encode() in data and b"hook" in data for data in _tree(installer).values())
    assert installer.install(CLIENTS[client], scope, START, approve=True, hooks=True).action == "unchanged"
    told = status(CLIENTS[client], installer.places, START.command).registrations
    assert [one.scope for one in told if one.hooks] == [scope]
    assert installer.uninstall(CLIENTS[client], scope).action == "removed"
    assert _tree(installer) == {}


def test_claude_code_may_run_the_end_of_the_pipe_and_nothing_else(installer: Installer) -> None:
    installer.install(CLIENTS["claude-code"], "user", START, approve=False, hooks=True)
    settings = _json(installer, ".claude/settings.json")
    assert settings["permissions"]["allow"] == [
        "Bash(set -o pipefail)",
        f"Bash({SHELL} capture --store /s --name:*)",
    ]
    (group,) = settings["hooks"]["PreToolUse"]
    assert group == {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": f"{SHELL} hook claude-code PreToolUse --store /s"}],
    }


def test_gemini_has_the_server_and_the_hooks_in_one_file(installer: Installer) -> None:
    file = Path(installer.places.home, ".gemini", "settings.json")
    file.parent.mkdir()
    before = (
        '{\n  // mine\n  "tools": {"allowed": ["run_shell_command(ls)"]},\n  "hooks": {"BeforeTool": []}\n}\n'
    )
    file.write_text(before)
    outcome = installer.install(CLIENTS["gemini"], "user", START, approve=False, hooks=True)
    assert outcome.files == (str(file),)
    text = file.read_text()
    assert "// mine" in text
    values = json.loads(text.replace("// mine", ""))
    assert values["tools"]["allowed"] == [
        "run_shell_command(ls)",
        "run_shell_command(set)",
        f"run_shell_command({SHELL} capture --store /s --name)",
    ]
    assert values["mcpServers"]["offload"]["command"] == START.command
    assert len(values["hooks"]["BeforeTool"]) == 1
    installer.uninstall(CLIENTS["gemini"], "user")
    assert file.read_text() == before


def test_hooks_of_others_stay_and_ours_are_replaced(installer: Installer) -> None:
    file = Path(installer.places.home, ".codex", "hooks.json")
    file.parent.mkdir()
    other = {"matcher": "", "hooks": [{"type": "command", "command": "mine"}]}
    file.write_text(json.dumps({"hooks": {"PreToolUse": [other]}}))
    codex = CLIENTS["codex"]
    installer.install(codex, "user", START, approve=False, hooks=True)
    installer.install(codex, "user", Launch("/new/python", START.args), approve=False, hooks=True)
    first, ours = _json(installer, ".codex/hooks.json")["hooks"]["PreToolUse"]
    assert first == other
    assert shlex.split(ours["hooks"][0]["command"])[0] == "/new/python"
    file.write_text(file.read_text() + "\n")  # changed since: ours alone are taken out
    installer.uninstall(codex, "user")
    assert _json(installer, ".codex/hooks.json")["hooks"]["PreToolUse"] == [other]
    assert "mcp_offload" not in file.read_text()


def test_a_file_of_ours_is_whole(installer: Installer) -> None:
    installer.install(CLIENTS["copilot"], "user", START, approve=False, hooks=True)
    hooks = _json(installer, ".copilot/hooks/mcp-offload.json")["hooks"]
    assert hooks["postToolUse"][0]["bash"] == f"{SHELL} hook copilot postToolUse --store /s"
    installer.install(CLIENTS["opencode"], "project", START, approve=False, hooks=True)
    plugin = Path(installer.places.project, ".opencode/plugin/mcp-offload.js").read_text()
    line = [START.command, "-P", "-m", "mcp_offload", "hook", "opencode", "after", "--store", "/s"]
    assert f"const after = {json.dumps(line)};\n" in plugin
    assert "$" not in plugin


def test_a_client_without_hooks_is_told_so(installer: Installer) -> None:
    outcome = installer.install(CLIENTS["zed"], "user", START, approve=False, hooks=True)
    assert "Zed has no hooks in user scope by which output could be offloaded" in outcome.notes
    assert outcome.action == "added"
    assert hook_files(CLIENTS["zed"], "user", installer.places, START) == []


def test_a_file_that_somebody_else_wrote_is_left_alone(installer: Installer) -> None:
    plugin = Path(installer.places.home, ".config/opencode/plugin/mcp-offload.js")
    plugin.parent.mkdir(parents=True)
    plugin.write_text("// mine\n")
    assert installer.uninstall(CLIENTS["opencode"], "user").action == "absent"
    assert plugin.read_text() == "// mine\n"
    installer.install(CLIENTS["opencode"], "user", START, approve=False, hooks=True)
    installer.uninstall(CLIENTS["opencode"], "user")
    assert plugin.read_text() == "// mine\n"
