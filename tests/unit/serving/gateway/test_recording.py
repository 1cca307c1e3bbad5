"""Runs as the gate sees them: one line each, which the forecasts read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from serving.forecast.traces import run_of
from serving.gateway import recording
from serving.gateway.recording import Both, RecordFile, RunFile
from serving.middleware.records import Record

RECORD = Record(
    request_id="r", arrived_unix_seconds=1000.0, session_id="a", session_source="header", agent_class="coder",
    tenant="-", path="/v1/chat/completions", stream=False, outcome="answered", reason=None, status=200,
    prompt_tokens=500, cached_tokens=0, new_tokens=500, output_tokens=40, output_exact=True, leased_blocks=4,
    waited_seconds=0.0, first_byte_seconds=0.5, last_byte_seconds=2.0,
)  # fmt: skip
POOL = {"kv_blocks": 17, "running": 2, "block_tokens": 16, "engine_blocks": 99, "cache_dtype": "fp8"}


def turn(session: str, at: float, prompt: int = 500, output: int = 40, **more: Any) -> Record:
    return replace(
        RECORD,
        session_id=session,
        arrived_unix_seconds=at,
        prompt_tokens=prompt,
        output_tokens=output,
        **more,
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    def lines(*records: Record, close: bool = True) -> list[dict[str, Any]]:
        file = RunFile(tmp_path / "runs.jsonl", lambda: POOL)
        for record in records:
            file.record(record)
        if close:
            file.close()
        return [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]

    return lines


def test_a_run_is_one_line_that_forecasts_read(recorded: Callable[..., list[dict[str, Any]]]) -> None:
    (told,) = recorded(turn("a", 1000), turn("a", 1010, 700, 60), turn("a", 1030, 800, 10))
    run = run_of(told)
    assert run is not None
    assert (run.base_tokens, run.steps, run.expansion_tokens, run.peak_tokens) == (500, 3, 110, 810)
    assert run.tool_tokens == 160 + 40 and run.group == "coder" and run.unit == "a"
    assert (told["block_tokens"], told["engine_blocks"], told["cache_dtype"]) == (16, 99, "fp8")
    assert told["memory"][1] == {"at_seconds": 12.0, "kv_blocks": 17, "running": 2, "process_bytes": None}
    assert told["seconds"] == 32.0 and told["peak_tokens"] == 810


def test_a_run_is_written_once_it_has_been_quiet(recorded: Callable[..., list[dict[str, Any]]]) -> None:
    told = recorded(turn("a", 1000), turn("b", 1500), turn("c", 1700), close=False)
    assert [trace["run"] for trace in told] == ["a"]


def test_a_run_that_goes_on_is_not_cut(recorded: Callable[..., list[dict[str, Any]]]) -> None:
    told = recorded(turn("a", 1000), turn("b", 1010), turn("a", 1500), turn("c", 1900))
    assert {trace["run"]: trace["steps"] for trace in told} == {"a": 2, "b": 1, "c": 1}


def test_runs_are_bounded(
    recorded: Callable[..., list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "OPEN_RUNS", 3)
    told = recorded(*(turn(str(number), 1000 + number) for number in range(10)), close=False)
    assert [trace["run"] for trace in told] == [str(number) for number in range(6)]


def test_what_was_not_counted_is_kept_as_an_event(recorded: Callable[..., list[dict[str, Any]]]) -> None:
    (told,) = recorded(
        turn("a", 1000, outcome="refused", output_exact=False, last_byte_seconds=None),
        turn("a", 1001, outcome="left"),
    )
    assert told["outcome"] == "left" and told["steps"] == 0 and len(told["nodes"]) == 2
    assert run_of(told) is None


def test_both_files_get_every_record(tmp_path: Path) -> None:
    both = Both(RecordFile(tmp_path / "r"), RunFile(tmp_path / "s", lambda: POOL))
    both.record(RECORD)
    both.close()
    assert json.loads((tmp_path / "r").read_text())["request_id"] == "r"
    assert json.loads((tmp_path / "s").read_text())["run"] == "a"
