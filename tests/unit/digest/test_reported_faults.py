"""Faults that users of similar tools have reported, on inputs of our own."""

from __future__ import annotations

import tracemalloc

from mcp_offload.digest import Digester, digest
from mcp_offload.digest.model import Verdict
from mcp_offload.digest.render import render


def _words(text: str) -> int:
    """A stand-in for a tokenizer: deterministic, some four characters a token."""
    return len(text) // 4 + 1


def test_a_conftest_that_cannot_be_imported_is_an_error_and_not_no_tests() -> None:
    found = digest(
        b"ImportError while loading conftest '/home/dev/app/tests/conftest.py'.\n"
        b"tests/conftest.py:7: in <module>\n    import pdfkit_x\n"
        b"E   ModuleNotFoundError: No module named 'pdfkit_x'\n"
    )
    assert (found.verdict, found.totals["errors"]) == (Verdict.ERROR, 1)
    (failure,) = found.failures
    assert (failure.file, failure.line) == ("tests/conftest.py", 7)
    assert "pdfkit_x" in failure.message


def test_an_echoed_source_line_is_not_the_totals() -> None:
    found = digest(
        b"F...\n=================================== FAILURES ===================================\n"
        b"_________________________________ test_page __________________________________\n\n"
        b"    def test_page():\n>       assert '3 orders failed in' in page  # and 2 passed in all\n"
        b"E       assert '3 orders failed in' in ''\n\ntests/test_page.py:9: AssertionError\n"
        b"1 failed, 3 passed in 3.06s\n"
    )
    assert (found.totals["failed"], found.totals["passed"]) == (1, 3)


def test_expected_failures_are_not_failures_and_each_failure_is_listed_once() -> None:
    found = digest(
        b"=================================== FAILURES ===================================\n"
        b"___________________________________ test_one ___________________________________\n\n"
        b"    def test_one():\n>       assert 0\nE       assert 0\n\ntests/test_x.py:2: AssertionError\n"
        b"=========================== short test summary info ============================\n"
        b"FAILED tests/test_x.py::test_one - assert 0\n"
        b"=============== 1 failed, 3 passed, 2 skipped, 4 xfailed in 0.31s ===============\n"
    )
    assert found.totals == {"passed": 3, "failed": 1, "errors": 0, "skipped": 2, "xfailed": 4}
    assert [failure.name for failure in found.failures] == ["tests/test_x.py::test_one"]


def test_compile_errors_of_go_do_not_hide_behind_no_test_files() -> None:
    found = digest(
        b"# example.org/orders/biz [example.org/orders/biz.test]\nbiz/merge.go:14:9: undefined: mergeMeta\n"
        b"biz/merge.go:20:2: cannot use n as string value\nFAIL\texample.org/orders/biz [build failed]\n"
        b"?   \texample.org/orders/cmd\t[no test files]\nFAIL\n"
    )
    assert found.verdict is Verdict.FAILED
    assert [(f.file, f.line, f.column) for f in found.failures] == [
        ("biz/merge.go", 14, 9),
        ("biz/merge.go", 20, 2),
    ]
    assert all("orders/biz" in failure.name for failure in found.failures)


def test_a_search_tool_that_died_is_not_no_matches() -> None:
    found = digest(b"grep: Unmatched ( or \\(\n", exit_status=2)
    assert found.verdict in {Verdict.FAILED, Verdict.ERROR}
    assert "Unmatched" in "\n".join(render(found, "l1", _words))


def test_a_cut_capture_is_incomplete_and_its_totals_are_unknown() -> None:
    head = b"============================= test session starts ==============================\n\n"
    lines = b"".join(b"tests/test_%03d.py::test_ok PASSED\n" % n for n in range(40))
    found = digest(head + lines + b"tests/test_040.py::test_o")
    assert (found.verdict, found.complete, found.totals) == (Verdict.INCOMPLETE, False, {})
    assert any("40 passed" in note for note in found.notes)


def test_a_totals_line_that_a_test_printed_is_not_the_result() -> None:
    found = digest(
        b"F\n=================================== FAILURES ===================================\n"
        b"___________________________________ test_cli ___________________________________\n"
        b"tests/test_cli.py:4: in test_cli\n    assert run() == 0\nE   assert 3 == 0\n"
        b"----------------------------- Captured stdout call -----------------------------\n"
        b"===================== 12 passed in 0.40s ======================\n"
        b"============================== 1 failed in 0.51s ===============================\n"
    )
    assert (found.totals["failed"], found.totals["passed"]) == (1, 0)


def test_the_output_of_version_is_returned_as_it_is() -> None:
    text = "pytest 8.3.3\n"
    found = digest(text.encode())
    assert found.verdict is Verdict.UNKNOWN
    assert render(found, "l1", _words, whole=text) == ["pytest 8.3.3"]


def test_a_compiler_error_repeated_by_a_build_frontend_is_listed_once() -> None:
    found = digest(
        b"#9 [app 3/4] RUN make\n#9 1.20 /src/a.cpp:31:5: error: 'palyer' was not declared in this scope\n"
        b'#9 1.30 make: *** [Makefile:2: a.o] Error 1\n#9 ERROR: process "/bin/sh -c make" did not complete'
        b" successfully: exit code: 2\n------\n > [app 3/4] RUN make:\n"
        b"1.20 /src/a.cpp:31:5: error: 'palyer' was not declared in this scope\n------\n"
        b'failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2\n'
    )
    assert [(failure.file, failure.line) for failure in found.failures] == [("/src/a.cpp", 31)]


def test_the_last_lines_are_in_the_digest() -> None:
    body = b"".join(b"step %05d: compiled unit_%05d.o\n" % (n, n) for n in range(5000))
    tail = b"packing\nTraceback (most recent call last):\n"
    tail += b'  File "/srv/pack.py", line 3, in <module>\nOSError: disk full\n'
    found = digest(body + tail)
    text = "\n".join(render(found, "l7", _words))
    assert "OSError: disk full" in text
    assert "/srv/pack.py:3" in text
    assert _words(text) <= 600


def test_few_very_long_lines_do_not_hide_the_error_after_them() -> None:
    found = digest(
        b"     Running `rustc "
        + b"--extern dep=/srv/x.rlib " * 40_000
        + b"`\nerror[E0425]: cannot find value `confg`\n"
        b' --> src/main.rs:7:13\nerror: could not compile `app` (bin "app") due to 1 previous error\n'
    )
    assert [(f.name, f.file, f.line) for f in found.failures] == [("E0425", "src/main.rs", 7)]
    text = "\n".join(render(found, "b2", _words))
    assert _words(text) <= 600


def test_lines_are_counted_beyond_a_mebibyte() -> None:
    digester = Digester()
    for start in range(0, 200_000, 1000):
        digester.feed(b"".join(b"line %06d\n" % n for n in range(start, start + 1000)))
    found = digester.finish()
    assert found.line_count == 200_000
    assert found.excerpt.tail[-1] == "line 199999"
    marker = [line for line in render(found, "l3", _words) if "lines before" in line]
    assert marker == ["[199995 lines before: l3#L1-199995] last lines:"]


def test_memory_is_bounded_whatever_the_log() -> None:
    digest(b"warm up\n")
    tracemalloc.start()
    try:
        lines = Digester()
        endless = Digester()
        for n in range(40):
            lines.feed(b"error: thing %d failed\n" % n * 200)
            endless.feed(b"x" * 500_000)
        lines.finish()
        endless.finish()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24_000_000
