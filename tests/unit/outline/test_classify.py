"""Kinds told from names and content."""

from __future__ import annotations

import pytest

from mcp_offload.models import Kind
from mcp_offload.outline.classify import kind_of
from mcp_offload.outline.encoding import sniff
from mcp_offload.outline.languages import detect


def kind(name: str, head: bytes) -> Kind:
    return kind_of(name, head, sniff(head, whole=True), detect(name, head))


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("src/a.py", b"x = 1\n"),
        ("test_a.py", b'"""\n===== test session starts =====\n"""\n'),
        ("README.md", b"# A\n\n1 passed in 0.1s\n"),
        ("notes.txt", b"some words\n"),
        ("data.csv", b"a,b\n1,2\n"),
        ("a.zig", b"const x = 1;\n"),
        ("app.min.js", b"var a=1;"),
        ("package.json", b"{}"),
        ("catalog", b"A list\nof things\n"),
        ("", b"import os\n\ndef main():\n    pass\n"),
        ("blog.txt", b"words\n"),
    ],
)
def test_source_and_text_are_files(name: str, head: bytes) -> None:
    assert kind(name, head) is Kind.FILE


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("build.log", b"anything\n"),
        ("build.log.2", b"anything\n"),
        ("make.out", b"cc -c a.c\n"),
        ("syslog", b"x\n"),
        ("stderr.txt", b"x\n"),
        ("", b"cc -c a.c\na.c:1: error\n"),
        ("-", b"text\n"),
        ("run.txt", b"\x1b[31merror\x1b[0m\n" * 20),
        ("run.txt", b"2024-01-01T10:00:00 start\n2024-01-01T10:00:01 stop\n"),
        ("job.txt", b"2024-01-01T10:00:00.0000000Z ##[group]Run tests\n===== test session starts =====\n"),
        ("events.log", b'{"level": "info"}\n'),
    ],
)
def test_output_is_a_log(name: str, head: bytes) -> None:
    assert kind(name, head) is Kind.LOG


@pytest.mark.parametrize(
    "head",
    [
        b"============================= test session starts ==============================\n",
        b"..F\n=========== 1 failed, 2 passed in 0.10s ===========\n",
        b"=== RUN   TestA\n--- PASS: TestA (0.00s)\n",
        b"ok  \texample.org/a\t0.012s\n",
        b'{"Time":"2024-01-01T10:00:00Z","Action":"run","Package":"a","Test":"TestA"}\n',
        b"PASS src/a.test.ts\n",
        b"\nrunning 2 tests\ntest a ... ok\n",
        b"test_a (pkg.TestCase) ... ok\n",
        b"..\n----\nRan 2 tests in 0.001s\n\nOK\n",
        b"[==========] Running 2 tests from 1 test suite.\n",
        b"TAP version 13\nok 1 - a\n",
        b"1..2\nok 1 a\nnot ok 2 b\n",
        b"Test project /build\n    Start 1: a\n",
        b"[INFO]  T E S T S\nTests run: 1, Failures: 0\n",
        b'<?xml version="1.0"?>\n<testsuites><testsuite name="a"/></testsuites>\n',
        b'<testsuite name="a" tests="1"></testsuite>',
        b'<TestRun id="1"></TestRun>',
        b'{"numFailedTests": 1}',
        b"PHPUnit 10.1 by others\n",
        b"\x1b[32mPASS\x1b[0m src/a.spec.js\n",
    ],
)
@pytest.mark.parametrize("name", ["", "result.log", "out.txt"])
def test_results_of_a_test_run_are_recognised(name: str, head: bytes) -> None:
    assert kind(name, head) is Kind.TEST


@pytest.mark.parametrize(
    "head", [b"all tests passed\n", b"3 failed attempts\n", b"FAIL\n", b"ok 12 items\n", b"PASS\n"]
)
def test_a_word_of_success_makes_no_test_run(head: bytes) -> None:
    assert kind("build.log", head) is Kind.LOG


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("logo.png", b"\x89PNG\r\n\x1a\n"),
        ("x.py", b"\x00\x01\x02\x03"),
        ("main.js.map", b'{"version":3,"sources":[],"mappings":""}'),
        ("a.o", b"text\n"),
        ("lcov.info", b"TN:\nSF:a.c\nDA:1,1\n"),
        ("anything", b"SF:/src/a.c\nFN:1,main\n"),
        ("coverage.xml", b"<coverage/>"),
        ("report.xml", b'<?xml version="1.0" ?>\n<coverage version="7" line-rate="1">'),
        ("jacoco.xml", b"<report/>"),
    ],
)
def test_binary_content_and_reports_of_builds_are_build_artifacts(name: str, head: bytes) -> None:
    assert kind(name, head) is Kind.BUILD
