"""GoogleTest as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .counts import worst

_STATE: Final = re.compile(r"^\[(?P<state>[ A-Z=-]{8,14})\] ?(?P<rest>.*)$")
_PLACE: Final = re.compile(
    r"^(?P<file>.+?)(?::(?P<l1>\d+)|\((?P<l2>\d+)\)|(?<=unknown file)): (?P<word>Failure"
    r"|error:.*)$"
)
_RAN: Final = re.compile(
    r"^(?P<count>\d+) tests? from \d+ test (?:suites?|cases?) ran\.(?: \("
    r"(?P<time>\d+) ms total\))?$"
)
_RUNNING: Final = re.compile(r"^Running (?P<count>\d+) tests? from")
_BRIEF: Final = re.compile(r"^(?P<name>[\w./]+)(?:, where .*)? \(\d+ ms\)$")
_COUNT: Final = re.compile(r"^(?P<count>\d+) tests?[.,]")


class GtestText:
    """Follows ``[ RUN ]`` to ``[ OK ]`` or ``[ FAILED ]``."""

    def __init__(self) -> None:
        self._name = ""
        self._from = 0
        self._file: str | None = None
        self._line: int | None = None
        self._message = ""
        self._at = 0
        self._parts = 0
        self._failures: list[Failure] = []
        self._totals: dict[str, int] = {}
        self._start = 0
        self._last = 0
        self._open_run = False
        self._ran = False
        self._verdicts: list[Verdict] = []
        self._tests: dict[str, str] = {}
        self._seconds = 0.0
        self._skips = 0
        self._unlisted = 0
        self._owned: list[Lines] = []
        self._notes: list[str] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted while a test runs."""
        if text[:1] == "[" and (found := _STATE.match(text)):
            self._state(number, found["state"].strip(), found["rest"])
        elif self._name:
            self._detail(number, text)
        elif _PLACE.match(text):
            if not self._at:
                self._from, self._file, self._line, self._message = number, None, None, ""
            self._detail(number, text)
            return 8
        elif self._at and number - self._from < 8:
            self._detail(number, text)
            return 8
        return ALL if self._name else 0

    def _state(self, number: int, state: str, rest: str) -> None:
        if state == "==========" and (found := _RUNNING.match(rest)):
            self._begin(number)
        elif state == "==========" and (found := _RAN.match(rest)):
            self._seconds += int(found["time"] or 0) / 1000
            self._end(number)
        elif state == "RUN":
            self._start = self._start or number
            self._ran = True
            self._name, self._from, self._last, self._open_run = rest.strip(), number, number, True
            self._file, self._line, self._message, self._at, self._parts = None, None, "", 0, 0
        elif state in {"OK", "FAILED", "SKIPPED"} and self._name and rest.startswith(self._name):
            self._result(number, state)
        elif state in {"PASSED", "FAILED", "SKIPPED"} and not self._name and (found := _COUNT.match(rest)):
            self._closing(number, state, int(found["count"]))
        elif state == "FAILED" and self._at and (found := _BRIEF.match(rest)):
            self._name = found["name"]
            self._start = self._start or self._from
            self._result(number, state)

    def _begin(self, number: int) -> None:
        if self._open_run:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(self._start, self._last))
        self._start, self._last, self._open_run, self._name = number, number, True, ""

    def _result(self, number: int, state: str) -> None:
        outcome = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[state]
        self._totals[outcome] = self._totals.get(outcome, 0) + 1
        if len(self._tests) < MAX_TESTS:
            self._tests[self._name] = outcome
        if outcome == "failed":
            self._add("failed", number)
        self._name, self._last, self._at = "", number, 0

    def _add(self, kind: str, end: int) -> None:
        if len(self._failures) >= MAX_FAILURES:
            self._unlisted += 1
            return
        message = self._message or f"{self._name} {kind}"
        block = Lines(self._from, end)
        self._failures.append(
            Failure(self._name, kind, self._file, self._line, message, self._at or self._from, block, "gtest")
        )

    def _detail(self, number: int, text: str) -> None:
        if found := _PLACE.match(text):
            if self._at:
                return
            self._at, self._parts = number, 1
            if found["l1"] or found["l2"]:
                self._file, self._line = found["file"], int(found["l1"] or found["l2"])
            label = (self._file or "unknown file").replace("\\", "/").split("/")[-1]
            self._message = f"{label}:{self._line}: Failure" if self._line else "Failure"
            if found["word"].startswith("error:"):
                self._message += found["word"][6:]
        elif 0 < self._parts < 6 and text.strip():
            self._parts += 1
            self._message = f"{self._message} {text.strip()}"[:400]

    def _closing(self, number: int, state: str, count: int) -> None:
        self._last = max(self._last, number)
        if not self._ran:
            key = {"PASSED": "passed", "SKIPPED": "skipped"}.get(state)
            if key:
                self._totals[key] = count
                self._verdicts = [
                    Verdict.FAILED
                    if self._totals.get("failed")
                    else Verdict.PASSED
                    if count
                    else Verdict.UNKNOWN
                ]
        if self._owned:
            self._owned[-1] = Lines(self._owned[-1].start, number)
        if state == "FAILED" and count:
            self._verdicts.append(Verdict.FAILED)

    def _end(self, number: int) -> None:
        self._last, self._open_run, self._name = number, False, ""
        bad = self._totals.get("failed", 0)
        ran = self._totals.get("passed", 0) + self._totals.get("skipped", 0)
        self._verdicts.append(Verdict.FAILED if bad else Verdict.PASSED if ran else Verdict.UNKNOWN)
        self._owned.append(Lines(self._start or number, number))
        self._start = 0

    def finish(self, last: int) -> Findings:
        """A test that was running at the end crashed or was killed."""
        if self._open_run:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(self._start, self._last))
            self._notes.append(f"the run stops in {self._name}" if self._name else CUT)
        if not self._owned:
            return Findings()
        totals = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0, **self._totals}
        failures = FailureSet()
        for failure in self._failures:
            failures.add(failure, (failure.name, failure.block.start))
        return Findings(
            tools=("gtest",),
            failures=failures.items,
            totals=totals,
            verdict=worst(self._verdicts),
            owned=self._owned[:1000],
            notes=self._notes,
            tests=self._tests,
            duration_seconds=round(self._seconds, 3),
            unlisted=self._unlisted,
        )


FAMILY = Family(
    "gtest",
    Group.TESTS,
    (
        r": Failure$",
        r"^\[(?:==========| RUN      |       OK |  PASSED  |  FAILED  |  SKIPPED )\] \S",
    ),
    GtestText,
)
