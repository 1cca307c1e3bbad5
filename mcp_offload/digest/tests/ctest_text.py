"""CTest as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, MAX_FAILURES, MAX_TESTS, Family, FailureSet, Findings, Group
from ..model import Failure, Lines, Verdict

_START: Final = re.compile(r"^Test project \S")
_RESULT: Final = re.compile(
    r"^ *(?P<rank>\d+)/(?P<of>\d+) +Test +#?(?P<number>\d+): (?P<name>\S.*?) \.*(?P<state> +Passed|\*\*\*[A-Z][\w :]*?|   Passed)"
    r"(?P<rest>.*?)(?: +(?P<time>[\d.]+) sec)?(?P<tail>.*)$"
)
_SUMMARY: Final = re.compile(r"^(?P<percent>\d+)% tests passed, (?P<failed>\d+) tests? failed out of (?P<of>\d+)$")
_TIME: Final = re.compile(r"^Total Test time \(real\) = +(?P<time>[\d.]+) sec$")
_NONE: Final = re.compile(r"^No tests were found!!!$")
_LOCATED: Final = re.compile(r"^(?P<file>[^\s:(]+\.(?:c|cc|cpp|cxx|h|hpp|py|rs|f90|cu))[:(](?P<line>\d+)\)?:(?:\d+:)? ?(?P<message>.*)$")
_TELLING: Final = re.compile(r"(?i)\bassert|\berror\b|\bfail|exception|abort|expected|unable to find executable|could not find")


class CtestText:
    """Reads result lines and, under failing ones, their output."""

    def __init__(self) -> None:
        self._start = 0
        self._last = 0
        self._failures: list[Failure] = []
        self._summary: tuple[int, int] | None = None
        self._tests: dict[str, str] = {}
        self._counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        self._seconds: float | None = None
        self._none = False
        self._unlisted = 0
        self._detail: tuple[str | None, int | None, str, int] | None = None
        self._current: tuple[str, str, int, str] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted until the total time."""
        if _START.match(text):
            self._start = self._start or number
            self._last, self._summary = number, None
        elif found := _RESULT.match(text):
            self._result(number, found)
        elif found := _SUMMARY.match(text):
            self._flush(number - 1)
            self._start = self._start or number
            self._summary, self._last = (int(found["failed"]), int(found["of"])), number
        elif found := _TIME.match(text):
            self._seconds, self._last = float(found["time"]), number
            return 0
        elif _NONE.match(text):
            self._none, self._start, self._last = True, self._start or number, number
            return 0
        elif self._current is not None:
            self._output(number, text)
        return ALL if self._start else 0

    def _result(self, number: int, found: re.Match[str]) -> None:
        self._flush(number - 1)
        self._start = self._start or number
        self._last = number
        state = found["state"].strip().lstrip("*") + found["rest"].rstrip(" .")
        name = found["name"]
        outcome = "passed" if state.startswith("Passed") else "skipped" if state.startswith("Skipped") else "failed"
        self._counts[outcome] += 1
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = outcome
        if outcome == "failed":
            self._current, self._detail = (name, state.strip(), number, outcome), None

    def _output(self, number: int, text: str) -> None:
        self._last = number
        if self._detail is not None and self._detail[1] is not None:
            return
        if found := _LOCATED.match(text):
            self._detail = (found["file"], int(found["line"]), text.strip(), number)
        elif self._detail is None and _TELLING.search(text[:500]) and not re.match(r"^ +Start +\d+: ", text):
            self._detail = (None, None, text.strip(), number)

    def _flush(self, end: int) -> None:
        current, self._current = self._current, None
        if current is None:
            return
        name, state, start, _ = current
        if len(self._failures) >= MAX_FAILURES:
            self._unlisted += 1
            return
        file, line, message, at = self._detail or (None, None, f"{name}: {state}", start)
        kind = "timeout" if state.startswith("Timeout") else "crash" if state.startswith("Exception") else "failed"
        self._failures.append(Failure(name, kind, file, line, message, at, Lines(start, max(start, end)), "ctest"))

    def finish(self, last: int) -> Findings:
        """Totals as listed; the run is complete only with its closing line."""
        self._flush(self._last)
        if not self._start:
            return Findings()
        notes: list[str] = []
        verdict = Verdict.INCOMPLETE
        if self._none:
            verdict, notes = Verdict.UNKNOWN, ["no tests were found"]
        elif self._summary is not None:
            failed, of = self._summary
            self._counts["failed"] = failed
            self._counts["passed"] = max(0, of - failed - self._counts["skipped"])
            verdict = Verdict.FAILED if failed else Verdict.PASSED if of else Verdict.UNKNOWN
        else:
            notes.append("the log ends inside the test run")
        failures = FailureSet()
        for failure in self._failures:
            failures.add(failure, (failure.name, failure.block.start))
        return Findings(
            tools=("ctest",),
            failures=failures.items,
            totals=self._counts,
            verdict=verdict,
            owned=[Lines(self._start, self._last)],
            notes=notes,
            tests=self._tests,
            duration_seconds=self._seconds,
            unlisted=self._unlisted,
        )


FAMILY = Family(
    "ctest",
    Group.TESTS,
    (r"^Test project \S", r"^ *\d+/\d+ +Test +#?\d+: ", r"^\d+% tests passed, \d+ tests? failed out of \d+$", r"^No tests were found!!!$"),
    CtestText,
)
