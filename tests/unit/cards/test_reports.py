"""Coverage reports: percent and uncovered lines by file, in every format; and what two runs differ by."""

from __future__ import annotations

import json

import pytest

from mcp_offload.cards.build import card_of
from mcp_offload.cards.changes import card_changes
from mcp_offload.cards.detect import format_of
from mcp_offload.cards.text import KeyLines, range_numbers, ranges_text
from mcp_offload.handle import LinesSelector
from mcp_offload.models import SilentMonitor
from tests.unit.cards.samples import Bytes, card, make_coverage_json, make_coverage_xml

LCOV = b"""TN:
SF:src/app.py
DA:1,1
DA:2,3
DA:3,0
DA:4,0
DA:9,0
BRDA:2,0,0,1
BRDA:2,0,1,-
LF:5
LH:2
end_of_record
SF:src/ok.py
DA:1,2
end_of_record
"""
JACOCO = b"""<?xml version="1.0"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd">
<report name="app"><sessioninfo id="x" start="1" dump="2"/>
<package name="src"><sourcefile name="app.py">
<line nr="1" mi="0" ci="2"/><line nr="2" mi="0" ci="1"/><line nr="3" mi="4" ci="0"/>
<line nr="4" mi="4" ci="0"/><line nr="9" mi="1" ci="0"/>
</sourcefile><sourcefile name="ok.py"><line nr="1" mi="0" ci="2"/></sourcefile></package></report>
"""
CLOVER = b"""<?xml version="1.0"?>
<coverage generated="1"><project><file name="app.py" path="src/app.py">
<line num="1" count="2" type="stmt"/><line num="2" count="1" type="stmt"/>
<line num="3" count="0" type="stmt"/><line num="4" count="0" type="stmt"/>
<line num="9" count="0" type="stmt"/></file>
<file name="src/ok.py"><line num="1" count="1" type="stmt"/></file></project></coverage>
"""


def istanbul() -> bytes:
    def file(hits: dict[int, int]) -> dict[str, object]:
        places = {str(n): {"start": {"line": line, "column": 0}} for n, line in enumerate(hits)}
        counts = {str(n): count for n, count in enumerate(hits.values())}
        return {"path": "x", "statementMap": places, "s": counts, "b": {"0": [1, 0]}}

    files = {"src/app.py": file({1: 1, 2: 3, 3: 0, 4: 0, 9: 0}), "src/ok.py": file({1: 1})}
    return json.dumps(files).encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("coverage.xml", make_coverage_xml()),
        ("lcov.info", LCOV),
        ("jacoco.xml", JACOCO),
        ("clover.xml", CLOVER),
        ("coverage-final.json", istanbul()),
    ],
)
def test_every_format_gives_the_same_files_and_lines(name: str, data: bytes) -> None:
    made = card(data, name, binary=False)
    assert made.notes == ()
    assert [(e.name, e.detail) for e in made.entries] == [
        ("src/app.py", "40% uncovered 3-4,9"),
        ("src/ok.py", "100%"),
    ]
    assert (made.facts["files"], made.facts["lines_covered"], made.facts["lines_total"]) == (2, 3, 6)
    assert made.facts["percent"] == 50.0


def test_coverage_py_json_counts_branches_and_points_at_its_line() -> None:
    made = card(make_coverage_json(), "coverage.json", binary=False)
    assert made.facts["branch_percent"] == 75.0
    assert made.facts["built_by"] == "coverage.py 7.6.1"
    (entry,) = made.entries
    line = make_coverage_json().split(b"\n").index(b'  "src/app.py": {') + 1
    assert entry.selector == LinesSelector(line, line)


def test_an_entry_covers_the_lines_of_its_file_in_the_report() -> None:
    made = card(LCOV, "lcov.info", binary=False)
    assert [entry.selector for entry in made.entries] == [LinesSelector(2, 11), LinesSelector(13, 14)]
    assert made.facts["branch_percent"] == 50.0


def test_a_report_of_several_runs_takes_a_line_as_covered_where_one_ran_it() -> None:
    again = LCOV + b"SF:src/app.py\nDA:3,1\nDA:1,0\nend_of_record\n"
    assert card(again, "lcov.info", binary=False).entries[0].value == "4,9"


def test_a_percentage_is_100_only_where_all_is_covered() -> None:
    lines = b"".join(b"DA:%d,1\n" % n for n in range(1, 5000)) + b"DA:5000,0\n"
    made = card(b"SF:a\n" + lines + b"end_of_record\n", "lcov.info", binary=False)
    assert made.facts["percent"] == 99.9


def test_entities_are_refused() -> None:
    bomb = b'<!DOCTYPE coverage [<!ENTITY a "aaaa">]><coverage line-rate="1">&a;</coverage>'
    made = card_of(Bytes(bomb), "coverage", "coverage.xml", SilentMonitor())
    assert "declares entities" in made.notes[0]


def test_other_xml_and_json_have_no_card() -> None:
    assert format_of("pom.xml", b"<project/>", binary=False) is None
    assert format_of("tsconfig.json", b'{"compilerOptions": {}}', binary=False) is None
    assert format_of("style.css.map", b"not json", binary=False) is None


def test_two_runs_differ_by_the_lines_that_became_covered_or_uncovered() -> None:
    after = (
        LCOV.replace(b"DA:1,1", b"DA:1,0", 1)
        .replace(b"DA:4,0", b"DA:4,2")
        .replace(b"src/ok.py", b"src/new.py")
    )
    found = card_changes(card(LCOV, "a.info", binary=False), card(after, "b.info", binary=False))
    assert [(c.change, c.name, c.before, c.after) for c in found] == [
        ("uncovered", "src/app.py", "", "1"),
        ("added", "src/new.py", "", ""),
        ("removed", "src/ok.py", "", ""),
        ("covered", "src/app.py", "4", ""),
    ]


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([9, 7, 8, 3, 3], "3,7-9"), ([1, 3], "1,3")]
)
def test_ranges_are_written_and_read(numbers: list[int], text: str) -> None:
    assert ranges_text(numbers) == text
    assert range_numbers(text) == set(numbers)


def test_lines_of_keys_follow_the_document() -> None:
    data = b'{\n "a": {"v": "b"},\n "b": 1,\n "\\u00e4": 2\n}'
    lines = KeyLines(data)
    assert [lines.of("a"), lines.of("b"), lines.of("missing"), lines.of("ä")] == [2, 3, 3, 4]
