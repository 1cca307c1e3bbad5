"""The replay itself, on inputs that are committed, and on the corpus where that is at hand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.benchmarks.replay.__main__ import run
from tests.benchmarks.replay.replay import replay
from tests.benchmarks.replay.report import LEASE_TOKENS, record, section
from tests.benchmarks.replay.scripts.ours import SCRIPTS
from tests.benchmarks.replay.systems import LIMIT_TOKENS, RESERVE_TOKENS, delivered_by_ours, ours
from tests.benchmarks.replay.tasks import prepare

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_small(tmp_path: Path) -> None:
    """All is found in a fraction of the tokens, and no result was for nothing."""
    (raw, raw_wrong), (mine, mine_wrong) = run("raw", None), run("ours", None)
    assert raw_wrong == mine_wrong == []
    assert raw.found == raw.wanted == mine.found == mine.wanted
    assert mine.peak_tokens * 10 < raw.peak_tokens
    page = section(record(tmp_path / "measured.json", [raw, mine]))
    assert f"{mine.peak_tokens:,}" in page


def test_a_lease_that_is_too_small_holds(tmp_path: Path) -> None:
    """Tasks fail, and nothing is sent beyond the lease; what says so is no error."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    # The smallest that a server takes; what is asked again is sent again.
    tasks, lease_tokens = prepare(folder, None) * 2, 2_500
    servers = ours(folder, home, RESERVE_TOKENS + lease_tokens)
    done = asyncio.run(replay("ours", servers, SCRIPTS, tasks, folder, home))
    ledger = delivered_by_ours(folder, home)
    assert 0 < done.found < done.wanted
    assert ledger["refusals"] > 0
    # A refusal is a short line beside the lease; nothing else is.
    assert ledger["delivered_tokens"] - ledger["delivered"]["refusal"] <= lease_tokens


@pytest.mark.corpus
@pytest.mark.timeout(300)
def test_corpus(corpus: Path) -> None:
    """Under the lease everything is found for which raw needs more than any context holds."""
    (raw, raw_wrong), (mine, mine_wrong) = run("raw", corpus), run("ours", corpus)
    assert raw_wrong == mine_wrong == []
    assert raw.found == raw.wanted == mine.found == mine.wanted
    assert raw.peak_tokens > 100_000
    assert mine.delivered_tokens <= LEASE_TOKENS
    assert mine.peak_tokens <= LIMIT_TOKENS
