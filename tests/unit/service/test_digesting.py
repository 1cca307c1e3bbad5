"""Digests by handle: stored with the log, read back by failure, kept by content."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.errors import InvalidArgumentError, SpanOutOfRangeError, SymbolNotFoundError
from mcp_offload.models import DigestResult, OutlineResult, StoreResult
from mcp_offload.service import OffloadService, open_service
from mcp_offload.settings import Settings

LOG = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-9.0.2, pluggy-1.6.0
rootdir: /home/dev/shop
collected 3 items

tests/test_cart.py .FF                                                   [100%]

=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:9: AssertionError
----------------------------- Captured stdout call -----------------------------
adding up
___________________________________ test_tax ___________________________________

    def test_tax():
>       assert tax(100) == 19
E       assert 20 == 19
E        +  where 20 = tax(100)

tests/test_cart.py:13: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
FAILED tests/test_cart.py::test_tax - assert 20 == 19
========================= 2 failed, 1 passed in 0.05s ==========================
"""


@pytest.fixture
def stored(service: OffloadService, project: Path) -> StoreResult:
    (project / "test.log").write_text(LOG, encoding="utf-8")
    result = service.store("test.log")
    assert isinstance(result, StoreResult)
    return result


def digest_of(result: StoreResult | OutlineResult) -> DigestResult:
    assert result.digest is not None
    return result.digest


def test_a_stored_log_carries_its_digest(stored: StoreResult) -> None:
    assert stored.handle == "t1"
    digest = digest_of(stored)
    assert (digest.verdict, digest.complete) == ("failed", True)
    assert digest.totals["passed"] == 1
    assert digest.totals["failed"] == 2
    first = digest.failures[0]
    assert (first.handle, first.file, first.line, first.log_line) == ("t1#!1", "tests/test_cart.py", 9, 13)
    assert first.name.endswith("test_total")
    assert "assert 3 == 4" in first.message
    assert "t1#!1" in digest.text
    assert digest.tokens <= 600


def test_a_failure_reads_as_its_block_and_its_parts(service: OffloadService, stored: StoreResult) -> None:
    block = service.read(["t1#!1"])[0]
    assert block.text.startswith("_______")
    assert "assert 3 == 4" in block.text
    assert "test_tax" not in block.text
    assert "adding up" in service.read(["t1#%1:out"])[0].text
    with pytest.raises(SymbolNotFoundError, match="no captured output"):
        service.read(["t1#!2:out"])
    with pytest.raises(SpanOutOfRangeError, match="lists 2 failures"):
        service.read(["t1#!3"])


def test_the_outline_lists_every_failure(service: OffloadService, stored: StoreResult) -> None:
    outline = service.outline("t1")
    assert isinstance(outline, OutlineResult)
    assert [entry.handle for entry in outline.symbols][:2] == ["t1#!1", "t1#!2"]
    assert digest_of(outline) == digest_of(stored)


def test_a_digest_is_the_same_after_a_restart(
    service: OffloadService, stored: StoreResult, settings: Settings
) -> None:
    before = service.outline("t1")
    with open_service(settings) as again:
        assert again.outline("t1") == before


def test_a_log_shorter_than_its_digest_is_returned_as_it_is(service: OffloadService) -> None:
    result = service.store(content="tool 1.2.3\n", name="version.log")
    assert isinstance(result, StoreResult)
    assert digest_of(result).text == "tool 1.2.3"
    assert digest_of(result).verdict == "unknown"


def test_a_source_file_has_no_failures(service: OffloadService, project: Path) -> None:
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="no log"):
        service.read(["a.py#!1"])


def test_failures_belong_to_the_version_they_were_numbered_in(
    service: OffloadService, stored: StoreResult, project: Path
) -> None:
    (project / "test.log").write_text(LOG.replace("test_total", "test_sum"), encoding="utf-8")
    assert "test_sum" in service.read(["t1#!1"])[0].text
    old = service.read(["t1@1#!1"])[0]
    assert "test_total" in old.text
    assert old.now == ("t1@2",)


SOURCE = """\
from shop import total


# The prices are test data.


def test_total():
    prices = [1, 2]
    assert total(prices) == 4


def test_tax():
    assert tax(100) == 19
"""


def test_failures_link_to_the_symbols_of_stored_sources(service: OffloadService, project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_cart.py").write_text(SOURCE, encoding="utf-8")
    service.store("tests/test_cart.py")
    (project / "test.log").write_text(LOG, encoding="utf-8")
    result = service.store("test.log")
    assert isinstance(result, StoreResult)
    digest = digest_of(result)
    assert [failure.symbol for failure in digest.failures] == ["f1#test_total", "f1#test_tax"]
    assert "-> f1#test_total" in digest.text
    assert digest.tokens <= 600
    assert service.read(["t2#!1"])[0].note == "-> f1#test_total"


def test_two_sources_of_one_name_link_to_neither(service: OffloadService, project: Path) -> None:
    for folder in ("a/tests", "b/tests"):
        (project / folder).mkdir(parents=True)
        (project / folder / "test_cart.py").write_text(SOURCE, encoding="utf-8")
        service.store(f"{folder}/test_cart.py")
    result = service.store(content=LOG, name="test.log")
    assert isinstance(result, StoreResult)
    assert [failure.symbol for failure in digest_of(result).failures] == [None, None]


def test_two_runs_are_compared_by_test(service: OffloadService, stored: StoreResult, project: Path) -> None:
    later = LOG.replace("tests/test_cart.py .FF", "tests/test_cart.py .F.")
    cut = later.index("___________________________________ test_tax")
    later = later[:cut] + later[later.index("=========================== short test summary") :]
    later = later.replace("FAILED tests/test_cart.py::test_tax - assert 20 == 19\n", "")
    later = later.replace("2 failed, 1 passed in 0.05s", "1 failed, 2 passed in 0.04s")
    (project / "later.log").write_text(later, encoding="utf-8")
    diff = service.diff("t1", "later.log")
    assert diff.runs is not None
    assert [(test.name.split("::")[-1], test.handle) for test in diff.runs.fixed] == [("test_tax", "t1#!2")]
    assert [test.handle for test in diff.runs.still_failing] == ["t2#!1"]
    assert diff.runs.newly_failing == ()
    assert (diff.runs.before_seconds, diff.runs.after_seconds) == (0.05, 0.04)
    assert (diff.added_lines, diff.text) == (None, "")
    back = service.diff("later.log", "t1").runs
    assert back is not None
    assert [test.handle for test in back.newly_failing] == ["t1#!2"]


def test_lines_of_two_runs_are_compared_as_text_when_asked_for(
    service: OffloadService, stored: StoreResult
) -> None:
    service.store(content=LOG.replace("0.05s", "0.07s"), name="again.log")
    diff = service.diff("t1#L1-30", "t2#L1-30")
    assert diff.runs is None
    assert "0.07s" in diff.text


def test_a_very_large_log_is_acknowledged_before_it_is_digested(
    service: OffloadService, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_offload.service.facade.DIGESTED_BYTES", len(LOG) - 1)
    (project / "test.log").write_text(LOG, encoding="utf-8")
    result = service.store("test.log")
    assert isinstance(result, StoreResult)
    assert result.digest is None
    outline = service.outline(result.handle)
    assert isinstance(outline, OutlineResult)
    assert digest_of(outline).totals["failed"] == 2
