"""The context lease across real processes: restarts, kills, several servers of one agent, and its hooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.tokens import TokenCounter
from mcp_offload.wire.desk import REFUSAL
from tests.process.stdio.rig import ROOT, Rig, server_command

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

SOURCE = "".join(
    f'def work_{n}():\n    """Do the work of number {n}."""\n    return sum(range({n}, {n} + 1000))\n\n\n'
    for n in range(200)
)
LEASE = ("--lease", "hard", "--lease-limit", "10000")
GRANTED = 4_000


def command(folder: Path, *more: str) -> list[str]:
    argv = server_command(folder, *LEASE, *more)
    (folder / "work" / "m.py").write_text(SOURCE)
    return argv


def shell(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """The command line, as a hook of this process's child would run it."""
    places = ["--store", str(folder / "store"), "--state", str(folder / "state")]
    return subprocess.run(
        [sys.executable, "-m", "mcp_offload", *places, "--workspace", str(folder / "work"), *argv],
        cwd=folder / "work",
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def lease_of(folder: Path, *more: str) -> dict[str, Any]:
    done = shell(folder, "--json", "lease", *more)
    assert done.returncode == 0, done.stdout
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def tokens_of(text: str) -> int:
    return TokenCounter().count(text)


def read(rig: Rig, first: int, last: int) -> str:
    handles = [f"m.py#work_{n}" for n in range(first, last)]
    return rig.call("read_handle", handles=handles, max_tokens=1_500)


def test_what_was_delivered_is_known_after_a_kill_and_by_the_clients_hooks(tmp_path: Path) -> None:
    argv = command(tmp_path)
    with Rig(argv, tmp_path / "work") as rig:
        rig.greet()
        rig.answer(rig.ask("tools/list"))
        texts = [read(rig, 0, 10)]
        rig.process.kill()
        rig.process.wait()
    # Nobody named the session: it is this process's, which started the servers and starts the hooks.
    before = lease_of(tmp_path)
    assert before["session"].startswith("process:")
    assert before["delivered"]["result"] == tokens_of(texts[0])
    assert before["delivered"]["definitions"] > 800
    assert before["delivered"]["instructions"] > 80
    assert (before["lease_tokens"], before["mode"]) == (GRANTED, "hard")
    with Rig(argv, tmp_path / "work") as rig:
        rig.greet()
        texts.append(read(rig, 10, 20))
        after = lease_of(tmp_path)
        assert after["delivered"]["result"] == sum(map(tokens_of, texts))
        assert after["charged_tokens"] - before["charged_tokens"] == tokens_of(texts[1])
        freed = lease_of(tmp_path, "report", "--compacted")
        assert freed["charged_tokens"] < before["charged_tokens"]
        assert freed["delivered"]["result"] == after["delivered"]["result"]


def test_two_servers_of_one_agent_share_a_lease_that_holds(tmp_path: Path) -> None:
    argv = command(tmp_path, "--session", "build-7")
    delivered = 0
    with Rig(argv, tmp_path / "work") as one, Rig(argv, tmp_path / "work") as two:
        one.greet()
        two.greet()
        for number in range(8):
            asked = [
                rig.ask(
                    "tools/call",
                    {
                        "name": "read_handle",
                        "arguments": {"handles": [f"m.py#L{1 + 90 * number}-{85 + 90 * number}"]},
                    },
                )
                for rig in (one, two)
            ]
            answers = [rig.answer(request)["result"] for rig, request in zip((one, two), asked, strict=True)]
            assert not any(answer.get("isError") for answer in answers)
            texts = [answer["content"][0]["text"] for answer in answers]
            delivered += sum(tokens_of(text) for text in texts if text != REFUSAL)
            standing = lease_of(tmp_path, "--session", "build-7")["delivered"]
            assert delivered + standing.get("instructions", 0) <= GRANTED
        assert texts == [REFUSAL, REFUSAL] or delivered > GRANTED // 2
    told = lease_of(tmp_path, "--session", "build-7")
    assert told["delivered"]["result"] == delivered


def test_servers_of_other_sessions_have_leases_of_their_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with Rig(command(tmp_path, "--session", name), tmp_path / "work") as rig:
            rig.greet()
            text = read(rig, 0, 5)
        assert lease_of(tmp_path, "--session", name)["delivered"]["result"] == tokens_of(text)
    done = shell(tmp_path, "--json", "lease", "--session", "c")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["type"] == "lease_not_found"


def test_a_hook_reports_by_the_name_that_the_client_gives_its_programs(tmp_path: Path) -> None:
    env = {"CLAUDE_CODE_SESSION_ID": "c-1"}
    with Rig(command(tmp_path), tmp_path / "work", env=env) as rig:
        rig.greet()
        read(rig, 0, 5)
        told = lease_of(tmp_path, "report", "--session", "c-1", "--context", "8000")
    assert (told["session"], told["left_tokens"]) == ("session:c-1", 2_000)


def test_stats_tell_what_was_kept_out(tmp_path: Path) -> None:
    with Rig(command(tmp_path), tmp_path / "work") as rig:
        rig.greet()
        rig.call("store_artifact", source="m.py")
        read(rig, 0, 5)
    delivered = json.loads(shell(tmp_path, "--json", "stats").stdout)["delivered"]
    assert delivered["inline_tokens"] == tokens_of(SOURCE)
    assert delivered["kept_out_tokens"] == tokens_of(SOURCE) - delivered["delivered_tokens"]
    assert "kept out: " in shell(tmp_path, "stats").stdout
