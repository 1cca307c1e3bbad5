"""The proof on two of its tasks with a real engine, and what it would say of results that prove nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.proof import report
from tests.benchmarks.proof.__main__ import FLAGS
from tests.benchmarks.proof.proof import Done, solve
from tests.benchmarks.proof.systems import SYSTEMS, compacting_gate
from tests.benchmarks.proof.tasks import works
from tests.serving import models, node

TASKS = ("root cause", "migrate a module")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Generator[node.Server]:
    with node.engine(tmp_path_factory.mktemp("engine"), models.tiny(), *FLAGS, port=8491) as server:
        yield server


def run(system: str, task: str, engine: node.Server, home: Path) -> Done:
    one = next(one for one in works() if one.task.name == task)
    return asyncio.run(solve(SYSTEMS[system], one, engine.url, compacting_gate, home))


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("task", TASKS)
def test_a_task_needs_over_60_000_tokens_raw_and_stays_under_the_lease_with_us(
    engine: node.Server, tmp_path: Path, task: str
) -> None:
    done: list[Done] = []
    for system in ("raw", "MCP only", "gateway only", "both"):
        home = tmp_path / system.replace(" ", "-")
        home.mkdir()
        done.append(run(system, task, engine, home))
    assert [one.outcome.failure for one in done] == [""] * 4
    assert report.wrong(report.record(done)) == []


def measured(system: str, task: str, **more: Any) -> report.Record:
    prompts = [[70_000, 0, 1.0]] if system == "raw" else [[7_000, 3_500, 0.1]]
    return {
        "system": system, "task": task, "solved": True, "failure": "", "found": 1, "wanted": 1, "calls": 1,
        "dispensable": [], "prompts": prompts, **more,
    }  # fmt: skip


def test_what_proves_nothing_is_said() -> None:
    assert report.wrong([measured("raw", "a"), measured("both", "a")]) == []
    (small,) = report.wrong([measured("raw", "a", prompts=[[60_000, 0, 1.0]])])
    assert small == "raw, a: only 60,000 tokens"
    (large,) = report.wrong([measured("both", "a", prompts=[[18_001, 0, 1.0]])])
    assert "18,001 tokens, 18,000 are allowed" in large
    (unsolved,) = report.wrong([measured("MCP only", "a", solved=False, failure="NotFound: x")])
    assert unsolved.endswith("NotFound: x")
    (needless,) = report.wrong([measured("ctxtual", "a", dispensable=["read"])])
    assert "the result of read is not needed" in needless
    # A peer that fails is a result, not a fault of the proof.
    assert report.wrong([measured("ctxtual", "a", solved=False, failure="x")]) == []


def test_ratios_are_over_tasks_that_both_solved() -> None:
    raw = [measured("raw", "a"), measured("raw", "b", prompts=[[140_000, 0, 2.0]]), measured("raw", "c")]
    ours = [measured("both", "a"), measured("both", "b"), measured("both", "c", solved=False)]
    found = report.ratio(raw, ours, report.peak)
    assert found is not None
    mean, low, high = found
    assert mean == pytest.approx((0.1 * 0.05) ** 0.5)
    assert low < mean < high
    assert report.ratio(raw[:1], ours, report.peak) is None
    row = report.table(raw + ours).rows[1]
    assert row[:3] == ["both", "2 of 3", "3 of 3"]
    assert row[7] == "50.0 %"
