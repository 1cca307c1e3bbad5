"""Minitest (plain and under Rails) and test-unit as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .counts import worst
from .numbered import Item, Items

_KIND: Final = re.compile(r"^(?: {1,4}\d+\) )?(?P<kind>Failure|Error|Skipped):$")
_UNIT: Final = re.compile(
    r"^(?P<kind>Failure|Error|Omission|Pending): (?P<name>test[^(:]*\([\w:]+\))"
    r"(?:: (?P<message>.*)|:)?$"
)
_RULE: Final = re.compile(r"^={20,}$")
# Source: Minitest's verbose reporter, while the run goes on.
_GOING: Final = re.compile(r"^(?P<name>[\w:]+#\S+) = [\d.]+ s = (?P<mark>[EF])$")
_SNIPPET: Final = re.compile(r"^ *(?:=> )?\d+: |^={20,}$")
_NAME: Final = re.compile(
    r"^(?P<name>[\w:]+#\S.*?)(?: \[(?P<file>[^\]]+?):(?P<line>\d+)\])?(?P<colon>:?)"
    r"(?: \[.*\])?$"
)
_FRAME: Final = re.compile(
    r"^ *(?P<file>(?:[A-Za-z]:)?[^\s:()]+\.r[bu]):(?P<line>\d+)(?::in [`']"
    r"(?P<function>.*)')?:?$"
)
_COUNTS: Final = re.compile(
    r"^(?P<run>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors"
    r"(?:, (?P<skipped>\d+) skips)?(?:, (?P<pending>\d+) pendings, "
    r"(?P<omitted>\d+) omissions, \d+ notifications)?\.?$"
)
_TIME: Final = re.compile(r"^Finished in (?P<time>[\d.]+)(?:s| seconds)")


class MinitestText:
    """Reads failure blocks and the closing counts."""

    def __init__(self) -> None:
        self._items = Items()
        self._kind = ""
        self._kind_line = 0
        self._start = 0
        self._last = 0
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._seconds = 0.0
        self._timed = False
        self._running = False
        self._printed: dict[str, int] = {}
        self._going: list[tuple[int, str, str]] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line; failure blocks are followed to the counts."""
        if (found := _COUNTS.match(text)) and (self._timed or not self._items.open):
            self._close(number, found)
            return 0
        if text == "# Running:":
            self._start, self._running = self._start or number, True
            return 0
        if found := _KIND.match(text):
            self._kind, self._kind_line, self._items.open = found["kind"], number, None
            return 2
        if found := _UNIT.match(text):
            self._kind, self._kind_line = found["kind"], number
            self._begin(number, found["name"])
            if self._items.open is not None and found["message"]:
                self._items.open.say(number, found["message"], 1)
        elif self._kind and self._kind_line == number - 1 and (found := _NAME.match(text)):
            self._begin(number - 1, found["name"])
            if self._items.open is not None and found["file"]:
                self._items.open.file, self._items.open.line = found["file"], int(found["line"])
        elif found := _TIME.match(text):
            self._seconds += float(found["time"])
            self._timed = True
            return 4
        else:
            self._other(number, text)
        return ALL if self._items.open is not None else 0

    def _other(self, number: int, text: str) -> None:
        if self._items.open is not None:
            if self._items.open.stack and _RULE.match(text):
                self._items.open = None  # test-unit ends a block so; progress marks follow
            else:
                self._detail(self._items.open, number, text)
        elif self._running and (found := _GOING.match(text)) and len(self._going) < MAX_FAILURES:
            self._going.append((number, found["name"], "error" if found["mark"] == "E" else "failed"))

    def _begin(self, number: int, name: str) -> None:
        self._start = self._start or number
        self._last = number
        if self._kind in {"Failure", "Error"}:
            self._items.begin(name, number, "error" if self._kind == "Error" else "failed")

    def _detail(self, item: Item, number: int, text: str) -> None:
        bare = text.strip()
        if not bare:
            if item.message and item.kind == "failed":
                item.parts = 99
            return
        item.end = self._last = number
        if found := _FRAME.match(text):
            item.frame(number, found["file"], int(found["line"]), found["function"] or "")
        elif not _SNIPPET.match(text) and not bare.startswith(("rails test ", "bin/rails test", "rake test")):
            item.say(number, bare, 3 if item.kind == "failed" else 1)

    def _close(self, number: int, found: re.Match[str]) -> None:
        self._start = self._start or number
        run, failed, errors, skips, pending, omitted = (
            int(found[key] or 0) for key in ("run", "failed", "errors", "skipped", "pending", "omitted")
        )
        skipped = skips + pending + omitted
        counts = {
            "passed": max(0, run - failed - errors - skipped),
            "failed": failed,
            "errors": errors,
            "skipped": skipped,
        }
        if not self._timed:  # perhaps printed by a test: counts only where nothing better follows
            self._printed = counts
            return
        for key, value in counts.items():
            self._totals[key] = self._totals.get(key, 0) + value
        bad = Verdict.FAILED if failed or errors else Verdict.PASSED if run else Verdict.UNKNOWN
        self._verdicts.append(bad)
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start, number))
        self._start, self._items.open, self._kind, self._timed = 0, None, "", False
        self._running, self._going = False, []

    @staticmethod
    def _bad(counts: dict[str, int]) -> int:
        return counts["failed"] + counts["errors"]

    def finish(self, last: int) -> Findings:
        """Totals summed over runs."""
        if self._running:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(self._start, max(self._start, self._last)))
        elif self._printed and not self._totals and self._bad(self._printed) >= len(self._items.all):
            self._totals = self._printed
            self._verdicts.append(Verdict.FAILED if self._bad(self._printed) else Verdict.UNKNOWN)
            self._owned.append(Lines(self._start or last, max(self._start, self._last) or last))
        elif self._items.all and not self._totals:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(self._start, self._last))
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("minitest"), (item.start,))
        for number, name, kind in self._going if not self._items.all else ():
            block = Lines(number, number)
            failures.add(Failure(name, kind, None, None, name, number, block, "minitest"))
        return Findings(
            ("minitest",), failures.items, self._totals, worst(self._verdicts), self._owned,
            notes=[CUT] if Verdict.INCOMPLETE in self._verdicts else [],
            duration_seconds=round(self._seconds, 3) if self._totals else None,
            unlisted=self._items.unlisted,
        )  # fmt: skip


FAMILY = Family(
    "minitest",
    Group.TESTS,
    (
        r"^(?: {1,4}\d+\) )?(?:Failure|Error):$",
        r"^(?:Failure|Error): test\S*\([\w:]+\)",
        r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors",
        r"^Finished in [\d.]+(?:s| seconds)",
        r"^# Running:$",
        r"^[\w:]+#\S+ = [\d.]+ s = (?:E|F)$",
    ),
    MinitestText,
)
