"""CTest as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict

_START: Final = re.compile(r"^Test project \S")
_RESULT: Final = re.compile(
    r"^ *\d+/\d+ +Test +#?(?P<number>\d+): (?P<name>\S.*?) ?\.{2,}(?P<state>[^.].*?)(?: +[\d.]+ sec\b.*)?$"
)
_ECHO: Final = re.compile(r"^(?P<number>\d+): (?P<text>.*)$")
_NEXT: Final = re.compile(r"^ +Start +\d+: ")
_LISTED: Final = re.compile(r"^\s+\d+ - (?P<name>\S+) \((?P<how>[A-Z][\w ]*)\)")
_SUMMARY: Final = re.compile(
    r"^(?P<percent>\d+)% tests passed, (?P<failed>\d+) tests? failed out of (?P<of>\d+)$"
)
_TIME: Final = re.compile(r"^Total Test time \(real\) = +(?P<time>[\d.]+) sec$")
_NONE: Final = re.compile(r"^No tests were found!!!$")
_LOCATED: Final = re.compile(
    r"(?:^|[\s(])(?P<file>[^\s:(]+\.(?:c|cc|cpp|cxx|h|hpp|py|rs|f90|cu))[:(](?P<line>\d+)\)?:(?:\d+:)? "
)
_TELLING: Final = re.compile(
    r"(?i)\bassert|\berror\b|\bfail|exception|abort|expected|unable to find executable"
    r"|could not find"
)

_GTEST: Final = re.compile(r": Failure$")
_OWN: Final = re.compile(
    r"^(?:Test command|Working Directory|Test timeout computed to be|Environment variables): ?"
)

_Detail = tuple[str | None, int | None, str, int]


def _told(number: int, text: str, known: _Detail | None) -> _Detail | None:
    """The line that says most: the first with a place, else the first that speaks of an error."""
    if known is not None and number - known[3] <= 4 and _GTEST.search(known[2].split(" Expected")[0][:300]):
        return known if not text.strip() else (*known[:2], f"{known[2]} {text.strip()}"[:300], known[3])
    if (known is not None and known[1] is not None) or _OWN.match(text):
        return known
    if found := _LOCATED.search(text[:1000]):
        return found["file"], int(found["line"]), text.strip(), number
    if known is None and _TELLING.search(text[:500]):
        return None, None, text.strip(), number
    return known


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
        self._listing = False
        self._unlisted = 0
        self._detail: _Detail | None = None
        self._echoed: dict[str, _Detail] = {}
        self._current: tuple[str, str, int, str] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted until the total time."""
        if _START.match(text):
            self._start = self._start or number
            self._last, self._summary = number, None
        elif found := _RESULT.match(text):
            self._result(number, text, found)
        elif found := _SUMMARY.match(text):
            self._flush(number - 1)
            self._start = self._start or number
            self._summary, self._last = (int(found["failed"]), int(found["of"])), number
        elif found := _TIME.match(text):
            self._seconds, self._last = float(found["time"]), number
        elif self._summary is not None:
            return self._list(number, text)
        elif _NONE.match(text):
            self._none, self._start, self._last = True, self._start or number, number
            return 0
        elif found := _ECHO.match(text):
            self._echo(number, found["number"], found["text"])
        elif self._current is not None:
            self._output(number, text)
        return ALL if self._start else 0

    def _result(self, number: int, text: str, found: re.Match[str]) -> None:
        self._flush(number - 1)
        self._start = self._start or number
        self._last = number
        state = found["state"].strip().replace("***", " ").strip(" :")
        name = found["name"]
        skipped = "Skipped" in state or "(Disabled)" in text
        outcome = "passed" if state.startswith("Passed") else "skipped" if skipped else "failed"
        if "(Disabled)" in text:
            return
        self._counts[outcome] += 1
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = outcome
        if outcome == "failed":
            self._current, self._detail = (name, state, number, outcome), self._echoed.get(found["number"])

    def _list(self, number: int, text: str) -> int:
        """The closing list; names that had no result line are added from it."""
        if text.startswith("The following tests FAILED"):
            self._listing = True
        elif (found := _LISTED.match(text)) and self._listing:
            if self._tests.get(found["name"]) != "failed" and len(self._failures) < MAX_FAILURES:
                self._current, self._detail = (found["name"], found["how"], number, "failed"), None
                self._flush(number)
                self._tests[found["name"]] = "failed"
        elif text and not text.startswith(("The following", "Errors while", "\t", " ")):
            return 0
        self._last = number
        return ALL

    def _echo(self, number: int, test: str, text: str) -> None:
        """``-V`` prints output before the result, with the test's number before each line."""
        self._last = number
        detail = _told(number, text, self._echoed.get(test))
        if detail is not None and len(self._echoed) < MAX_TESTS:
            self._echoed[test] = detail

    def _output(self, number: int, text: str) -> None:
        if _NEXT.match(text):
            self._flush(number - 1)
            return
        self._last = number
        self._detail = _told(number, text, self._detail)

    def _flush(self, end: int) -> None:
        current, self._current = self._current, None
        if current is None:
            return
        name, state, start, _ = current
        if len(self._failures) >= MAX_FAILURES:
            self._unlisted += 1
            return
        file, line, message, at = self._detail or (None, None, f"{name}: {state}", start)
        kind = "timeout" if "Timeout" in state else "crash" if "Exception" in state else "failed"
        self._failures.append(
            Failure(name, kind, file, line, message, at, Lines(start, max(start, end)), "ctest")
        )

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
            notes.append(CUT)
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
    (
        r"^Test project \S",
        r"^ *\d+/\d+ +Test +#?\d+: ",
        r"^\d+% tests passed, \d+ tests? failed out of \d+$",
        r"^No tests were found!!!$",
    ),
    CtestText,
)
