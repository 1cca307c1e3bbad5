"""Vitest 0.3x to 4 as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Lines, Verdict
from .counts import add, pairs, seconds, worst
from .jsblock import JsBlock

_START: Final = re.compile(r"^ ?(?:RUN|DEV) +v\d+\.\d+\.\d+\S* +\S")
_LIST: Final = re.compile(
    r"^⎯+ ?(?P<what>Failed Suites|Failed Tests|Unhandled Errors?|Unhandled \w+"
    r"|Uncaught \w+|Failed Type\w* \w*) ?\d* ?⎯+$"
)
_RULE: Final = re.compile(r"^⎯+(?:\[\d+/\d+\]⎯+)?$")
_FAIL: Final = re.compile(r"^ *FAIL +(?:\|[^|]+\| +)?(?P<name>\S.*)$")
_SUITE: Final = re.compile(r"^(?P<file>.+?) \[ .+ \]$")
_FILES: Final = re.compile(r"^ *Test Files +(?P<counts>\d.*)\(\d+\)$|^ *Test Files +no tests$")
_TESTS: Final = re.compile(r"^ *Tests +(?:(?P<counts>\d.*)\(\d+\)|no tests)$")
_ERRORS: Final = re.compile(r"^ *Errors +(?P<count>\d+) errors?$")
_DURATION: Final = re.compile(r"^ *Duration +(?P<time>[\d.]+ ?m?s|\d+m \S+)")
_RESULT: Final = re.compile(r"^ +(?P<mark>[✓×↓]) (?P<name>\S.* > .+?)(?: (?:\d+(?:\.\d+)?m?s|\[skipped\]))*$")
_NAMES: Final = {"passed": "passed", "failed": "failed", "skipped": "skipped", "todo": "todo"}
_MARKS: Final = {"✓": "passed", "×": "failed", "↓": "skipped"}


class VitestText:
    """Follows the failure lists and the closing table."""

    def __init__(self) -> None:
        self._blocks: list[JsBlock] = []
        self._shared: list[JsBlock] = []
        self._list = ""
        self._start = 0
        self._last = 0
        self._version = ""
        self._files: dict[str, int] | None = None
        self._files_line = 0
        self._counts: dict[str, int] | None = None
        self._unhandled = 0
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._seconds = 0.0
        self._tests: dict[str, str] = {}
        self._since = 0
        self._unlisted = 0
        self._notes: list[str] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted until the duration."""
        if found := _START.match(text):
            if self._start:
                self._cut()
            self._start = self._last = number
            self._version = text.split()[1].lstrip("v")
        elif text.startswith("⎯"):
            self._rule(number, text)
        elif (found := _FILES.match(text)) and not self._list_open():
            self._files, self._files_line = pairs(found["counts"] or "", _NAMES), number
            self._start = self._start or number
        elif self._files is not None and (found := _TESTS.match(text)) and self._files_line == number - 1:
            self._counts, self._last = pairs(found["counts"] or "", _NAMES), number
        elif self._counts is not None:
            return self._table(number, text)
        elif self._list:
            self._in_list(number, text)
        elif text.startswith("No test files found, exiting with code 1"):
            self._verdicts.append(Verdict.ERROR)
            self._notes.append("no test files found")
            self._owned.append(Lines(self._start or number, number))
            self._start = 0
            return 0
        elif (found := _RESULT.match(text)) and len(self._tests) < MAX_TESTS:
            self._tests[found["name"]] = _MARKS[found["mark"]]
            self._last = number
        return ALL if self._start else 0

    def _list_open(self) -> bool:
        return bool(self._shared)

    def _rule(self, number: int, text: str) -> None:
        if found := _LIST.match(text):
            if self._start or found["what"] != "":
                self._start = self._start or number
                self._list, self._shared, self._last = found["what"], [], number
                if found["what"].startswith(("Unhandled", "Uncaught")) and not found["what"].endswith(
                    "Errors"
                ):
                    self._open(JsBlock(found["what"].lower(), number, number, "error"))
        elif _RULE.match(text):
            self._shared, self._last = [], number

    def _in_list(self, number: int, text: str) -> None:
        if (found := _FAIL.match(text)) and not any(block.message for block in self._shared):
            self._open(self._block(found["name"], number))
            self._last = number
        elif text:
            self._last = number
            for block in self._shared:
                block.feed(number, text if text[:1].isspace() else " " + text)
        elif self._shared and all(not block.message for block in self._shared):
            self._shared = []

    def _block(self, name: str, number: int) -> JsBlock:
        if found := _SUITE.match(name):
            return JsBlock(found["file"], number, number, "error", file=found["file"])
        file = name.split(" > ")[0]
        return JsBlock(name, number, number, file=file if "." in file else None)

    def _open(self, block: JsBlock) -> None:
        if len(self._blocks) >= MAX_FAILURES:
            self._unlisted += 1
            return
        self._blocks.append(block)
        self._shared = [*self._shared, block][-200:]

    def _table(self, number: int, text: str) -> int:
        if found := _ERRORS.match(text):
            self._unhandled = int(found["count"])
        elif found := _DURATION.match(text):
            self._close(number, seconds(found["time"]) or 0.0)
            return 0
        return 6

    def _close(self, number: int, took: float) -> None:
        blocks = self._blocks[self._since :]
        errors = sum(1 for block in blocks if block.kind == "error")
        totals = {
            "passed": 0,
            "failed": 0,
            "errors": max(errors, self._unhandled),
            "skipped": 0,
            **(self._counts or {}),
        }
        add(self._totals, totals)
        broken = (self._files or {}).get("failed", 0) or totals["errors"]
        if totals["failed"]:
            self._verdicts.append(Verdict.FAILED)
        elif broken:
            self._verdicts.append(Verdict.ERROR)
        else:
            ran = totals["passed"] + totals["skipped"] + totals.get("todo", 0)
            self._verdicts.append(Verdict.PASSED if ran else Verdict.UNKNOWN)
        self._seconds += took
        self._owned.append(Lines(self._start, number))
        self._reset()

    def _cut(self) -> None:
        self._verdicts.append(Verdict.INCOMPLETE)
        self._notes.append(CUT)
        self._owned.append(Lines(self._start, self._last))
        self._reset()

    def _reset(self) -> None:
        self._since = len(self._blocks)
        self._start, self._files, self._counts, self._list, self._shared, self._unhandled = (
            0,
            None,
            None,
            "",
            [],
            0,
        )

    def finish(self, last: int) -> Findings:
        """Totals from the closing table; a run without it was cut."""
        if self._start and self._counts is not None:
            self._close(self._last, 0.0)
        elif self._start and (self._version or self._blocks):
            self._cut()
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for block in self._blocks:
            failures.add(block.failure("vitest", self._last), (block.start, block.name))
        return Findings(
            tools=(f"vitest {self._version}".strip(),),
            failures=failures.items,
            totals=self._totals,
            verdict=worst(self._verdicts),
            owned=self._owned[:500],
            notes=self._notes[:10],
            tests=self._tests,
            duration_seconds=round(self._seconds, 3) if self._totals else None,
            unlisted=self._unlisted,
        )


FAMILY = Family(
    "vitest",
    Group.TESTS,
    (
        r"^ ?(?:RUN|DEV) +v\d+\.\d+\.\d+\S* +\S",
        r"^⎯+ ?(?:Failed (?:Suites|Tests)|Unhandled|Uncaught)",
        r"^ *Test Files +(?:\d.*\(\d+\)|no tests)$",
    ),
    VitestText,
)
