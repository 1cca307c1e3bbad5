"""The doctor, on a healthy installation and on broken ones."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.process


def test_a_healthy_installation_has_nothing_to_fix(shell: Any) -> None:
    report = shell.json("doctor")
    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] is True
    assert [name for name, check in checks.items() if check["verdict"] == "wrong"] == []
    for era in ("server, handshake era", "server, current era"):
        assert "mcp-offload" in checks[era]["detail"]
        assert "7 tools" in checks[era]["detail"]
    assert set(checks) >= {"store", "disk", "write-ahead log", "parsers", "token counter", "ripgrep"}


def test_the_server_is_started_as_clients_start_it_whatever_the_project_holds(shell: Any) -> None:
    for name in ("logging.py", "mcp_offload.py"):
        (shell.project / name).write_text(
            "raise RuntimeError('the project was imported')\n", encoding="utf-8"
        )
    # As the installed command does, and unlike ``python -m``, without the current directory.
    command = [sys.executable, "-P", "-m", "mcp_offload", "--json", "doctor"]
    done = subprocess.run(
        command, cwd=shell.project, env=shell.environment(), capture_output=True, check=False, timeout=120
    )
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    for era in ("server, handshake era", "server, current era"):
        assert "7 tools" in checks[era]["detail"]


def test_what_is_wrong_is_told_with_what_to_do(shell: Any) -> None:
    store = shell.home / "open"
    store.mkdir()
    store.chmod(0o777)
    done = shell.run("doctor", "--store", str(store))
    assert done.returncode == 1
    lines = done.stdout.decode().split("\n")
    broken = [line for line in lines if line.startswith("WRONG store")]
    assert len(broken) == 1
    assert str(store) in broken[0]
    assert lines[lines.index(broken[0]) + 1].startswith("      -> ")


def test_a_full_disk_is_told(shell: Any) -> None:
    done = shell.run("--json", "doctor", env={"MCP_OFFLOAD_RESERVE_BYTES": str(1 << 60)})
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, checks["disk"]["verdict"]) == (1, "wrong")


def test_a_missing_ripgrep_is_a_note(shell: Any) -> None:
    report = json.loads(shell.run("--json", "doctor", env={"MCP_OFFLOAD_RG": "off"}).stdout)
    checks = {check["name"]: check for check in report["checks"]}
    assert checks["ripgrep"]["verdict"] == "note"
    assert "mcp-offload[search]" in checks["ripgrep"]["fix"]
