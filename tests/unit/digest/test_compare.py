"""Two runs side by side."""

from __future__ import annotations

from mcp_offload.digest import digest
from mcp_offload.digest.compare import compare
from mcp_offload.digest.model import Verdict

START = b"============================= test session starts ==============================\n"


def _run(*results: tuple[str, str], seconds: float = 1.0) -> bytes:
    body = b"".join(f"tests/t.py::{name} {word}\n".encode() for name, word in results)
    bad = [name for name, word in results if word == "FAILED"]
    recap = b"=========================== short test summary info ============================\n"
    recap += b"".join(f"FAILED tests/t.py::{name} - boom\n".encode() for name in bad)
    good = sum(1 for _, word in results if word == "PASSED")
    return START + body + recap + f"===== {len(bad)} failed, {good} passed in {seconds:.2f}s =====\n".encode()


def test_what_changed_between_two_runs() -> None:
    before = _run(
        ("a", "PASSED"), ("b", "FAILED"), ("c", "FAILED"), ("d", "PASSED"), ("gone", "FAILED"), seconds=2.5
    )
    after = _run(("a", "FAILED"), ("b", "PASSED"), ("c", "FAILED"), ("d", "SKIPPED"), ("new", "FAILED"))
    found = compare(digest(before), digest(after))
    assert found.newly_failing == ("tests/t.py::a", "tests/t.py::new")
    assert found.fixed == ("tests/t.py::b",)
    assert found.still_failing == ("tests/t.py::c",)
    assert found.newly_skipped == ("tests/t.py::d",)
    assert found.gone == ("tests/t.py::gone",)
    assert (found.before_seconds, found.after_seconds) == (2.5, 1.0)
    assert found.verdicts == (Verdict.FAILED, Verdict.FAILED)
    assert found.comparable


def test_a_failure_absent_from_a_run_that_lists_no_passes_is_fixed() -> None:
    before = digest(
        b"=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:1: want 1\nFAIL\nFAIL\tx/y\t0.1s\n"
    )
    after = digest(b"ok  \tx/y\t0.1s\n")
    assert compare(before, after).fixed == ("TestA",)


def test_a_failure_absent_from_a_cut_run_is_not_called_fixed() -> None:
    before, after = digest(_run(("a", "FAILED"))), digest(START + b"collected 1 item\n")
    found = compare(before, after)
    assert (found.fixed, found.gone) == ((), ("tests/t.py::a",))


def test_two_failures_of_one_class_are_two_tests() -> None:
    block = "======\nFAIL: {0} (mod.Case)\n------\nTraceback (most recent call last):\n"
    block += '  File "/srv/mod.py", line 4, in {0}\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n'
    block = block.replace("======", "=" * 70).replace("------", "-" * 70)
    tail = "-" * 70 + "\nRan 2 tests in 0.001s\n\n"
    before = "FF\n" + block.format("test_a") + block.format("test_b") + tail + "FAILED (failures=2)\n"
    found = compare(digest(before.encode()), digest(("..\n" + tail + "OK\n").encode()))
    assert [name.split(" ")[0] for name in found.fixed] == ["test_a", "test_b"]
