"""Registering with clients from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

SERVE = ["-P", "-m", "mcp_offload", "serve"]


def _files(shell: Any) -> set[Path]:
    below = [path for path in shell.home.rglob("*") if path.is_file()]
    return {path for path in below if shell.home / "state" not in path.parents}


def test_a_client_is_registered_seen_and_taken_out(shell: Any) -> None:
    codex = shell.home / ".codex" / "config.toml"
    codex.parent.mkdir()
    before = '# mine\nmodel = "x"  # kept\n'
    codex.write_text(before)
    added = shell.json("install", "codex")
    assert [(one["client"], one["action"], one["files"]) for one in added["clients"]] == [
        ("codex", "added", [str(codex)])
    ]
    assert Path(added["clients"][0]["backups"][0]).read_text() == before
    assert codex.read_text().startswith(before)
    (seen,) = shell.json("status", "codex")["clients"]
    assert seen["registrations"][0] == {
        "scope": "user",
        "path": str(codex),
        "state": "registered",
        "command": [sys.executable, *SERVE],
        "problem": "",
        "hooks": False,
    }
    assert "registered already" in shell.text("install", "codex")
    assert "removed from" in shell.text("uninstall", "codex")
    assert codex.read_text() == before


@pytest.mark.parametrize(
    "directory", [lambda shell: "/", lambda shell: shell.project], ids=["top", "project"]
)
def test_the_registered_line_serves_the_project(shell: Any, directory: Callable[[Any], Any]) -> None:
    shell.text("install", "cursor", "--scope", "project")
    entry = json.loads((shell.project / ".cursor" / "mcp.json").read_text())["mcpServers"]["offload"]
    (shell.project / "json.py").write_text("raise SystemExit('a module of the project was imported')\n")
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    store = {"name": "store_artifact", "arguments": {"path": "src/invoice.py"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": store},
    ]
    process = subprocess.Popen(
        [entry["command"], *entry["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=directory(shell),
        env=shell.environment(),
    )
    with process:
        assert process.stdin and process.stdout
        for line in lines:
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in (1, 2)]
        process.stdin.close()
        assert process.wait(30) == 0
    assert answers[1]["result"].get("isError") is not True, answers
    assert "f1 src/invoice.py" in answers[1]["result"]["content"][0]["text"]


def test_what_is_typed_is_passed_on_and_the_environment_is_not(shell: Any) -> None:
    text = shell.text("install", "gemini", "--print", "--store", "s", "--workspace", "team", "--root", "src")
    entry = json.loads(text)["mcpServers"]["offload"]
    project = str(shell.project)
    assert entry["command"] == sys.executable
    options = ["--store", f"{project}/s", "--workspace", "team", "--root", f"{project}/src"]
    assert entry["args"] == [*SERVE, *options]
    assert str(shell.home) not in shell.text("install", "gemini", "--print")
    assert _files(shell) == set()


def test_a_dry_run_shows_the_diff_and_writes_nothing(shell: Any) -> None:
    output = shell.text("install", "goose", "--dry-run")
    assert f"goose (user): would be added to {shell.home}/.config/goose/config.yaml\n" in output
    assert (
        f"--- /dev/null\n+++ {shell.home}/.config/goose/config.yaml\n@@ -0,0 +1,8 @@\n+extensions:\n"
        in output
    )
    assert "unverified" in output
    assert _files(shell) == set()


def test_a_broken_file_is_told_and_left_alone(shell: Any) -> None:
    gemini = shell.home / ".gemini" / "settings.json"
    gemini.parent.mkdir()
    gemini.write_text('{\n  "a": 1\n  "b": 2\n}')
    said = shell.fails(1, "install", "gemini")
    assert f"{gemini} was left as it is: line 3 is not JSON: a comma or }} is missing." in said
    assert gemini.read_text() == '{\n  "a": 1\n  "b": 2\n}'
    # Of several clients, the sound ones are done.
    done = shell.run("--json", "install", "gemini", "zed")
    assert done.returncode == 1
    first, second = json.loads(done.stdout)["clients"]
    assert "was left as it is" in first["error"]
    assert second["action"] == "added"
    assert "unreadable" in shell.text("status", "gemini")


def test_wrong_usage_ends_with_status_2(shell: Any) -> None:
    assert "not a known client" in shell.fails(2, "install", "emacs")
    assert "--root DIR" in shell.fails(2, "install", "claude-desktop")
    assert "has no local scope" in shell.fails(2, "install", "zed", "--scope", "local")
    assert "required: CLIENT" in shell.fails(2, "install")


def test_status_lists_every_client_and_marks_what_was_not_tried(shell: Any) -> None:
    output = shell.text("status")
    assert "claude-code: not found; verified with" in output
    assert "cursor: not found; unverified" in output
    assert len(output.strip().split("\n")) == len(shell.json("status")["clients"])
    named = shell.json("install", "windsurf", "--root", ".")
    assert named["clients"][0]["verified"] is None
    assert f"  user: registered; {shell.home}/.codeium/windsurf/mcp_config.json" in shell.text(
        "status", "windsurf"
    )
