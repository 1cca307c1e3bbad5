"""JUnit 4's text runner (``org.junit.runner.JUnitCore``) and JUnit 3's, which prints the same."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, FailureSet, Family, Findings, Group
from ..frames import frames
from ..model import Lines, Verdict
from .numbered import Items

# Source: org.junit.internal.TextListener.
_START: Final = re.compile(r"^JUnit version (?P<version>\d\S*)$")
_FAILURE: Final = re.compile(r"^(?P<number>\d+)\) (?P<name>\S.*)$")
_TIME: Final = re.compile(r"^Time: (?P<seconds>[\d.,]+)$")
_OK: Final = re.compile(r"^OK \((?P<run>\d+) tests?\)$")
_BAD: Final = re.compile(
    r"^Tests run: (?P<run>\d+),  Failures: (?P<failed>\d+)(?:,  Errors: (?P<errors>\d+))?$"
)
_DOTS: Final = re.compile(r"^[.EI]+$")


class Junit4Text:
    """Follows one run from its version line to its closing count."""

    def __init__(self) -> None:
        self._items = Items()
        self._version = ""
        self._owned: list[Lines] = []
        self._start = 0
        self._last = 0
        self._listing = False
        self._ignored = 0
        self._totals: dict[str, int] = {}
        self._seconds = 0.0
        self._cut = False

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted until the closing count."""
        if found := _START.match(text):
            self._end(self._start > 0)
            self._version, self._start, self._listing = found["version"], number, False
        elif not self._start:
            return 0
        elif found := _TIME.match(text):
            self._seconds, self._listing = float(found["seconds"].replace(",", "")), True
        elif (found := _OK.match(text) or _BAD.match(text)) and self._listing:
            self._count(found)
            self._last = number
            self._end(cut=False)
            return 0
        elif self._listing:
            self._line(number, text)
        elif _DOTS.match(text):
            self._ignored += text.count("I")
        self._last = number
        return ALL

    def _line(self, number: int, text: str) -> None:
        if found := _FAILURE.match(text):
            self._items.begin(found["name"], number)
        elif self._items.open is not None and text.strip():
            item = self._items.open
            item.end = number
            for frame in frames([text]):
                item.frame(number, frame.file, frame.line or 0, frame.function)
            if not item.stack and not text.startswith("\t"):
                item.say(number, text.strip(), 2)

    def _count(self, found: re.Match[str]) -> None:
        groups = found.groupdict()
        failed, errors = int(groups.get("failed") or 0), int(groups.get("errors") or 0)
        passed = max(0, int(groups["run"]) - failed - errors)
        counts = {"passed": passed, "failed": failed, "errors": errors, "skipped": self._ignored}
        for key, count in counts.items():
            self._totals[key] = self._totals.get(key, 0) + count
        self._ignored = 0

    def _end(self, cut: bool) -> None:
        if self._start and len(self._owned) < 500:
            self._owned.append(Lines(self._start, self._last))
        self._cut = self._cut or cut
        self._start, self._items.open = 0, None

    def finish(self, last: int) -> Findings:
        """Failures in the order listed; a run without its closing count was cut."""
        self._end(self._start > 0)
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("junit"), (item.start,))
        bad = self._totals.get("failed", 0) + self._totals.get("errors", 0)
        verdict = Verdict.FAILED if bad else Verdict.INCOMPLETE if self._cut else Verdict.PASSED
        if verdict is Verdict.PASSED and not self._totals.get("passed"):
            verdict = Verdict.UNKNOWN
        return Findings(
            tools=(f"junit {self._version}",),
            failures=failures.items,
            totals=self._totals,
            verdict=verdict,
            owned=self._owned,
            notes=[CUT] if self._cut else [],
            duration_seconds=self._seconds,
            unlisted=self._items.unlisted,
        )


FAMILY = Family("junit text", Group.TESTS, (r"^JUnit version \d\S*$",), Junit4Text)
