"""``mcp-offload hook`` and ``mcp-offload capture`` as clients run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

US = [sys.executable, "-P", "-m", "mcp_offload"]
LONG = "".join(f"compile unit {number} ok\n" for number in range(1, 3001)).replace(
    " 1789 ok", " 1789 error: no"
)


def _run(shell: Any, *words: str, given: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*US, *words],
        input=given,
        cwd=shell.project,
        env={**shell.environment(), **more},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_long_output_is_stored_and_its_digest_shown(shell: Any) -> None:
    done = _run(shell, "capture", "--name", "make all", given=LONG)
    assert done.returncode == 0
    assert done.stdout.startswith("l1 make all 3000L ")
    assert "l1#L1789: compile unit 1789 error: no" in done.stdout
    assert shell.run("read", "l1", "--raw").stdout.decode() == LONG


@pytest.mark.parametrize("given", ["", "ok\n", "no line break", "\x1b[31mred\x1b[0m\n" * 20])
def test_short_output_is_passed_through(shell: Any, given: str) -> None:
    done = _run(shell, "capture", given=given)
    assert (done.stdout, done.stderr, done.returncode) == (given, "", 0)
    assert not Path(shell.home, "store").exists() or "make" not in shell.run("list").stdout


def test_output_as_short_as_its_digest_is_passed_through(shell: Any) -> None:
    given = f"{'-' * 70}\n" * 40
    assert len(given) > 2_000
    done = _run(shell, "capture", given=given)
    assert done.stdout == given


def test_the_status_of_the_command_stays(shell: Any) -> None:
    line = f"set -o pipefail; (seq 5000; exit 7) | {' '.join(US)} capture --name seq"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=shell.project,
        env=shell.environment(),
        capture_output=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 7
    assert b" seq 5000L " in done.stdout


def test_output_that_cannot_be_stored_comes_out_as_it_went_in(shell: Any, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = _run(shell, "capture", "--store", str(blocked), "--name", "make", given=LONG)
    assert done.stdout == LONG
    assert done.stderr.startswith("mcp-offload: not offloaded: ")
    assert done.returncode == 0


def test_a_wrong_setting_does_not_cost_the_output(shell: Any) -> None:
    done = _run(shell, "capture", "--name", "make", given=LONG, MCP_OFFLOAD_TYPO="1")
    assert done.stdout == LONG
    assert "MCP_OFFLOAD_TYPO" in done.stderr


def test_nothing_behind_the_name_says_where_to_store(shell: Any, tmp_path: Path) -> None:
    done = _run(shell, "capture", "--name", "make", "--store", str(tmp_path / "other"), given=LONG)
    assert not (tmp_path / "other").exists()
    assert "l1 make --store" in done.stdout


def test_a_signal_shows_what_has_come_so_far(shell: Any) -> None:
    process = subprocess.Popen(
        [*US, "capture", "--name", "make"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=shell.project,
        env=shell.environment(),
    )
    with process:
        assert process.stdin and process.stdout
        process.stdin.write(LONG.encode())
        process.stdin.flush()
        spools = Path(tempfile.gettempdir(), f"mcp-offload-spool-{os.getuid()}")
        while not any(path.stat().st_size >= len(LONG) for path in spools.glob("*.out")):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert b"l1 make 3000L " in process.stdout.read()


def _event(**fields: object) -> str:
    return json.dumps({"session_id": "s", "cwd": ".", **fields})


def test_codex_has_what_its_sandbox_could_not_store_taken_up(shell: Any, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    inside = _run(shell, "capture", "--store", str(blocked), "--spool", "--name", "make all", given=LONG)
    assert inside.stdout.startswith("mcp-offload spooled /")
    assert "compile unit 3000 ok" in inside.stdout
    spool = Path(inside.stdout.split()[2])
    assert spool.stat().st_mode & 0o077 == 0
    asked = _event(tool_name="Bash", tool_input={"command": "x"}, tool_response=inside.stdout)
    answer = json.loads(_run(shell, "hook", "codex", "PostToolUse", given=asked).stdout)
    assert answer["decision"] == "block"
    assert answer["reason"].startswith("l1 make all 3000L ")
    assert shell.run("read", "l1", "--raw").stdout.decode() == LONG
    assert not spool.exists()


def _shown_by_codex(shell: Any, tmp_path: Path, given: str) -> tuple[str, Path]:
    """What is shown where neither the command nor the hook can store, and the spool's path."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    options = ["--store", str(blocked)]
    inside = _run(shell, "capture", *options, "--spool", "--name", "make", given=given)
    asked = _event(tool_name="Bash", tool_response=inside.stdout)
    done = _run(shell, "hook", "codex", "PostToolUse", *options, given=asked)
    assert "not offloaded" in done.stderr
    return json.loads(done.stdout)["reason"], Path(inside.stdout.split()[2])


def test_codex_is_shown_what_came_where_nothing_can_be_stored(shell: Any, tmp_path: Path) -> None:
    given = LONG[: LONG.index("compile unit 1001 ")]
    shown, spool = _shown_by_codex(shell, tmp_path, given)
    assert shown == given
    assert not spool.exists()


def test_codex_is_shown_the_ends_of_much_that_cannot_be_stored(shell: Any, tmp_path: Path) -> None:
    shown, spool = _shown_by_codex(shell, tmp_path, LONG)
    assert shown.startswith("compile unit 1 ok\n")
    assert shown.endswith("compile unit 3000 ok\n")
    assert f"bytes left out; all of it is in {spool}\n" in shown
    assert spool.read_text() == LONG
    spool.unlink()


def test_only_our_spool_is_taken_up(shell: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x" * 5000)
    spools = Path(tempfile.gettempdir(), f"mcp-offload-spool-{os.getuid()}")
    spools.mkdir(mode=0o700, exist_ok=True)
    link = spools / f"{'0' * 32}.out"
    link.symlink_to(secret)
    try:
        for path in (secret, link, spools / ".." / "secret"):
            said = f"mcp-offload spooled {path} as x\n"
            asked = _event(tool_name="Bash", tool_response=said)
            done = _run(shell, "hook", "codex", "PostToolUse", given=asked)
            assert (done.stdout, done.returncode) == ("", 0)
    finally:
        link.unlink()
    assert secret.read_text() == "x" * 5000


@pytest.mark.parametrize("given", ["", "[]", "not JSON", "{}", '{"tool_input": 3}', "\xff"])
def test_a_hook_that_understands_nothing_says_nothing(shell: Any, given: str) -> None:
    for words in (("claude-code", "PreToolUse"), ("copilot", "postToolUse"), ("emacs", "x"), ()):
        done = _run(shell, "hook", *words, given=given)
        assert (done.stdout, done.returncode) == ("", 0)


def test_a_hook_with_nothing_to_do_loads_next_to_nothing(shell: Any) -> None:
    asked = _event(tool_name="Bash", tool_input={"command": "make"})
    line = [
        sys.executable,
        "-X",
        "importtime",
        "-P",
        "-m",
        "mcp_offload",
        "hook",
        "claude-code",
        "PreToolUse",
    ]
    done = subprocess.run(
        line,
        input=asked,
        cwd=shell.project,
        env=shell.environment(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    loaded = {
        row.rpartition("|")[2].strip() for row in done.stderr.splitlines() if row.startswith("import time:")
    }
    ours = {name for name in loaded if name.startswith("mcp_offload")}
    assert ours == {
        "mcp_offload",
        "mcp_offload.__main__",
        "mcp_offload.cli",
        *(f"mcp_offload.cli.hook{part}" for part in ("", ".front", ".events", ".shell", ".commands")),
    } - {"mcp_offload.__main__"}
    assert not {"argparse", "dataclasses", "inspect", "tempfile", "subprocess", "apsw", "pydantic"} & loaded
    assert json.loads(done.stdout)["hookSpecificOutput"]["updatedInput"]


def test_a_report_for_a_session_that_was_sent_nothing_says_nothing(shell: Any) -> None:
    asked = _event(source="compact")
    done = _run(shell, "hook", "claude-code", "SessionStart", given=asked)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_session_that_is_compacted_is_told_to_its_lease(shell: Any) -> None:
    told = _run(shell, "lease", "report", "--context", "9000", given="", CLAUDE_CODE_SESSION_ID="abc")
    assert told.returncode == 0, told.stderr
    done = _run(
        shell,
        "hook",
        "claude-code",
        "SessionStart",
        given=_event(source="compact"),
        CLAUDE_CODE_SESSION_ID="abc",
    )
    assert (done.stdout, done.stderr) == ("", "")
    shown = _run(shell, "--json", "lease", given="", CLAUDE_CODE_SESSION_ID="abc")
    assert json.loads(shown.stdout)["context_tokens"] is None
