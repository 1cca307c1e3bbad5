"""node:test's spec reporter (its TAP output is read as TAP)."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..model import Lines, Verdict
from .counts import add, worst
from .jsblock import JsBlock

_INFO: Final = re.compile(
    r"^ℹ (?P<key>tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) "
    r"(?P<value>[\d.]+)$"
)
_LIST: Final = re.compile(r"^✖ failing tests:$")
_WHERE: Final = re.compile(r"^test at (?P<file>.+?):(?P<line>\d+):\d+$")
_FAIL: Final = re.compile(r"^ *✖ (?P<name>\S.*?)(?: \([\d.]+ms\))?(?P<todo> # TODO\b.*)?$")
_PARENT: Final = re.compile(r"^'?\d+ subtests? failed'?$")
_KEYS: Final = {
    "pass": "passed",
    "fail": "failed",
    "cancelled": "errors",
    "skipped": "skipped",
    "todo": "todo",
}


class NodeText:
    """Reads the closing counts and the list of failing tests under them."""

    def __init__(self) -> None:
        self._info: dict[str, float] = {}
        self._runs: list[dict[str, float]] = []
        self._blocks: list[JsBlock] = []
        self._block: JsBlock | None = None
        self._where: tuple[str, int, int] | None = None
        self._in_list = False
        self._start = 0
        self._last = 0

    def feed(self, number: int, text: str) -> int:
        """Take a line; after "failing tests" everything to the end of the list."""
        if found := _INFO.match(text):
            if found["key"] == "tests":
                self._info, self._in_list = {}, False
                self._start = self._start or number
            self._info[found["key"]] = float(found["value"])
            self._last = number
            if found["key"] == "duration_ms" and "tests" in self._info:
                self._runs.append(self._info)
            return 2
        if _LIST.match(text) and self._runs:
            self._in_list, self._last = True, number
            return ALL
        if not self._in_list:
            return 0 if text else 1
        return self._list_line(number, text)

    def _list_line(self, number: int, text: str) -> int:
        if found := _WHERE.match(text):
            self._where, self._block = (found["file"], int(found["line"]), number), None
        elif self._where is not None and (found := _FAIL.match(text)):
            file, line, start = self._where
            self._where = None
            if found["todo"]:
                self._block, self._last = None, number
                return ALL
            self._block = JsBlock(found["name"], start, number, file=file, line=line)
            if len(self._blocks) < MAX_FAILURES:
                self._blocks.append(self._block)
        elif not text or text.startswith(" "):
            if self._block is not None:
                self._block.feed(number, text)
        else:
            self._in_list = False
            return 0
        self._last = number
        return ALL

    def finish(self, last: int) -> Findings:
        """Totals of the last complete count of each run."""
        if not self._runs:
            return Findings()
        totals: dict[str, int] = {}
        verdicts: list[Verdict] = []
        for run in self._runs[-1:] if len(self._blocks) == int(self._runs[-1].get("fail", 0)) else self._runs:
            counts = {_KEYS[key]: int(value) for key, value in run.items() if key in _KEYS}
            add(totals, {"errors": 0, **counts})
            bad = counts.get("failed", 0) + counts.get("errors", 0)
            verdicts.append(
                Verdict.FAILED if bad else Verdict.PASSED if counts.get("passed") else Verdict.UNKNOWN
            )
        failures = FailureSet()
        surplus = len(self._blocks) - totals.get("failed", 0)
        for block in self._blocks:
            if surplus > 0 and _PARENT.match(block.message):
                surplus -= 1
                continue
            failures.add(block.failure("node:test", self._last), (block.start,))
        took = self._runs[-1].get("duration_ms", 0.0) / 1000
        owned = [Lines(self._start, self._last)]
        return Findings(
            ("node:test",), failures.items, totals, worst(verdicts), owned, duration_seconds=round(took, 3)
        )


FAMILY = Family(
    "node:test",
    Group.TESTS,
    (r"^ℹ (?:tests|pass|fail|skipped|todo|cancelled|suites|duration_ms) \d", r"^✖ failing tests:$"),
    NodeText,
)
