"""``modes`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serving.cli.main import run
from tests.unit.serving.cli.test_metrics_command import gate  # noqa: F401  a fixture

MODES = Path(__file__).resolve().parents[4] / "examples" / "serving" / "modes"


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run([*words], {"HOME": "/nowhere"})
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_series_with_a_mode(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "modes", str(MODES / "static-waste.jsonl"))
    assert status == 1
    assert out.startswith("STATIC WASTE")
    assert "docs/how-to/runbook.md#static-waste" in out
    status, out, _ = typed(capsys, "--json", "modes", str(MODES / "static-waste.jsonl"))
    (found,) = json.loads(out)["modes"][:1]
    assert (status, found["mode"]) == (1, "static_waste")
    assert "leased and not used" in found["evidence"]


def test_a_series_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "modes", str(MODES / "expected-leases.jsonl"))
    assert (status, out.startswith("no failure mode")) == (0, True)


def test_a_node_is_watched_and_kept(capsys: pytest.CaptureFixture[str], gate: str, tmp_path: Path) -> None:  # noqa: F811
    kept = tmp_path / "series.jsonl"
    watch = ("--url", gate, "--looks", "4", "--every", "0.01", "--write", str(kept))
    status, out, _ = typed(capsys, "--json", "modes", *watch)
    assert (status, json.loads(out)) == (0, {"looks": 4, "modes": []})
    assert typed(capsys, "modes", str(kept))[0] == 0
    assert json.loads(kept.read_text().splitlines()[-1])["leased"] == 0.25


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ((), 2, "Name a series"),
        (("/nowhere.jsonl",), 2, "/nowhere.jsonl cannot be read"),
        (("/nowhere.jsonl", "--looks", "1"), 2, "--looks is 2 or more"),
        (("--url", "http://127.0.0.1:9", "--every", "0.01"), 1, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, told: str
) -> None:
    found, _, err = typed(capsys, "modes", *words)
    assert (found, told in err) == (status, True)


def test_too_short_a_series(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "short.jsonl"
    path.write_text('{"seconds": 0, "engine": {}}\n')
    assert "3 periods take 4 looks; here are 1" in typed(capsys, "modes", str(path))[2]
