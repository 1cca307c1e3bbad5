"""The kernel agent against a real engine behind the gate: a model that knows nothing keeps to the schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from serving.forecast.traces import run_of
from tests.clients.environments import prepare
from tests.serving import models, node
from tests.serving.record_traces import FLAGS

ROOT = Path(__file__).parents[2]
TASKS = ("Write a CUDA kernel that adds two float vectors.", "GPU kernel, float: out[i] = alpha * a[i]")

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


def test_runs_are_traced_by_the_agent_and_by_the_gate(tmp_path: Path) -> None:
    python = str(prepare("langchain").python)
    server = f"{sys.executable} -m mcp_offload --store {tmp_path / 'store'} --state {tmp_path / 'state'}"
    traces, seen = tmp_path / "traces.jsonl", tmp_path / "seen.jsonl"
    with (
        node.engine(tmp_path, models.tiny(), *FLAGS, port=8484) as engine,
        node.gate(tmp_path, engine.url, "--record-runs", str(seen)) as gate,
    ):
        for number in range(4):
            done = subprocess.run(
                [
                    python, "-m", "kernel_agent", TASKS[number % 2], "--url", f"{gate.url}/v1",
                    "--model", "m", "--out", str(tmp_path / f"out{number}"), "--server", server,
                    "--trace", str(traces),
                    "--metrics", f"{engine.url}/metrics", "--engine-pid", str(engine.process.pid),
                    "--shape", "expression", "--temperature", "0.8", "--seed", str(number), "--retries", "2",
                    "--text-chars", "60", "--answer-tokens", "300",
                ],
                cwd=ROOT / "examples", capture_output=True, text=True, timeout=200, check=False,
            )  # fmt: skip
            assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    told = {trace["run"]: trace for trace in map(json.loads, traces.read_text().splitlines())}
    also = {trace["run"]: trace for trace in map(json.loads, seen.read_text().splitlines())}
    assert len(told) == 4 and set(also) == set(told)
    for name, trace in told.items():
        mine, theirs = run_of(trace), run_of(also[name])
        assert mine is not None and theirs is not None
        assert (trace["cache_dtype"], trace["block_tokens"], trace["engine_blocks"]) == ("auto", 32, 1023)
        assert all(sample["process_bytes"] > 5e8 for sample in trace["memory"]) and trace["memory"]
        # What the gate saw is what the agent counted; answers that were cut off count for the gate alone.
        if not any(event["bad_answer"] for event in trace["nodes"]):
            assert (mine.base_tokens, mine.steps, mine.expansion_tokens, mine.peak_tokens) == (
                theirs.base_tokens, theirs.steps, theirs.expansion_tokens, theirs.peak_tokens,
            )  # fmt: skip
        nodes = [event["node"] for event in trace["nodes"]]
        assert nodes[0] == "planner" and (
            trace["outcome"] != "gave up" or "critic" in nodes or trace["compiles"]
        )
    # Seeds were chosen so that some run goes past the planner and is held to what the compilers say.
    assert any(trace["compiles"] for trace in told.values()), [t["outcome"] for t in told.values()]
