"""The score over a folder of public logs with known answers, where that folder is at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.digest import digest
from mcp_offload.digest.model import Digest
from mcp_offload.digest.render import render
from tests.score.score_logs import compare, corpus, log_bytes

SIDES = sorted(corpus().glob("*.json")) if corpus().is_dir() else []
LIMIT_BYTES = int(os.environ.get("MCP_OFFLOAD_TEST_LOG_BYTES", "4000000"))


def _load(side: Path) -> tuple[dict[str, Any], Digest]:
    sidecar = json.loads(side.read_text(encoding="utf-8"))
    if not isinstance(sidecar, dict) or "expected" not in sidecar:
        pytest.skip("no expectation")
    path = side.parent / sidecar["file"]
    if path.stat().st_size > LIMIT_BYTES:
        pytest.skip("large: scored by the score command")
    return sidecar["expected"], digest(log_bytes(path))


@pytest.mark.skipif(not SIDES, reason="the folder of logs is not here")
@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.stem)
def test_verdict_and_totals_are_those_stated(side: Path) -> None:
    expected, found = _load(side)
    row, notes = compare(expected, found)
    assert row["ok"] == 1, notes
    assert row["totals_ok"] == row["totals"], notes


@pytest.mark.skipif(not SIDES, reason="the folder of logs is not here")
@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.stem)
def test_a_digest_keeps_to_its_budget(side: Path) -> None:
    _, found = _load(side)
    assert len("\n".join(render(found, "t12", lambda text: len(text) // 3))) // 3 <= 600
