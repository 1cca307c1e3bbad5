"""Exit statuses, messages, help and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcp_offload import __version__

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]


def test_version_and_help_need_no_settings(shell: Any) -> None:
    done = shell.run("--version", env={"MCP_OFFLOAD_STOER": "x"})
    assert (done.returncode, done.stdout.decode()) == (0, f"mcp-offload {__version__}\n")
    done = shell.run("read", "--help", env={"MCP_OFFLOAD_STOER": "x"})
    assert (done.returncode, b"examples:" in done.stdout) == (0, True)


def test_the_installed_command_is_this_one() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"]
    assert scripts["mcp-offload"] == "mcp_offload.__main__:main"


def test_an_unknown_variable_is_an_error_that_names_the_closest(shell: Any) -> None:
    said = shell.fails(2, "list", env={"MCP_OFFLOAD_QOUTA_BYTES": "5"})
    assert said.count("\n") == 1
    assert "MCP_OFFLOAD_QOUTA_BYTES" in said
    assert "did you mean MCP_OFFLOAD_QUOTA_BYTES?" in said


def test_an_unknown_variable_stops_the_server_too(shell: Any) -> None:
    assert "did you mean" in shell.fails(2, "serve", env={"MCP_OFFLOAD_TOOL": "all"})


def test_variables_of_the_test_suite_are_ignored(shell: Any) -> None:
    assert shell.run("list", env={"MCP_OFFLOAD_TEST_ANYTHING": "5"}).returncode == 0


@pytest.mark.parametrize(
    ("status", "args"),
    [
        (1, ["read", "f99"]),
        (1, ["store", "missing.txt"]),
        (1, ["store", "/etc/passwd"]),
        (1, ["read", "src/invoice.py#Nothing"]),
        (1, ["search", "anything"]),
        (2, ["read", "f1#L0-"]),
        (2, ["read", "src/invoice.py#"]),
        (2, ["search", "(", "src/invoice.py"]),
        (2, ["list", "--root", "/nonexistent"]),
    ],
)
def test_failures_are_one_line_for_people_and_one_object_for_programs(
    shell: Any, status: int, args: list[str]
) -> None:
    said = shell.fails(status, *args)
    assert said.startswith("mcp-offload: ")
    assert "Traceback" not in said
    done = shell.run("--json", *args)
    assert (done.returncode, done.stderr) == (status, b"")
    error = json.loads(done.stdout)["error"]
    assert f"mcp-offload: {error['message']}\n" == said
    assert error["type"].islower()


def test_an_output_that_is_full_is_told(shell: Any) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            shell.command("list"),
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=shell.project,
            env=shell.environment(),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.decode().startswith("mcp-offload: Standard output cannot be written to: ")
    assert done.stderr.count(b"\n") == 1


def test_an_unsafe_store_is_refused(shell: Any) -> None:
    store = shell.home / "open"
    store.mkdir(mode=0o777)
    store.chmod(0o777)
    said = shell.fails(1, "list", "--store", str(store))
    assert str(store) in said


def test_interruption_ends_with_130_and_a_clean_store(shell: Any) -> None:
    with subprocess.Popen(
        shell.command("store", "-", "--name", "endless.log"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.project,
        env=shell.environment(),
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds, so that when this returns the command is reading.
        process.stdin.write(b"x" * (4 << 20))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=50)
    assert (process.returncode, stdout, stderr) == (130, b"", b"")
    assert shell.json("list")["total"] == 0
    store = shell.home / "store"
    left = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    assert left < 4 << 20


def test_nothing_is_written_outside_store_and_state(shell: Any) -> None:
    before = sorted(shell.project.rglob("*"))
    shell.json("outline", "src/invoice.py")
    assert sorted(shell.project.rglob("*")) == before
    assert sorted(path.name for path in shell.home.iterdir()) == ["state", "store"]


def test_the_store_is_private(shell: Any) -> None:
    shell.json("store", "src/invoice.py")
    for path in [shell.home / "store", *(shell.home / "store").rglob("*")]:
        assert os.stat(path).st_mode & 0o077 == 0, path


def test_completions_are_written_for_shells(shell: Any) -> None:
    script = shell.text("completion", "bash")
    done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
