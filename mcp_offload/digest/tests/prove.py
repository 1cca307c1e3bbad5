"""``prove`` (Perl's TAP harness): the failing tests it lets through to the log, and its closing report."""

from __future__ import annotations

import re
from typing import Final

from ..family import CUT, FailureSet, Family, Findings, Group
from ..frames import whole
from ..model import Lines, Verdict
from .numbered import Item, Items

# Source: TAP::Formatter::Base (Test-Harness 3.x), summary().
_FILE: Final = re.compile(
    r"^(?P<file>\S+)\s+\(Wstat: (?P<wstat>\d+).* Tests: (?P<tests>\d+) Failed: (?P<failed>\d+)\)"
)
_END: Final = re.compile(r"^Files=\d+, Tests=(?P<tests>\d+), +(?P<seconds>\d+) wallclock")
_RESULT: Final = re.compile(r"^Result: (?P<word>PASS|FAIL|NOTESTS)$")
# Source: Test::Builder's diagnostics; those of sub-tests are indented, "(TODO)" marks expected ones.
_TEST: Final = re.compile(
    r"^ *#   Failed test(?: '(?P<name>.*)')?(?: at (?P<file>\S+) line (?P<line>\d+)\.)?$"
)
_PLACE: Final = re.compile(r"^ *#   at (?P<file>\S+) line (?P<line>\d+)\.$")
_SKIPPED: Final = re.compile(r"^ok \d+.*# (?i:skip)\b")
_SCRIPT: Final = re.compile(r"^\S+\.t \.+(?: .*)?$")


class Prove:
    """Keeps the failing tests, the table of failed files and the two closing lines."""

    def __init__(self) -> None:
        self._items = Items()
        self._files: list[tuple[Item, int]] = []
        self._failed = 0
        self._skipped = 0
        self._tests: int | None = None
        self._seconds: float | None = None
        self._word = ""
        self._scripts = False
        self._depth = 0
        self._depths: list[int] = []
        self._first = 0
        self._last = 0

    def feed(self, number: int, text: str) -> int:
        """Read a failing test, or one line of the closing report."""
        self._first = self._first or number
        self._last = number
        if _SCRIPT.match(text):
            self._scripts = True
        if found := _TEST.match(text):
            self._drop_summary()
            self._depth = len(text) - len(text.lstrip(" "))
            item = self._items.begin(found["name"] or f"line {number}", number)
            self._depths.append(self._depth)
            item.file, item.line = found["file"], whole(found["line"]) if found["line"] else None
            return 30
        if self._items.open is not None and text.startswith("# ", self._depth) and self._detail(number, text):
            return 30
        self._items.open = None
        if _SKIPPED.match(text):
            self._skipped += 1
        elif found := _FILE.match(text):
            self._file(number, found)
            return 6
        elif found := _END.match(text):
            self._tests, self._seconds = int(found["tests"]), float(found["seconds"])
        elif found := _RESULT.match(text):
            self._word = found["word"]
        elif self._files and text.startswith("  ") and number - self._files[-1][0].end == 1:
            self._files[-1][0].say(number, text.strip(), 4)
            self._files[-1][0].end = number
            return 6
        return 0

    def _detail(self, number: int, text: str) -> bool:
        """A line under a failing test; False at the end of what belongs to it."""
        item = self._items.open
        text_at = text[self._depth :]
        if item is None or not text_at.startswith("#    "):
            place = _PLACE.match(text)
            if item is None or place is None or item.file is not None:
                return False
            item.file, item.line = place["file"], whole(place["line"])
        else:
            item.say(number, text_at[1:].strip())
        item.end = number
        return True

    def _drop_summary(self) -> None:
        """Of a test that says nothing but that its sub-tests failed, these are listed."""
        items, depths = self._items.all, self._depths
        if len(items) > 1 and len(items) == len(depths) and not items[-1].message and depths[-2] > depths[-1]:
            items.pop()
            depths.pop()

    def _file(self, number: int, found: re.Match[str]) -> None:
        self._failed += int(found["failed"])
        item = Item(found["file"], number, end=number, file=found["file"])
        item.say(number, f"failed {found['failed']} of {found['tests']} tests;", 4)
        self._files.append((item, int(found["failed"])))

    def finish(self, last: int) -> Findings:
        """Totals from ``Files=``, verdict from ``Result:``; a file only where its tests do not explain it."""
        self._drop_summary()
        if self._tests is None and not self._word:
            return self._cut(last)
        failures = FailureSet()
        explained = len(self._items.all) == self._failed
        for item in self._items.all:
            failures.add(item.failure("prove"), (item.start,))
        for item, failed in self._files:
            if not (explained and failed and "Parse errors" not in item.message):
                failures.add(item.failure("prove"), (item.start,))
        totals = {"failed": self._failed}
        if self._skipped:
            totals["skipped"] = self._skipped
        if self._tests is not None:
            totals["passed"] = max(0, self._tests - self._failed - self._skipped)
        verdicts = {"PASS": Verdict.PASSED, "FAIL": Verdict.FAILED, "NOTESTS": Verdict.ERROR}
        return Findings(
            tools=("prove",),
            failures=sorted(failures.items, key=lambda failure: failure.log_line),
            totals=totals,
            verdict=verdicts.get(self._word, Verdict.INCOMPLETE),
            owned=[Lines(self._first, self._last)],
            duration_seconds=self._seconds,
            unlisted=failures.unlisted + self._items.unlisted,
        )

    def _cut(self, last: int) -> Findings:
        """What is known of a run that began and has no closing report."""
        if not self._scripts:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("prove"), (item.start,))
        owned = [Lines(self._first, last)]
        return Findings(("prove",), failures.items, verdict=Verdict.INCOMPLETE, owned=owned, notes=[CUT])


FAMILY = Family(
    "prove",
    Group.TESTS,
    (
        r"\(Wstat: \d+",
        r"^Files=\d+, Tests=\d+",
        r"^Result: (?:PASS|FAIL|NOTESTS)$",
        r"^ *#   Failed test\b",
        r"^\S+\.t \.+",
        r"^(?:not )?ok 1\b",
        r"^ok \d+.*# (?i:skip)",
    ),
    Prove,
)
