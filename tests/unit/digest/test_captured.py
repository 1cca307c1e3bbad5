"""Captured runs against what is known of them from the projects that were run, not from any digest.

``truth.json`` was written by hand beside those projects: which tests fail, on which line of which file,
with which words. ``null`` stands for what the tool does not print; totals that it does not state are absent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.digest import digest
from mcp_offload.digest.model import Failure

DATA = Path(__file__).parents[2] / "data" / "digest" / "captured"
TRUTH: dict[str, dict[str, Any]] = json.loads((DATA / "truth.json").read_text(encoding="utf-8"))
NAMES = sorted(TRUTH)


def _is(found: Failure, name: str, file: str | None, line: int | None, message: str) -> bool:
    return (
        name in found.name
        and (file is None or (found.file or "").endswith(file))
        and (line is None or found.line == line)
        and message in f"{found.name} {found.message}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_told_as_it_was(name: str) -> None:
    found, truth = digest((DATA / name).read_bytes()), TRUTH[name]
    assert found.verdict.value == truth["verdict"]
    assert {key: found.totals.get(key) for key in truth["totals"]} == truth["totals"]
    left = list(found.failures)
    for stated in truth["failures"]:
        match = next((item for item in left if _is(item, *stated)), None)
        assert match is not None, stated
        left.remove(match)
    assert left == []


def test_every_log_has_its_truth() -> None:
    assert sorted(path.name for path in DATA.glob("*.log")) == NAMES
