"""Compaction as the command line starts it: choices outlive a killed gate, and the store has the texts."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.process.serving.rig import PATIENCE_SECONDS, ask, engine, gate

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

TEXTS = ["".join(f"{name} line {i} of what a command printed\n" for i in range(120)) for name in "abcd"]


def history() -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number, text in enumerate(TEXTS):
        function = {"name": "bash", "arguments": '{"command": "make"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return {"model": "m", "messages": messages, "max_tokens": 4}


def status(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/gate/status", timeout=PATIENCE_SECONDS) as answer:
        return json.loads(answer.read())["compaction"]


def test_choices_outlive_a_gate_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_OFFLOAD_STATE", str(tmp_path / "state"))
    flags = (
        "--compaction", "on", "--context-lease-tokens", "3500", "--store", str(tmp_path / "store"),
        "--workspace", "here",
    )  # fmt: skip
    with engine(blocks=100_000) as behind:
        with gate(behind, *flags) as first:
            assert ask(first.port, history())[0] == 200
            told = status(first.port)
            assert (told["steps"], told["replaced"], told["refused"]) == (1, 2, 0)
            first.kill()
        with gate(behind, *flags) as second:
            assert ask(second.port, history())[0] == 200
            told = status(second.port)
            assert (told["steps"], told["changed"], told["replaced"]) == (0, 1, 0)
    for handle in ("f1", "f2"):
        line = [
            sys.executable,
            "-m",
            "mcp_offload",
            "--store",
            str(tmp_path / "store"),
            "--workspace",
            "here",
        ]
        done = subprocess.run(
            [*line, "export", handle, str(tmp_path / handle), "--root", str(tmp_path)],
            capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (tmp_path / handle).read_text() in TEXTS


def test_shadow_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_OFFLOAD_STATE", str(tmp_path / "state"))
    flags = ("--compaction", "shadow", "--context-lease-tokens", "3500", "--store", str(tmp_path / "store"))
    with engine(blocks=100_000) as behind, gate(behind, *flags) as made:
        assert ask(made.port, history())[0] == 200
        assert status(made.port)["saved_tokens"] > 0
    assert list(tmp_path.iterdir()) == []
