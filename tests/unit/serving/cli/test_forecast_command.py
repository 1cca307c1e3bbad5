"""``forecast`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serving.cli.main import run


def record(session: int, turn: int) -> dict[str, object]:
    return {
        "session_id": f"s{session}",
        "agent_class": "coder" if session % 2 else "tester",
        "arrived_unix_seconds": 1000.0 * session + turn,
        "outcome": "answered",
        "stream": True,
        "prompt_tokens": 1_000 + 500 * session + 2_000 * turn,
        "cached_tokens": 0,
        "output_tokens": 100,
        "output_exact": True,
        "waited_seconds": 0.0,
        "first_byte_seconds": 0.1,
        "last_byte_seconds": 1.0,
    }


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run([*words], {"HOME": "/nowhere"})
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def written(path: Path, sessions: int) -> str:
    lines = [record(session, turn) for session in range(sessions) for turn in range(3)]
    lines.append({**record(0, 5), "output_exact": False})
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = typed(capsys, "forecast", written(tmp_path / "t.jsonl", 40))
    assert status == 0
    assert "28 runs to learn from, 6 held, 6 to test by" in out
    assert [line[:2] for line in out.splitlines()[4:9]] == ["B0", "B1", "B2", "B3", "B5"]
    assert "B1   0.00%" in out
    assert "use B1" in out or "use B2" in out
    assert "1 records tell no prompt or no exact output" in err


def test_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", 40)
    _, out, _ = typed(capsys, "--json", "forecast", path, "--seed", "1", "--limit", "9000")
    table = json.loads(out)
    rows = {row["predictor"]: row for row in table["rows"]}
    assert table["runs"] == [28, 6, 6]
    assert rows["B3"]["against_mean"]["p"] is None
    assert rows["B1"]["score"]["mape"] < 1e-9


@pytest.mark.parametrize(("sessions", "told"), [(5, "5 runs are too few"), (0, "0 runs are too few")])
def test_too_few_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, sessions: int, told: str) -> None:
    status, _, err = typed(capsys, "forecast", written(tmp_path / "t.jsonl", sessions))
    assert (status, told in err) == (2, True)


def trace(number: int, cache: str) -> dict[str, object]:
    words = number % 20 + 5
    prompt = 200 + 3 * words
    nodes = [
        {"prompt_tokens": prompt + 90 * step, "completion_tokens": 30, "node": "n"} for step in range(words)
    ]
    names = ("characters", "words", "lines", "digits", "code_characters", "question", "kernel_words")
    return {
        "schema": 1, "run": f"{cache}-{number}", "prompt_id": f"p{number}", "family": "f", "memory": [],
        "features": {name: words * 5 if name == "characters" else words for name in names}, "nodes": nodes,
    }  # fmt: skip


def test_traces_are_split_by_prompt_and_forecast_by_features(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "runs.jsonl"
    traces = [trace(number, cache) for number in range(40) for cache in ("auto", "fp8")]
    path.write_text("\n".join(map(json.dumps, traces)))
    status, out, _ = typed(capsys, "--json", "forecast", str(path))
    table = json.loads(out)
    assert (status, table["runs"], table["recommended"]) == (0, [56, 12, 12], "B1")
    rows = {row["predictor"]: row for row in table["rows"]}
    assert rows["B2"]["against_mean"]["better"] + rows["B2"]["against_mean"]["worse"] <= 6
    assert rows["B2"]["score"]["mape"] < rows["B3"]["score"]["mape"] / 5


def test_a_trace_of_another_schema_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({**trace(1, "auto"), "schema": 7}))
    status, _, err = typed(capsys, "forecast", str(path))
    assert status == 2 and "schema 7" in err
