"""Jest 24 to 30 as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Lines, Section, Verdict
from .counts import add, pairs, seconds, worst
from .jsblock import JsBlock

_FILE: Final = re.compile(
    r"^ ?(?P<word>PASS|FAIL|RUNS) +(?!.* > )(?P<rest>.*?)(?P<file>[^\s()]+\.[\w]+)(?: \(.*\))?$"
)
_WORDS: Final = frozenset(("PASS", "FAIL", "RUNS"))
_UNPARSED: Final = "Jest encountered an unexpected token"
_SYNTAX: Final = re.compile(r"^    (?P<text>SyntaxError: (?P<file>\S+): .*\((?P<line>\d+):\d+\))$")
_HEADER: Final = re.compile(r"^  ● (?P<name>\S.*)$")
_NOT_A_TEST: Final = re.compile(
    r"^(?:Console|.* Warning|Cannot log after tests are done.*|process\.exit called.*):?$"
)
_SUITES: Final = re.compile(r"^Test Suites: +(?P<counts>.*\d+ total)$")
_TESTS: Final = re.compile(r"^Tests: +(?P<counts>.*\d+ total)$")
_TIME: Final = re.compile(r"^Time: +(?P<time>[^,]+)")
_RESULT: Final = re.compile(
    r"^(?P<indent> +)(?P<mark>[✓✕○✎√×]) (?:skipped |todo )?(?P<name>.+?)"
    r"(?: \(\d[\d.]* m?s\))?$"
)
_GROUP: Final = re.compile(r"^(?P<indent> {2,})(?P<name>[^\s●>|].*)$")
_NAMES: Final = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "skipped",
    "todo": "todo",
}
_MARKS: Final = {"✓": "passed", "√": "passed", "✕": "failed", "×": "failed", "○": "skipped", "✎": "todo"}
_LOAD: Final = "Test suite failed to run"


class JestText:
    """Follows Jest's reports per file and its closing counts."""

    def __init__(self) -> None:
        self._blocks: list[JsBlock] = []
        self._block: JsBlock | None = None
        self._seen: set[tuple[str, str]] = set()
        self._file = ""
        self._start = 0
        self._last = 0
        self._suites: dict[str, int] | None = None
        self._suites_line = 0
        self._counts: dict[str, int] | None = None
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._sections: list[Section] = []
        self._seconds = 0.0
        self._groups: list[tuple[int, str]] = []
        self._tests: dict[str, str] = {}
        self._notes: list[str] = []
        self._unlisted = 0
        self._since = 0

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted from the first file to the time."""
        if text[:5].strip()[:4] in _WORDS and (found := _FILE.match(text)):
            self._open_file(number, found["word"], found["file"])
        elif not self._start:
            return self._before(number, text)
        elif found := _HEADER.match(text):
            self._header(number, found["name"])
        elif found := _SUITES.match(text):
            self._suites, self._suites_line, self._block = pairs(found["counts"], _NAMES), number, None
        elif (found := _TESTS.match(text)) and self._suites_line == number - 1:
            self._counts, self._last = pairs(found["counts"], _NAMES), number
        elif self._counts is not None and (found := _TIME.match(text)):
            self._close(number, seconds(found["time"]) or 0.0)
            return 0
        elif self._block is not None:
            self._in_block(self._block, number, text)
        elif text.startswith("  "):
            self._result(text)
        elif text.startswith("Summary of all failing tests"):
            self._last = number
        return ALL

    def _before(self, number: int, text: str) -> int:
        if text.startswith("No tests found, exiting with code 1"):
            self._verdicts.append(Verdict.ERROR)
            self._notes.append("no tests found")
            self._owned.append(Lines(number, number))
        elif found := _SUITES.match(text):
            self._suites, self._suites_line, self._start, self._last = (
                pairs(found["counts"], _NAMES),
                number,
                number,
                number,
            )
            return 5
        return 0

    def _open_file(self, number: int, word: str, file: str) -> None:
        self._start = self._start or number
        self._last, self._file, self._block, self._groups = number, file, None, []
        if word != "RUNS" and len(self._sections) < 500:
            self._sections.append(Section(file, "suite", Lines(number, number)))

    def _header(self, number: int, name: str) -> None:
        self._block, self._last = None, number
        if _NOT_A_TEST.match(name):
            return
        kind, title = ("error", self._file) if name == _LOAD else ("failed", name)
        fresh = (self._file, name) not in self._seen
        block = JsBlock(title, number, number, kind, file=self._file or None)
        if fresh and len(self._blocks) < MAX_FAILURES:
            self._seen.add((self._file, name))
            self._blocks.append(block)
        elif fresh:
            self._unlisted += 1
        self._block = block

    def _in_block(self, block: JsBlock, number: int, text: str) -> None:
        if text[:1].strip() and not text.startswith("RETRY"):
            self._block = None
            return
        self._last = number
        block.feed(number, text)
        if block.message == _UNPARSED and (found := _SYNTAX.match(text)):
            block.message, block.message_line = found["text"], number
            block.file, block.line, block.stack = found["file"], int(found["line"]), []

    def _result(self, text: str) -> None:
        """A line of ``--verbose``: groups and tests by indentation."""
        if found := _RESULT.match(text):
            indent = len(found["indent"])
            names = [name for depth, name in self._groups if depth < indent]
            if len(self._tests) < MAX_TESTS:
                self._tests[" › ".join([*names, found["name"]])] = _MARKS[found["mark"]]
        elif (found := _GROUP.match(text)) and len(found["indent"]) <= 40:
            indent = len(found["indent"])
            self._groups = [group for group in self._groups if group[0] < indent][:20]
            self._groups.append((indent, found["name"]))

    def _close(self, number: int, took: float) -> None:
        counts, suites = self._counts or {}, self._suites or {}
        blocks = self._blocks[self._since :]
        unloaded = sum(1 for block in blocks if block.kind == "error")
        totals = {"passed": 0, "failed": 0, "errors": unloaded, "skipped": 0, **counts}
        add(self._totals, totals)
        if totals["failed"] or suites.get("failed"):
            self._verdicts.append(Verdict.FAILED if totals["failed"] else Verdict.ERROR)
        else:
            ran = totals["passed"] + totals["skipped"] + totals.get("todo", 0)
            self._verdicts.append(Verdict.PASSED if ran else Verdict.UNKNOWN)
        self._seconds += took
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start, number))
        self._since = len(self._blocks)
        self._start, self._suites, self._counts, self._block, self._file = 0, None, None, None, ""

    def finish(self, last: int) -> Findings:
        """Totals from the closing lines; a run without them was cut."""
        if self._start and self._counts is not None:
            self._close(self._last, 0.0)
        elif self._start:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._notes.append(CUT)
            self._owned.append(Lines(self._start, self._last))
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for block in self._blocks:
            failures.add(block.failure("jest", self._last), (block.start,))
        return Findings(
            tools=("jest",),
            failures=failures.items,
            totals=self._totals,
            verdict=worst(self._verdicts),
            owned=self._owned,
            sections=self._sections,
            notes=self._notes,
            tests=self._tests,
            duration_seconds=round(self._seconds, 3) if self._totals else None,
            unlisted=self._unlisted,
        )


FAMILY = Family(
    "jest",
    Group.TESTS,
    (
        r"^(?:PASS|FAIL|RUNS) +(?:\S+ +)?\S+\.[cm]?[jt]sx?(?: \(.*\))?$",
        r"^ (?:PASS|FAIL) +\S+\.[cm]?[jt]sx?(?: \(.*\))?$",
        r"^Test Suites: +.*\d+ total$",
        r"^No tests found, exiting with code 1",
    ),
    JestText,
)
