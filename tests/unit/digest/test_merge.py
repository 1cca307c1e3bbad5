"""Verdicts, ownership, causes: what is made of several tools' findings in one log."""

from __future__ import annotations

import pytest

from mcp_offload.digest import digest
from mcp_offload.digest.model import Verdict

GREEN = b"""============================= test session starts ==============================
collected 2 items

a.py ..                                          [100%]

============================== 2 passed in 0.01s ===============================
"""
RED = b"""============================= test session starts ==============================
collected 1 item

a.py F                                           [100%]

=================================== FAILURES ===================================
____________________________________ test_a ____________________________________

    def test_a():
>       assert 1 == 2
E       assert 1 == 2

a.py:2: AssertionError
=========================== short test summary info ============================
FAILED a.py::test_a - assert 1 == 2
============================== 1 failed in 0.01s ===============================
"""
CUT = GREEN[:120]


@pytest.mark.parametrize(
    ("log", "status", "verdict", "complete"),
    [
        (GREEN, None, Verdict.PASSED, True),
        (GREEN, 0, Verdict.PASSED, True),
        (GREEN, 1, Verdict.FAILED, True),
        (GREEN, 137, Verdict.INCOMPLETE, False),
        (GREEN, 124, Verdict.INCOMPLETE, False),
        (RED, None, Verdict.FAILED, True),
        (RED, 1, Verdict.FAILED, True),
        (RED, 0, Verdict.PASSED, True),
        (CUT, None, Verdict.INCOMPLETE, False),
        (CUT, 0, Verdict.PASSED, False),
        (CUT, 1, Verdict.INCOMPLETE, False),
        (CUT + b"\n" + RED, None, Verdict.FAILED, False),
        (GREEN + RED, None, Verdict.FAILED, True),
        (RED + GREEN, None, Verdict.FAILED, True),
        (b"", None, Verdict.UNKNOWN, False),
        (b"hello\n", None, Verdict.UNKNOWN, False),
        (b"hello\n", 0, Verdict.PASSED, True),
        (b"hello\n", 3, Verdict.FAILED, True),
        (GREEN + b"##[error]Process completed with exit code 1.\n", None, Verdict.FAILED, True),
        (GREEN + b"Finished: UNSTABLE\n", None, Verdict.FAILED, True),
        (b"ERROR: Job failed: exit code 1\n", None, Verdict.FAILED, True),
        (b"make: *** [all] Error 2\n", None, Verdict.FAILED, True),
        (b"Job succeeded\n", None, Verdict.PASSED, True),
        (b"Job succeeded\nupload timed out after 30\n", None, Verdict.UNKNOWN, False),
    ],
)
def test_the_verdict(log: bytes, status: int | None, verdict: Verdict, complete: bool) -> None:
    found = digest(log, exit_status=status)
    assert (found.verdict, found.complete) == (verdict, complete)
    assert found.exit_status == status


def test_totals_of_runs_add_up() -> None:
    assert digest(GREEN + RED + GREEN).totals == {"passed": 4, "failed": 1, "errors": 0, "skipped": 0}


def test_what_a_test_prints_is_not_a_result() -> None:
    printed = (
        b"----------------------------- Captured stdout call -----------------------------\n"
        b"src/a.c:1:2: error: expected ';'\n--- FAIL: TestFake (0.00s)\nmake: *** [x] Error 1\n"
        b'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: handled\n'
        b"Ran 3 tests in 0.1s\n\nFAILED (failures=3)\n  1 failing\n\n  1) fake\n       thing:\n"
        b"===== 9 failed, 1 passed in 3.00s =====\nTests: 4, Assertions: 4, Failures: 4.\n"
    )
    mark = b"=========================== short"
    found = digest(RED.replace(mark, printed + mark))
    assert [failure.name for failure in found.failures] == ["a.py::test_a"]
    assert found.totals == {"passed": 0, "failed": 1, "errors": 0, "skipped": 0}
    assert found.tools == ("pytest",)
    assert found.failures[0].output is not None


def test_causes_are_ranked_by_how_many_failures_they_explain() -> None:
    block = b"____ test_%d ____\nE   %s\n\na.py:%d: KeyError\n"
    log = b"=================================== FAILURES ===================================\n"
    log += block % (1, b"OSError: alone", 1)
    log += b"".join(block % (n, b"KeyError: 'id %d'" % n, n) for n in range(2, 6))
    log += b"============================== 5 failed in 0.01s ===============================\n"
    causes = digest(log).causes
    assert [(cause.count, cause.first) for cause in causes] == [(4, 1), (1, 0)]
    assert causes[0].message == "KeyError: 'id 2'"
