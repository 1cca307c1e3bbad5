"""The page on compatibility says what the tests of clients recorded, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from tests.clients.compatibility import PAGE, ROOT, Row, load, merge, page, tables

ROW = Row(
    "tests/clients/test_a.py::test_a", "client", "Ann", "1.0", "2026-07-28", "stdio", "listed the tools"
)


def test_the_page_is_what_was_recorded() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, load()), "run `make docs`"


def test_every_recorded_test_is_still_there() -> None:
    for row in load():
        file, _, name = row.test.partition("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name.rpartition('::')[2]}(" in source, row.test


def test_what_one_version_did_is_one_line() -> None:
    others = [
        replace(ROW, test="t", what="stored a log"),
        replace(ROW, version="2.0"),
        replace(ROW, what="read"),
    ]
    assert tables([ROW, *others]).split("\n")[4:-1] == [
        "| Ann | 1.0 | stdio | 2026-07-28 | listed the tools; read; stored a log |",
        "| Ann | 2.0 | stdio | 2026-07-28 | listed the tools |",
    ]


def test_a_run_replaces_what_its_own_tests_recorded() -> None:
    other, gone = replace(ROW, test="other"), replace(ROW, what="gone")
    assert merge([gone, other], {ROW.test}, [ROW]) == sorted([ROW, other], key=Row.order)
    assert merge([ROW, other], {ROW.test}, []) == [other]
