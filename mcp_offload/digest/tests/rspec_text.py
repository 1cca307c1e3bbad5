"""RSpec 2 and 3 as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .counts import seconds, worst
from .numbered import Item, Items

_HEADER: Final = re.compile(r"^ {1,4}(?P<number>\d+)\) (?P<name>\S.*)$")
_SUB: Final = re.compile(r"^ +\d+\.\d+\) (?P<rest>.*)$")
_CODE: Final = re.compile(r"^ *Failure/Error:(?P<code>.*)$")
_FRAME: Final = re.compile(
    r"^ *# (?P<file>(?:\./|/|[A-Za-z]:)?[^\s:]+):(?P<line>\d+)(?::in [`']"
    r"(?P<function>.*)')?$"
)
_OUTSIDE: Final = re.compile(
    r"^An error occurred (?P<what>while loading|in an? `[^`]+` hook)(?: "
    r"(?P<file>\S+?)\.?)?(?: - Did you mean\?)?$"
)
_COUNTS: Final = re.compile(
    r"^(?P<run>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"
    r"(?:, (?P<errors>\d+) errors? occurred outside of examples)?$"
)
# Source: RSpec's documentation formatter, while the run goes on.
_GOING: Final = re.compile(r"^ +(?P<name>\S.*) \(FAILED - (?P<number>\d+)\)$")
_CLOSE_BY: Final = 400
_TIME: Final = re.compile(r"^Finished in (?P<time>.*?) ?(?:seconds?|minutes?)?(?: \(files took .*\))?$")


class RspecText:
    """Reads numbered failures and the closing counts."""

    def __init__(self) -> None:
        self._items = Items()
        self._section = ""
        self._next = 1
        self._code = False
        self._start = 0
        self._last = 0
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._seconds = 0.0
        self._since = 0
        self._timed = False
        self._going: list[tuple[int, str]] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted from the list of failures to the counts."""
        if text in {"Failures:", "Pending:"} or text.startswith("Pending: (Failures listed here"):
            self._section, self._next, self._items.open = text.split(":")[0], 1, None
            self._going = []
            if self._section == "Failures":
                del self._items.all[self._since :]  # an earlier list of this run was printed by an example
            self._touch(number)
        elif (found := _COUNTS.match(text)) and self._timed:
            self._close(number, found)
            return 0
        elif found := _OUTSIDE.match(text):
            self._outside(number, found["what"], found["file"])
        elif text.startswith("Finished in "):
            self._going = []
            self._section, self._items.open, self._timed = "", None, True
            self._touch(number)
            if found := _TIME.match(text):
                self._seconds += _duration(text)
        elif (
            self._section == "Failures"
            and (found := _HEADER.match(text))
            and int(found["number"]) == self._next
        ):
            self._next += 1
            self._items.begin(found["name"], number)
            self._code = False
            self._last = number
        else:
            self._other(number, text)
        return ALL if self._section or self._items.open or text.startswith("Finished in ") else 0

    def _other(self, number: int, text: str) -> None:
        if self._items.open is not None:
            self._detail(self._items.open, number, text)
        elif (found := _GOING.match(text)) and int(found["number"]) == len(self._going) + 1 <= MAX_FAILURES:
            self._going.append((number, found["name"]))

    def _touch(self, number: int) -> None:
        self._start = self._start or number
        self._last = number

    def _outside(self, number: int, what: str, file: str | None) -> None:
        self._touch(number)
        place = (file or "").rstrip(".")
        item = self._items.begin(f"{what.removeprefix('while ')} {place}".strip(), number, "error")
        item.file = place or None
        self._section = "outside"

    def _detail(self, item: Item, number: int, text: str) -> None:
        bare = text.strip()
        if not bare:
            self._code = False
            return
        item.end = self._last = number
        if found := _FRAME.match(text):
            item.frame(number, found["file"], int(found["line"]), found["function"] or "")
        elif _CODE.match(text) or _SUB.match(text):
            self._code = not item.message
        elif (self._code and text.startswith("       ") and item.kind == "failed" and not item.message) or (
            not item.stack and not bare.startswith(("Got ", "rspec ./", "(compared using", "Diff:", "@@"))
        ):
            item.say(number, bare)

    def _close(self, number: int, found: re.Match[str]) -> None:
        self._touch(number)
        run, failed, skipped, errors = (
            int(found[key] or 0) for key in ("run", "failed", "skipped", "errors")
        )
        counts = {
            "passed": max(0, run - failed - skipped),
            "failed": failed,
            "errors": errors,
            "skipped": skipped,
        }
        for key, value in counts.items():
            self._totals[key] = self._totals.get(key, 0) + value
        bad = (
            Verdict.FAILED
            if failed
            else Verdict.ERROR
            if errors
            else Verdict.PASSED
            if run
            else Verdict.UNKNOWN
        )
        self._verdicts.append(bad)
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start, number))
        self._start, self._section, self._items.open = 0, "", None
        self._since, self._timed = len(self._items.all), False

    def finish(self, last: int) -> Findings:
        """Totals summed over runs."""
        if self._start and self._items.all:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(self._start, self._last))
        going = self._going if self._going and last - self._going[-1][0] < _CLOSE_BY else []
        if going:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(going[0][0], going[-1][0]))
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("rspec"), (item.start,))
        for number, name in going:
            block = Lines(number, number)
            failures.add(Failure(name, "failed", None, None, name, number, block, "rspec"))
        notes = ["no examples ran"] if Verdict.UNKNOWN in self._verdicts else []
        notes += [CUT] if Verdict.INCOMPLETE in self._verdicts else []
        return Findings(
            tools=("rspec",),
            failures=failures.items,
            totals=self._totals,
            verdict=worst(self._verdicts),
            owned=self._owned,
            notes=notes,
            duration_seconds=round(self._seconds, 3) if self._totals else None,
            unlisted=self._items.unlisted,
        )


def _duration(text: str) -> float:
    head = text.split("(")[0]
    minutes = re.search(r"([\d.]+) minutes?", head)
    second = re.search(r"([\d.]+) seconds?", head)
    if not minutes and not second:
        return seconds(head) or 0.0
    return (float(minutes[1]) * 60 if minutes else 0.0) + (float(second[1]) if second else 0.0)


FAMILY = Family(
    "rspec",
    Group.TESTS,
    (
        r"^Failures:$",
        r"^Pending:(?: \(Failures listed here.*)?$",
        r"^\d+ examples?, \d+ failures?",
        r" \(FAILED - \d+\)$",
        r"^An error occurred (?:while loading|in an? `)",
        r"^Finished in [\d.]+ (?:seconds?|minutes?).*\(files took",
    ),
    RspecText,
)
