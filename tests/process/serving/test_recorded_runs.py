"""A gate that is told to end writes the runs that it has seen, whatever they still wait for."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.process.serving.rig import PATIENCE_SECONDS, ask, body, engine, gate

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_goes_on_is_written_when_the_gate_ends(tmp_path: Path, number: signal.Signals) -> None:
    runs = tmp_path / "runs.jsonl"
    with engine() as behind, gate(behind, "--record-runs", str(runs)) as before:
        for _ in range(2):
            assert ask(before.port, body(output=4))[0] == 200
        before.process.send_signal(number)
        before.process.wait(PATIENCE_SECONDS)
    (run,) = map(json.loads, runs.read_text(encoding="utf-8").splitlines())
    assert len(run["nodes"]) == 2
    assert run["run"] and not run["run"].startswith("/")
