"""The replay itself, on inputs that are committed, and on the corpus where that is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.replay.__main__ import run
from tests.benchmarks.replay.report import LEASE_TOKENS, LIMIT_TOKENS, record, section

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_small(tmp_path: Path) -> None:
    """All is found in a fraction of the tokens, and no result was for nothing."""
    (raw, raw_wrong), (ours, ours_wrong) = run("raw", None), run("ours", None)
    assert raw_wrong == ours_wrong == []
    assert raw.found == raw.wanted == ours.found == ours.wanted
    assert ours.peak_tokens * 10 < raw.peak_tokens
    page = section(record(tmp_path / "measured.json", [raw, ours]))
    assert f"{ours.peak_tokens:,}" in page


@pytest.mark.corpus
@pytest.mark.timeout(300)
def test_corpus(corpus: Path) -> None:
    """Under the lease everything is found for which raw needs more than any context holds."""
    (raw, raw_wrong), (ours, ours_wrong) = run("raw", corpus), run("ours", corpus)
    assert raw_wrong == ours_wrong == []
    assert raw.found == raw.wanted == ours.found == ours.wanted
    assert raw.peak_tokens > 100_000
    assert ours.delivered_tokens <= LEASE_TOKENS
    assert ours.peak_tokens <= LIMIT_TOKENS
