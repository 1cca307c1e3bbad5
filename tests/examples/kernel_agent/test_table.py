"""The published traces, the frozen predictions and the table of the page belong together, digit by digit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from examples.kernel_agent.traces import table

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def traces() -> table.Traces:
    return table.load()


def test_the_predictions_follow_from_the_traces(traces: table.Traces) -> None:
    told = json.loads(json.dumps(table.frozen(traces)))
    assert told == json.loads(table.PREDICTIONS.read_text(encoding="utf-8"))


def test_the_page_shows_what_the_script_prints() -> None:
    """Alone with the standard library: nothing of it needs a model, a network or another package."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(root=str(ROOT), script=str(table.__file__))],
        capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = table.PAGE.read_text(encoding="utf-8").split(table.BEGIN)[1].split(table.END)[0]
    assert shown.strip() == done.stdout.strip()


WITHOUT = """
import runpy, socket, sys
sys.path.insert(0, {root!r})
for name in ("duckdb", "scipy", "numpy", "vllm", "torch"):
    sys.modules[name] = None
socket.socket = None
sys.argv = [{script!r}]
runpy.run_path({script!r}, run_name="__main__")
"""


def test_a_changed_prediction_changes_the_table() -> None:
    told = json.loads(table.PREDICTIONS.read_text(encoding="utf-8"))
    before = list(table.table(told))
    told["sections"][0]["test"][0]["predictions"]["B2"][0] += 0.01
    assert list(table.table(told)) != before


def test_the_traces_are_what_the_datasheet_says(traces: table.Traces) -> None:
    cells = Counter((trace["model"], trace["cache_dtype"]) for trace in traces)
    sheet = (table.HERE / "README.md").read_text(encoding="utf-8")
    assert all(f"| {model} | {cache} | {count} |" in sheet for (model, cache), count in cells.items())
    assert len({trace["run"] for trace in traces}) == len(traces)
    assert table.TRACES.stat().st_size < 2_000_000
    for trace in traces:
        counted = [event for event in trace["nodes"] if event["prompt_tokens"] is not None]
        assert trace["steps"] == len(counted) and trace["memory"]
        assert (trace["outcome"] == "out of scope") == (
            len(counted) == 1 and not trace["compiles"] and not any(e["node"] != "planner" for e in counted)
            and trace["outcome"] != "failed"
        )  # fmt: skip
