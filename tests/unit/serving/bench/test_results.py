"""Results survive a kill in the middle of a line, and go on only with the same settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from serving.bench.pictures import charts_of, page_of, summary_of
from serving.bench.results import Results, load
from serving.bench.suite import SMOKE, Plan, cells
from serving.errors import ServingUsageError
from serving.profile.load import load_profile
from serving.report import draw

MACHINE = {"cpu": "c", "cores": 2, "gpus": []}
PROFILE = {"name": "p", "model": "m/tiny", "min_tokens_per_second": 30.0}


def header(benchmark: str = "decode", **settings: Any) -> dict[str, Any]:
    return {
        "benchmark": benchmark, "smoke": True, "settings": {"profile": PROFILE, **settings},
        "machine": MACHINE, "versions": {"vllm": "1"}, "command": "bench",
    }  # fmt: skip


def measured(velocity: float) -> dict[str, Any]:
    names = ("velocity", "velocity_whole", "throughput", "first_token_p50")
    return {
        "figures": dict.fromkeys(names, velocity),
        "requests": [[100, 10, 0.0, 0.1, 1.0, velocity, ""]],
        "pool": [[0.0, 0.1, 1, 0, None, None], [1.0, 0.4, 1, 0, 0.5, 1]],
        "commands": {"engine": ["vllm", "serve"], "gate": None},
    }


def test_what_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    results = Results(tmp_path, header())
    results.add("measure", {"depth": 1}, 0, measured(1.0))
    results.add("failed", {"depth": 2}, 0, {"error": "out of memory"})
    results.close()
    with results.path.open("a") as file:
        file.write('{"kind": "measure", "cell": {"dep')  # killed here
    again = Results(tmp_path, header())
    assert again.has({"depth": 1}, 0)
    assert not again.has({"depth": 1}, 1)
    assert not again.has({"depth": 2}, 0)
    again.add("measure", {"depth": 2}, 0, measured(2.0))
    again.close()
    assert [line["kind"] for line in load(tmp_path).measures] == ["measure", "failed", "measure"]
    assert [row["why"] for row in summary_of(load(tmp_path))] == ["", ""]


def test_other_settings_are_told_and_nothing_is_lost(tmp_path: Path) -> None:
    Results(tmp_path, header(output=1)).close()
    before = (tmp_path / "results.jsonl").read_text()
    with pytest.raises(ServingUsageError, match="output was 1 and is 2; name another folder"):
        Results(tmp_path, header(output=2))
    with pytest.raises(ServingUsageError, match="another benchmark"):
        Results(tmp_path, header("gate", output=1))
    assert (tmp_path / "results.jsonl").read_text() == before


def test_what_holds_no_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(ServingUsageError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "results.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ServingUsageError, match="no results of a benchmark"):
        load(tmp_path)


@pytest.mark.parametrize("benchmark", ["decode", "runtimes", "replay", "gate"])
def test_every_benchmark_has_a_page_and_a_chart(benchmark: str, tmp_path: Path) -> None:
    results = Results(tmp_path, header(benchmark))
    plan = Plan(benchmark, load_profile("cpu-smoke"), SMOKE, smoke=True, trace_requests=4, trace_tokens=900)  # type: ignore[arg-type]
    made = cells(plan)
    for place, cell in enumerate(made[:-1]):
        results.add("measure", cell.factors, 0, measured(10.0 + place))
    results.add("skipped", made[-1].factors, 0, {"reason": "the pool is too small"})
    if len(made) == 1:
        results.add("measure", made[0].factors, 0, measured(1.0))
    results.close()
    loaded = load(tmp_path)
    page = page_of(loaded)
    assert "Smoke run" in page
    assert ("the pool is too small" in page) == (len(made) > 1)
    assert page.count("\n| ") == len(made) + 2 - 0
    for chart in charts_of(loaded).values():
        assert b"SMOKE" in draw(chart, "svg")


def test_decode_has_two_depths_of_four_cells_at_smoke_scale() -> None:
    made = cells(Plan("decode", load_profile("cpu-smoke"), SMOKE, smoke=True))
    assert len(made) == 8
    assert len({cell.engine for cell in made}) == 4


def test_sequences_that_a_profile_does_not_allow_are_told() -> None:
    with pytest.raises(ServingUsageError, match="give --max-model-len"):
        cells(Plan("decode", load_profile("cpu-smoke")))
