"""The page says what was measured, and nothing else."""

from __future__ import annotations

import json

from tests.benchmarks.replay.__main__ import MEASURED
from tests.benchmarks.replay.report import SYSTEMS, section, tasks_table
from tests.benchmarks.replay.systems import ROOT


def test_the_page_is_what_was_measured() -> None:
    measured = json.loads(MEASURED.read_bytes())
    assert list(measured) == list(SYSTEMS)
    assert section(measured).rstrip() in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_what_was_not_found_is_told() -> None:
    def ran(tokens: int, found: int) -> dict[str, object]:
        return {"tasks": {"door": {"tokens": tokens, "answers": 2, "answers_found": found}}}

    table = tasks_table({"raw": ran(900, 2), "ctxtual": ran(10, 1), "ours": ran(1_200, 2)})
    assert "| door | **900** | not found (10) | 1,200 |" in table
