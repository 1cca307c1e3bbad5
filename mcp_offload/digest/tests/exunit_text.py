"""ExUnit (Elixir) as text."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, FailureSet, Family, Findings, Group
from ..model import Lines, Verdict
from .counts import worst
from .numbered import Item, Items

_HEADER: Final = re.compile(
    r"^  (?P<number>\d+)\) (?P<name>(?:test|doctest|property|feature) \S.* \([\w.]+\))$"
)
_PLACE: Final = re.compile(r"^     (?P<file>[^\s:]+\.exs?):(?P<line>\d+)$")
_FRAME: Final = re.compile(
    r"^ +(?:\([\w ./-]+\) )?(?P<file>[^\s:()]+\.(?:exs?|erl)):(?P<line>\d+): "
    r"(?P<function>\S.*)$"
)
_COUNTS: Final = re.compile(
    r"^(?:\d+ (?:doctest|propert(?:y|ie)|feature)s?, )*(?:(?P<run>\d+) tests?, )?"
    r"(?P<failed>\d+) failures?(?P<rest>(?:, \d+ \w+)*)"
    r"(?: \(\d+ excluded\))?$"
)
_ALL: Final = re.compile(r"(\d+) (doctest|propert|feature|test)")
_TIME: Final = re.compile(r"^Finished in (?P<time>[\d.]+) seconds?(?: \([\d.]+s .*\))?$")


class ExunitText:
    """Reads numbered failures and the closing counts."""

    def __init__(self) -> None:
        self._items = Items()
        self._start = 0
        self._last = 0
        self._finished = 0
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._seconds = 0.0
        self._since = 0

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted from the first failure to the counts."""
        if found := _TIME.match(text):
            self._finished, self._items.open = number, None
            self._seconds += float(found["time"])
            return 3
        if self._finished and number - self._finished <= 3 and (found := _COUNTS.match(text)):
            self._close(number, found, text)
            return 0
        if found := _HEADER.match(text):
            self._start = self._start or number
            if found["number"] == "1":
                del self._items.all[self._since :]  # an earlier first failure was printed by a test
            self._items.begin(found["name"], number)
        elif self._items.open is not None:
            self._detail(self._items.open, number, text)
        return ALL if self._items.open is not None else (2 if self._finished == number - 1 else 0)

    def _detail(self, item: Item, number: int, text: str) -> None:
        bare = text.strip()
        if not bare:
            return
        if not text.startswith("     "):
            return
        item.end = self._last = number
        if item.file is None and (found := _PLACE.match(text)):
            item.file, item.line = found["file"], int(found["line"])
        elif found := _FRAME.match(text):
            item.frame(number, found["file"], int(found["line"]), found["function"])
        elif not item.stack and bare not in {"stacktrace:", "code:"} and not bare.startswith("code: "):
            item.say(number, bare)

    def _close(self, number: int, found: re.Match[str], text: str) -> None:
        run = sum(int(count) for count, _ in _ALL.findall(text))
        failed = int(found["failed"])
        rest = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", found["rest"])}
        skipped = rest.get("skipped", 0)
        errors = rest.get("invalid", 0)
        excluded = rest.get("excluded", 0)
        counts = {
            "passed": max(0, run - failed - skipped - errors - excluded),
            "failed": failed,
            "errors": errors,
            "skipped": skipped,
        }
        for key, value in counts.items():
            self._totals[key] = self._totals.get(key, 0) + value
        self._verdicts.append(
            Verdict.FAILED if failed or errors else Verdict.PASSED if run else Verdict.UNKNOWN
        )
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start or self._finished, number))
        self._start = self._finished = 0
        self._since = len(self._items.all)

    def finish(self, last: int) -> Findings:
        """Totals summed over runs (umbrella projects have several)."""
        if self._start and self._items.all:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._owned.append(Lines(self._start, max(self._start, self._last)))
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("exunit"), (item.start,))
        return Findings(
            ("exunit",), failures.items, self._totals, worst(self._verdicts), self._owned,
            duration_seconds=round(self._seconds, 3), unlisted=self._items.unlisted,
        )  # fmt: skip


FAMILY = Family(
    "exunit",
    Group.TESTS,
    (
        r"^  \d+\) (?:test|doctest|property|feature) \S.* \([\w.]+\)$",
        r"^Finished in [\d.]+ seconds?",
    ),
    ExunitText,
)
