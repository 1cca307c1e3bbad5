"""PHPUnit 6 to 11 as text (its --teamcity and TAP output are other formats)."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, FailureSet, Family, Findings, Group
from ..model import Lines, Verdict
from .counts import worst
from .numbered import Item, Items

_START: Final = re.compile(r"^PHPUnit (?P<version>\d+\.\d\S*) by Sebastian Bergmann")
_LIST: Final = re.compile(r"^There (?:was|were) (?P<count>\d+) (?P<what>.*?)s?:$")
_HEADER: Final = re.compile(r"^(?P<number>\d+)\) (?P<name>\S.*)$")
_DOX: Final = re.compile(r"^ (?P<mark>[✔✘↩∅☢x]) (?P<name>\S.*?)(?: \[[\d.]+ ms\])?$")
# Source: PHPUnit's testdox printer draws these before the lines of a failure.
_BOX: Final = re.compile(r"^   [┐├│┊╵┴|] ?")
_FRAME: Final = re.compile(r"^(?P<file>(?:/|[A-Za-z]:\\|[\w.-]+/)\S*?\.\w+):(?P<line>\d+)$")
_OK: Final = re.compile(r"^OK \((?P<run>\d+) tests?, \d+ assertions?\)$")
_COUNTS: Final = re.compile(r"^Tests: (?P<run>\d+), Assertions: \d+(?P<rest>(?:, [\w ]+: \d+)*)\.$")
_COUNT: Final = re.compile(r"([A-Z][\w ]+): (\d+)")
_TIME: Final = re.compile(r"^Time: (?P<time>[\d:.]+)(?P<unit> \w+)?, Memory: ")
_BAD: Final = {"failure": "failed", "error": "error"}


class PhpunitText:
    """Reads the lists of failures and errors and the closing counts."""

    def __init__(self) -> None:
        self._items = Items()
        self._what = ""
        self._version = ""
        self._start = 0
        self._last = 0
        self._counts: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._seconds = 0.0
        self._open = False
        self._timed = False
        self._group = ""
        self._blank = 0
        self._titles: set[str] = set()
        self._owned: list[Lines] = []
        self._notes: list[str] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted from the banner to the counts."""
        if found := _START.match(text):
            self._version, self._open = found["version"], True
            self._start = self._last = number
        elif not self._open and not (_LIST.match(text) or _OK.match(text) or _COUNTS.match(text)):
            return 0
        elif found := _LIST.match(text):
            self._open = True
            self._start = self._start or number
            self._what, self._items.open, self._last = _BAD.get(found["what"], ""), None, number
        elif (self._timed or not self._version) and (found := _OK.match(text) or _COUNTS.match(text)):
            self._close(number, int(found["run"]), found.groupdict().get("rest") or "")
            return 0
        elif text.startswith("No tests executed"):
            self._verdicts.append(Verdict.ERROR)
            self._notes.append("no tests executed")
            self._end(number)
            return 0
        else:
            self._body(number, text)
        return ALL

    def _body(self, number: int, text: str) -> None:
        if found := _TIME.match(text):
            self._timed = True
            self._seconds += _duration(found["time"], found["unit"] or "")
        elif (found := _HEADER.match(text)) and self._what:
            self._items.begin(found["name"], number, self._what)
            self._last = number
        elif found := _DOX.match(text):
            self._dox(number, found["mark"], found["name"])
        elif self._items.open is not None:
            self._detail(self._items.open, number, _BOX.sub("", text).removeprefix(" "))
        elif not text:
            self._blank = number
        elif self._blank == number - 1 and not self._timed:
            self._group = text.strip()

    def _dox(self, number: int, mark: str, name: str) -> None:
        """A line of ``--testdox``; its failures stand under it, and once more in the summary."""
        self._items.open = None
        self._last = number
        title = f"{self._group} {name}".strip()
        if mark in "✘x" and not self._timed and title not in self._titles:
            self._titles.add(title)
            self._items.begin(title, number)

    def _detail(self, item: Item, number: int, text: str) -> None:
        if text in {"--", "FAILURES!", "ERRORS!"}:
            self._items.open, self._what = None, ""
        elif found := _FRAME.match(text):
            item.end = self._last = number
            item.frame(number, found["file"], int(found["line"]))
        elif text.strip() and not item.stack:
            item.end = self._last = number
            item.say(number, text.strip(), 2 if item.message.endswith(":") else 1)

    def _close(self, number: int, run: int, rest: str) -> None:
        stated = {key.strip(): int(value) for key, value in _COUNT.findall(rest)}
        failed, errors = stated.get("Failures", 0), stated.get("Errors", 0)
        skipped = stated.get("Skipped", 0) + stated.get("Incomplete", 0)
        counts = {
            "passed": max(0, run - failed - errors - skipped),
            "failed": failed,
            "errors": errors,
            "skipped": skipped,
        }
        if stated.get("Warnings"):
            counts["warnings"] = stated["Warnings"]
        for key, value in counts.items():
            self._counts[key] = self._counts.get(key, 0) + value
        self._verdicts.append(
            Verdict.FAILED if failed or errors else Verdict.PASSED if run else Verdict.UNKNOWN
        )
        self._end(number)

    def _end(self, number: int) -> None:
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start or number, number))
        self._start, self._open, self._what, self._items.open = 0, False, "", None
        self._timed = False

    def finish(self, last: int) -> Findings:
        """A run without its closing counts was cut or died."""
        if self._open:
            self._verdicts.append(Verdict.INCOMPLETE)
            self._notes.append(CUT)
            self._owned.append(Lines(self._start, self._last))
        if not self._owned:
            return Findings()
        failures = FailureSet()
        for item in self._items.all:
            failures.add(item.failure("phpunit"), (item.start,))
        return Findings(
            (f"phpunit {self._version}".strip(),),
            failures.items,
            self._counts,
            worst(self._verdicts),
            self._owned,
            notes=self._notes,
            duration_seconds=round(self._seconds, 3),
            unlisted=self._items.unlisted,
        )


def _duration(time: str, unit: str) -> float:
    total = 0.0
    for part in time.split(":"):
        total = total * 60 + float(part or 0)
    return total / 1000 if unit.strip() == "ms" else total


FAMILY = Family(
    "phpunit",
    Group.TESTS,
    (
        r"^PHPUnit \d+\.\d\S* by Sebastian Bergmann",
        r"^There (?:was|were) \d+ (?:failure|error)s?:$",
        r"^OK \(\d+ tests?, \d+ assertions?\)$",
        r"^Tests: \d+, Assertions: \d+.*\.$",
    ),
    PhpunitText,
)
