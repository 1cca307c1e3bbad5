"""Mocha 5 to 12, spec, list, dot and min reporters."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .counts import add, seconds, worst
from .jsblock import JsBlock

_COUNT: Final = re.compile(
    r"^  (?P<count>\d+) (?P<word>passing|pending|failing)(?: \((?P<time>[\d.]+m?s"
    r"|\d+[mh])\))?$"
)
_HEADER: Final = re.compile(r"^  (?P<number>\d+)\) (?P<name>\S.*)$")
# A test while the run goes on: "    ✔ adds", "    3) adds wrongly", "    - later"; dot reporter: "  ․․!,".
_GOING: Final = re.compile(r"^ {4,}(?:[✔✓√] (?P<good>\S.*)|(?P<number>\d{1,5})\) (?P<bad>\S.*)|- \S.*)$")
_DOTS: Final = re.compile(r"^  [․.!,]{1,400}$")
_GOING_LINES: Final = 200
_CLOSE_BY: Final = 40
_WORDS: Final = {"passing": "passed", "pending": "skipped", "failing": "failed"}


class MochaText:
    """Reads the closing counts and the numbered failures under them."""

    def __init__(self) -> None:
        self._blocks: list[JsBlock] = []
        self._title: list[str] | None = None
        self._counts: dict[str, int] = {}
        self._start = 0
        self._last = 0
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._seconds = 0.0
        self._next = 1
        self._unlisted = 0
        self._in_list = False
        self._again = False
        self._ended = False
        self._foreign = False
        self._going: list[int] = []  # first and last line of a run that has no counts yet
        self._bad: list[tuple[int, str]] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line; after "N failing" everything until text at the margin."""
        if found := _COUNT.match(text):
            if found["word"] == "passing" or not self._start:
                self._again = True
                self._foreign = self._foreign or number - self._last < 3
                self._close()
                self._again, self._start, self._foreign = False, number, False
            self._going, self._bad = [], []
            self._counts[_WORDS[found["word"]]] = int(found["count"])
            self._last = number
            if found["time"]:
                self._seconds += seconds(found["time"]) or 0.0
            self._ended = False
            self._in_list, self._next = found["word"] == "failing", 1
            return ALL if self._in_list else 3
        if not self._start:
            return self._go(number, text)
        if not self._in_list:
            self._ended = self._ended or not text.strip()
            self._foreign = self._foreign or (not self._ended and bool(text.strip()))
            return (self._go(number, text) if text.strip() else 2) if self._ended else 0
        if text[:1].strip() and self._over(number):
            self._close()
            return 0
        self._line(number, text)
        return ALL

    def _go(self, number: int, text: str) -> int:
        """A line of a run that goes on; it is one once a test has a mark of Mocha's own."""
        found = _GOING.match(text)
        if found or _DOTS.match(text):
            self._going = [self._going[0] if self._going else number, number]
        if found and found["bad"] and int(found["number"]) == len(self._bad) + 1 <= MAX_FAILURES:
            self._bad.append((number, found["bad"]))
        return max(0, _GOING_LINES - (number - self._going[1])) if self._going else 0

    def _over(self, number: int) -> bool:
        """Messages may stand at the margin; what follows the last stack there is not Mocha's."""
        if not self._blocks or self._next <= self._counts.get("failed", 0):
            return False
        return bool(self._blocks[-1].stack) or number - self._last > 40

    def _line(self, number: int, text: str) -> None:
        found = _HEADER.match(text)
        if found and int(found["number"]) == self._next:
            self._next += 1
            self._last = number
            self._title = [found["name"]]
            block = JsBlock(found["name"], number, number)
            if len(self._blocks) < MAX_FAILURES:
                self._blocks.append(block)
            else:
                self._unlisted += 1
                self._blocks[-1] = block
            self._end_title(found["name"])
        elif self._title is not None and text.strip():
            self._title.append(text.strip())
            self._blocks[-1].end = self._last = number
            self._end_title(text.strip())
        elif self._blocks and text.strip() and self._next > 1:
            self._last = number
            self._blocks[-1].feed(number, text)

    def _end_title(self, part: str) -> None:
        """A title runs over lines until one ends in a colon."""
        if self._title is not None and (part.endswith(":") or len(self._title) > 20):
            self._blocks[-1].name = " ".join(self._title).removesuffix(":")
            self._title = None

    def _close(self) -> None:
        """Settle a run; only the empty line under its counts shows that no "N failing" was to come."""
        ended = self._ended
        if not self._start:
            return
        if self._printed():
            self._start, self._counts, self._title, self._in_list = 0, {}, None, False
            return
        counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0, **self._counts}
        add(self._totals, counts)
        ran = counts["passed"] + counts["skipped"]
        self._verdicts.append(
            Verdict.FAILED if counts["failed"] else Verdict.PASSED if ran and ended else Verdict.UNKNOWN
        )
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start, self._last))
        self._start, self._counts, self._title, self._in_list = 0, {}, None, False

    def _printed(self) -> bool:
        """True of counts that a test printed: Mocha never says "0 failing" and lists what fails."""
        failing = self._counts.get("failed")
        if self._foreign and not failing and not self._ended:
            return True
        if self._foreign and self._again and not failing:
            return True
        return failing == 0 or bool(failing and self._in_list and self._next == 1 and self._again)

    def finish(self, last: int) -> Findings:
        """Totals summed over runs."""
        self._close()
        cut = bool(self._going) and last - self._going[1] < _CLOSE_BY
        if not self._owned and not cut:
            return Findings()
        failures = FailureSet()
        for block in self._blocks:
            failures.add(block.failure("mocha", self._last), (block.start,))
        notes: list[str] = []
        if cut:
            self._verdicts.append(Verdict.INCOMPLETE)
            notes.append(CUT)
            self._owned.append(Lines(*self._going))
            for number, name in self._bad:
                block = Lines(number, number)
                failures.add(Failure(name, "failed", None, None, name, number, block, "mocha"))
        if len(failures) < self._totals.get("failed", 0):
            notes.append(f"{self._totals['failed'] - len(failures)} failures are counted but not shown")
            self._verdicts.append(Verdict.FAILED)
        return Findings(
            tools=("mocha",),
            failures=failures.items,
            totals=self._totals,
            verdict=worst(self._verdicts),
            owned=self._owned,
            notes=notes,
            duration_seconds=round(self._seconds, 3) if self._totals else None,
            unlisted=self._unlisted,
        )


FAMILY = Family(
    "mocha",
    Group.TESTS,
    (
        r"^  \d+ (?:passing|pending|failing)(?: \([\d.]+m?s?h?\))?$",
        r"^ {4,}(?:✔|✓) ",
        r"^    1\) ",
        r"^  (?:․|!|,)+$",
    ),
    MochaText,
)
