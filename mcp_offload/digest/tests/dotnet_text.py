"""``dotnet test`` (VSTest console) as text; MSTest, NUnit and xUnit adapters."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Lines, Verdict
from .counts import seconds, worst
from .numbered import Item, Items

_CASE: Final = re.compile(
    r"^  (?P<word>Failed|Passed|Skipped|X|√|!) (?P<name>\S.*?) \[(?:<? ?[\d.,]+ ?\w+"
    r"(?: [\d.]+ \w+)?)\]$"
)
_SKIP: Final = re.compile(r"^  (?P<word>Skipped|!) (?P<name>\S.*?)(?: \[.*\])?$")
_MESSAGE: Final = re.compile(r"^  Error Message:$")
_STACK: Final = re.compile(r"^  Stack Trace:$")
_OUTPUT: Final = re.compile(r"^  Standard (?:Output|Error) Messages:$|^  Attachments:$")
_FRAME: Final = re.compile(r"^ +at (?P<function>.+) in (?P<file>.+):line (?P<line>\d+)$")
_SHORT: Final = re.compile(
    r"^(?P<word>Passed|Failed|Skipped)! +- Failed: +(?P<failed>\d+), Passed: +"
    r"(?P<passed>\d+), Skipped: +(?P<skipped>\d+),"
    r" Total: +(?P<run>\d+)(?:, Duration: (?P<time>.*?) - .*)?"
)
_LONG: Final = re.compile(r"^ *(?P<key>Total tests|Passed|Failed|Skipped): (?P<count>\d+)")
_TIME: Final = re.compile(r"^ *Total time: (?P<time>[\d.]+) (?P<unit>\w+)")
_ABORTED: Final = re.compile(r"^(?:The active test run was aborted|Test Run Aborted)")
_WORDS: Final = {
    "Failed": "failed",
    "X": "failed",
    "Passed": "passed",
    "√": "passed",
    "Skipped": "skipped",
    "!": "skipped",
}


class DotnetText:
    """Reads failed cases and the closing counts of each test assembly."""

    def __init__(self) -> None:
        self._items = Items()
        self._part = ""
        self._start = 0
        self._last = 0
        self._totals: dict[str, int] = {}
        self._long: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._tests: dict[str, str] = {}
        self._seconds = 0.0
        self._notes: list[str] = []
        self._open = False

    def feed(self, number: int, text: str) -> int:
        """Take a line; failed cases are followed to the next case."""
        if found := _CASE.match(text) or _SKIP.match(text):
            self._case(number, found["word"], found["name"])
        elif found := _SHORT.match(text):
            self._short(number, found)
        elif (found := _LONG.match(text)) and (found["key"] == "Total tests" or self._long):
            self._touch(number)
            self._long[found["key"]] = int(found["count"])
            self._items.open = None
            return 4
        elif self._long and (found := _TIME.match(text)):
            self._seconds += seconds(f"{found['time']}{found['unit'][0].lower()}") or 0.0
            self._close_long(number)
        elif text.startswith("Starting test execution"):
            self._touch(number)
            self._open = True
        elif _ABORTED.match(text):
            self._touch(number)
            self._verdicts.append(Verdict.INCOMPLETE)
            self._notes.append(text)
        elif self._items.open is not None:
            self._detail(self._items.open, number, text)
        return ALL if self._items.open is not None else (3 if self._long else 0)

    def _touch(self, number: int) -> None:
        self._start = self._start or number
        self._last = number

    def _case(self, number: int, word: str, name: str) -> None:
        self._touch(number)
        outcome = _WORDS[word]
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = outcome
        self._items.open, self._part = None, ""
        if outcome == "failed":
            self._items.begin(name, number)

    def _detail(self, item: Item, number: int, text: str) -> None:
        if text[:1].strip() and self._part != "message":
            self._items.open = None
            return
        if text.strip():
            item.end = self._last = number
        if _MESSAGE.match(text):
            self._part = "message"
        elif _STACK.match(text):
            self._part = "stack"
        elif _OUTPUT.match(text):
            self._part = "output"
        elif self._part == "message":
            item.say(number, text.strip())
        elif self._part == "stack" and (found := _FRAME.match(text)):
            item.frame(number, found["file"], int(found["line"]), found["function"])

    def _short(self, number: int, found: re.Match[str]) -> None:
        self._touch(number)
        self._items.open = None
        self._add(int(found["run"]), int(found["passed"]), int(found["failed"]), int(found["skipped"]))
        self._seconds += seconds(found["time"] or "") or 0.0

    def _add(self, run: int, passed: int, failed: int, skipped: int) -> None:
        self._open = False
        for key, value in {"passed": passed, "failed": failed, "errors": 0, "skipped": skipped}.items():
            self._totals[key] = self._totals.get(key, 0) + value
        self._verdicts.append(Verdict.FAILED if failed else Verdict.PASSED if run else Verdict.UNKNOWN)

    def _close_long(self, number: int) -> None:
        stated, self._long = self._long, {}
        self._last = number
        run = stated.get("Total tests", 0)
        self._add(run, stated.get("Passed", 0), stated.get("Failed", 0), stated.get("Skipped", 0))

    def finish(self, last: int) -> Findings:
        """Totals summed over assemblies."""
        if self._long:
            self._close_long(self._last)
        if self._open or (self._items.all and not self._verdicts):
            self._verdicts.append(Verdict.INCOMPLETE)
            self._notes.append(CUT)
        if not self._verdicts:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("dotnet test"), (item.name, item.start))
        return Findings(
            ("dotnet test",),
            failures.items,
            self._totals,
            worst(self._verdicts),
            [Lines(self._start, self._last)],
            notes=self._notes,
            tests=self._tests,
            duration_seconds=round(self._seconds, 3),
            unlisted=self._items.unlisted,
        )


FAMILY = Family(
    "dotnet test",
    Group.TESTS,
    (
        r"^  (?:Failed|Passed|Skipped|X) \S.* \[<? ?[\d.,]+ ?\w+(?: [\d.]+ \w+)?\]$",
        r"^(?:Passed|Failed|Skipped)! +- Failed: +\d+, Passed: +\d+",
        r"^Total tests: \d+",
        r"^Starting test execution, please wait",
        r"^(?:The active test run was aborted|Test Run Aborted)",
    ),
    DotnetText,
)
