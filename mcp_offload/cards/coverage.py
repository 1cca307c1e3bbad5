"""Cards of coverage reports: files with percent and uncovered lines.

Source: Cobertura's coverage-04.dtd, JaCoCo's report.dtd, OpenClover's XML, lcov's geninfo(1), coverage.py's
and Istanbul's JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from xml.parsers import expat

from mcp_offload.cards.model import DamagedError, Draft, Entry, clean, count_text
from mcp_offload.cards.source import Bounded
from mcp_offload.cards.text import KeyLines, ranges_text
from mcp_offload.handle import LinesSelector

_SHOWN_RANGES: Final = 12
_DECIMALS: Final = 10


@dataclass(slots=True)
class _File:
    """Hits of one file by line, and the lines of the report that tell about it."""

    first_line: int = 1
    last_line: int = 1
    covered: set[int] = field(default_factory=set[int])
    uncovered: set[int] = field(default_factory=set[int])

    def see(self, line: int, *, hit: bool) -> None:
        """Take a line; one that ran in any of several reports ran."""
        if hit:
            self.covered.add(line)
            self.uncovered.discard(line)
        elif line not in self.covered:
            self.uncovered.add(line)


@dataclass(slots=True)
class _Report:
    """A coverage report as far as it was read."""

    files: dict[str, _File] = field(default_factory=dict[str, _File])
    branches: int = 0
    branches_taken: int = 0
    facts: dict[str, str] = field(default_factory=dict[str, str])

    def file(self, name: str, line: int) -> _File:
        """The file of that name, which the report tells about from ``line`` on."""
        return self.files.setdefault(name, _File(line, line))


def read_coverage(source: Bounded, name: str, draft: Draft) -> None:
    """Cobertura, JaCoCo or Clover XML, LCOV, or the JSON of coverage.py or Istanbul."""
    del name
    draft.format = "coverage"
    data = source.whole()
    report = _Report()
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    read: Callable[[bytes, _Report], None] = _lcov
    if start.startswith(b"<"):
        read = _xml
    elif start.startswith(b"{"):
        read = _json
    try:
        read(data, report)
    finally:
        _state(report, draft)


def _state(report: _Report, draft: Draft) -> None:
    covered = sum(len(f.covered) for f in report.files.values())
    total = covered + sum(len(f.uncovered) for f in report.files.values())
    draft.facts.update(files=len(report.files), lines_covered=covered, lines_total=total, **report.facts)
    told = f"{count_text(len(report.files), 'file')}, {covered:,} of {total:,} lines covered"
    if total:
        draft.facts["percent"] = _percent(covered, total)
        told += f" ({draft.facts['percent']}%)"
    if report.branches:
        draft.facts["branch_percent"] = _percent(report.branches_taken, report.branches)
        told += f", {draft.facts['branch_percent']}% of branches"
    draft.summary = told
    for name, file in report.files.items():
        lines = LinesSelector(file.first_line, file.last_line)
        draft.add(Entry("file", clean(name), _detail(file), ranges_text(file.uncovered), lines))


def _percent(part: int, whole: int) -> float:
    """Rounded down, so that only what is complete is 100."""
    return part * 100 * _DECIMALS // whole / _DECIMALS


def _detail(file: _File) -> str:
    total = len(file.covered) + len(file.uncovered)
    if not total:
        return "no lines"
    percent = f"{_percent(len(file.covered), total):g}%"
    if not file.uncovered:
        return percent
    ranges = ranges_text(file.uncovered).split(",")
    more = f" and {len(ranges) - _SHOWN_RANGES} more" if len(ranges) > _SHOWN_RANGES else ""
    return f"{percent} uncovered {','.join(ranges[:_SHOWN_RANGES])}{more}"


# --- XML ----------------------------------------------------------------------------------------


class _Elements:
    """Takes the elements of the three XML formats."""

    def __init__(self, report: _Report, line: Callable[[], int]) -> None:
        self._report = report
        self._line = line
        self._file: _File | None = None
        self._package = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        match tag:
            case "coverage" if attributes.get("version"):
                self._report.facts["built_by"] = clean(attributes["version"])
            case "package":
                self._package = attributes.get("name", "")
            case "class" if "filename" in attributes:
                self._open(attributes["filename"])
            case "sourcefile":
                self._open(f"{self._package}/{attributes.get('name', '')}".lstrip("/"))
            case "file":
                self._open(attributes.get("path") or attributes.get("name", ""))
            case "line":
                self._take(attributes)
            case _:
                pass

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag in ("class", "sourcefile", "file") and self._file is not None:
            self._file.last_line = max(self._file.last_line, self._line())
            self._file = None

    def _open(self, name: str) -> None:
        self._file = self._report.file(name, self._line())

    def _take(self, attributes: dict[str, str]) -> None:
        if self._file is None:
            return
        number = attributes.get("number") or attributes.get("nr") or attributes.get("num") or ""
        if not number.isdecimal() or len(number) > 9:
            return
        hits = attributes.get("hits") or attributes.get("ci") or attributes.get("count") or "0"
        self._file.see(int(number), hit=hits.strip("0") != "")
        taken, _, total = (
            attributes.get("condition-coverage", "").rpartition("(")[2].rstrip(")").partition("/")
        )
        if taken.isdecimal() and total.isdecimal():
            self._report.branches_taken += int(taken)
            self._report.branches += int(total)


def _refuse_entity(*declared: Any) -> None:
    raise DamagedError("it declares entities, which no coverage report needs")


def _xml(data: bytes, report: _Report) -> None:
    parser = expat.ParserCreate()
    elements = _Elements(report, lambda: parser.CurrentLineNumber)
    parser.StartElementHandler = elements.start
    parser.EndElementHandler = elements.end
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as exc:
        raise DamagedError(f"it is no XML from line {exc.lineno} on") from exc


# --- LCOV ---------------------------------------------------------------------------------------


def _lcov(data: bytes, report: _Report) -> None:
    file: _File | None = None
    for number, line in enumerate(data.split(b"\n"), 1):
        key, _, value = line.strip().partition(b":")
        if key == b"SF":
            file = report.file(value.decode("utf-8", "replace"), number)
        elif key == b"end_of_record":
            file = None
        elif file is not None:
            file.last_line = max(file.last_line, number)
            _lcov_row(key, value.split(b","), file, report)
    if file is not None:
        raise DamagedError("it ends inside a record")


def _lcov_row(key: bytes, values: list[bytes], file: _File, report: _Report) -> None:
    if key == b"DA" and len(values) >= 2 and values[0].isdigit() and len(values[0]) < 10:
        file.see(
            int(values[0]), hit=values[1].lstrip(b"-").strip(b"0") != b"" and not values[1].startswith(b"-")
        )
    elif key == b"BRDA" and len(values) >= 4:
        report.branches += 1
        report.branches_taken += values[3] not in (b"-", b"0")


# --- JSON ---------------------------------------------------------------------------------------


def _json(data: bytes, report: _Report) -> None:
    root = _object(json.loads(data))
    lines = KeyLines(data)
    meta = _object(root.get("meta"))
    if meta:
        report.facts["built_by"] = clean(f"coverage.py {meta.get('version', '')}".strip())
        for name, entry in _object(root.get("files")).items():
            line = lines.of(name)
            _coveragepy(report.file(name, line), _object(entry), report)
        return
    for name, entry in root.items():
        line = lines.of(name)
        if "statementMap" in _object(entry):
            _istanbul(report.file(name, line), _object(entry), report)


def _coveragepy(file: _File, entry: Mapping[str, Any], report: _Report) -> None:
    for key, hit in (("executed_lines", True), ("missing_lines", False)):
        for line in _numbers(entry.get(key)):
            file.see(line, hit=hit)
    summary = _object(entry.get("summary"))
    for number in _numbers([summary.get("num_branches")]):
        report.branches += number
    for number in _numbers([summary.get("covered_branches")]):
        report.branches_taken += number


def _istanbul(file: _File, entry: Mapping[str, Any], report: _Report) -> None:
    hits = _object(entry.get("s"))
    for key, place in _object(entry["statementMap"]).items():
        for line in _numbers([_object(_object(place).get("start")).get("line")]):
            # A line of several statements is covered where its first one ran.
            if line not in file.covered and line not in file.uncovered:
                file.see(line, hit=bool(hits.get(key)))
    for counts in _object(entry.get("b")).values():
        taken = _numbers(counts)
        report.branches += len(taken)
        report.branches_taken += sum(count > 0 for count in taken)


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _numbers(value: Any) -> list[int]:
    values = cast("Iterable[Any]", value) if isinstance(value, list) else ()
    return [number for number in values if isinstance(number, int) and 0 <= number < 1 << 30]
