"""Playwright Test as text: list, line and dot reporters."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..model import Lines, Verdict
from .counts import seconds
from .jsblock import JsBlock

_START: Final = re.compile(r"^Running (?P<count>\d+) tests? using \d+ workers?")
_BLOCK: Final = re.compile(r"^  (?P<number>\d+)\) (?P<name>\S.*?)(?: [─━]+)?$")
_ENTRY: Final = re.compile(r"^    (?P<name>\S.*?)(?: [─━]+)?$")
_PLACE: Final = re.compile(r"^(?:\[[^\]]+\] › )?(?P<file>[^\s:]+):(?P<line>\d+):\d+ › ?(?P<title>.*)$")
_RESULT: Final = re.compile(r"^  (?:[✓✘-]|ok|x) +\d+ |^\[\d+/\d+\] ")
_RETRY: Final = re.compile(r"^    (?:Retry|Repeat) #\d+")
_COUNT: Final = re.compile(
    r"^  (?P<count>\d+) (?P<word>failed|flaky|skipped|passed|interrupted|did not run"
    r"|errors? (?:was|were) not a part of any test.*)"
    r"(?: \((?P<time>[\d.]+m?[smh])\))?$"
)
_KEYS: Final = {
    "failed": "failed",
    "flaky": "flaky",
    "skipped": "skipped",
    "passed": "passed",
    "did not run": "not run",
}


class PlaywrightText:
    """Reads numbered blocks, then the lists of failed and flaky tests."""

    def __init__(self) -> None:
        self._start = 0
        self._last = 0
        self._blocks: list[JsBlock] = []
        self._block: JsBlock | None = None
        self._list = ""
        self._counts: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._expected = 0
        self._outcome: dict[str, str] = {}
        self._interrupted = False
        self._seconds: float | None = None
        self._notes: list[str] = []
        self._unlisted = 0
        self._done = False

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted until the line of passed tests."""
        if found := _START.match(text):
            self._open_run(number, int(found["count"]))
        elif not self._start:
            return 0
        elif found := _COUNT.match(text):
            self._count(number, found["word"], int(found["count"]))
            if found["time"]:
                self._seconds, self._done = seconds(found["time"]), True
                return 0 if self._settled() else ALL
        elif self._list and (found := _ENTRY.match(text)):
            self._outcome[found["name"]] = self._list
            self._last = number
        elif (found := _BLOCK.match(text)) and _PLACE.match(found["name"]):
            self._forget_counts()
            self._open(number, found["name"])
        elif self._counts and _RESULT.match(text):
            self._forget_counts()
        elif self._block is not None:
            self._last = number
            if _RETRY.match(text):
                self._block.end, self._block = number, None
            else:
                self._block.feed(number, text)
        return ALL

    def _open_run(self, number: int, expected: int) -> None:
        """A run begins; the counts of one before it are kept."""
        if self._settled():
            for key, count in self._counts.items():
                self._before[key] = self._before.get(key, 0) + count
        self._forget_counts()
        self._start = self._start or number
        self._last, self._expected = number, expected

    def _settled(self) -> bool:
        """True where the counts account for every test: others may be what a test printed."""
        known = sum(count for key, count in self._counts.items() if key != "errors")
        return bool(self._counts) and (known >= self._expected or bool(self._counts.get("errors")))

    def _forget_counts(self) -> None:
        self._counts, self._list, self._done, self._block = {}, "", False, None
        self._interrupted = False

    def _count(self, number: int, word: str, count: int) -> None:
        if self._done:
            self._forget_counts()
        self._last, self._block, self._list = number, None, word
        if word in _KEYS:
            self._counts[_KEYS[word]] = self._counts.get(_KEYS[word], 0) + count
        elif word == "interrupted":
            self._interrupted = True
            self._counts["interrupted"] = count
            self._notes.append(f"{count} tests interrupted")
        else:
            self._counts["errors"] = self._counts.get("errors", 0) + count

    def _open(self, number: int, name: str) -> None:
        self._last = number
        block = JsBlock(name, number, number)
        if found := _PLACE.match(name):
            block.file, block.line = found["file"], int(found["line"])
        self._block = block
        if len(self._blocks) < MAX_FAILURES:
            self._blocks.append(block)
        else:
            self._unlisted += 1

    def finish(self, last: int) -> Findings:
        """A test that passed on a retry is flaky, not failed."""
        if not self._start:
            return Findings()
        failures = FailureSet()
        for block in self._blocks:
            if self._outcome.get(block.name, "failed") != "flaky":
                failures.add(block.failure("playwright", self._last), (block.name,))
        settled = self._settled()
        if not settled:
            verdict = Verdict.INCOMPLETE
            self._notes.append(CUT)
        elif self._counts.get("failed") or self._counts.get("errors"):
            verdict = Verdict.FAILED
        else:
            verdict = Verdict.INCOMPLETE if self._interrupted or not self._done else Verdict.PASSED
        totals = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0, **self._before} if settled else {}
        for key, count in self._counts.items() if settled else ():
            totals[key] = totals.get(key, 0) + count
        if totals.get("failed") and verdict is Verdict.PASSED:
            verdict = Verdict.FAILED
        return Findings(
            tools=("playwright",),
            failures=failures.items,
            totals=totals,
            verdict=verdict,
            owned=[Lines(self._start, self._last)],
            notes=self._notes,
            tests={
                name: outcome for name, outcome in self._outcome.items() if outcome in {"failed", "flaky"}
            },
            duration_seconds=self._seconds,
            unlisted=self._unlisted,
        )


FAMILY = Family("playwright", Group.TESTS, (r"^Running \d+ tests? using \d+ workers?",), PlaywrightText)
