"""node:test's spec and dot reporters (its TAP output is read as TAP)."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, FailureSet, Family, Findings, Group
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
# A test while the run goes on; suites that failed stand behind their tests.
_GOING: Final = re.compile(r"^(?P<indent> *)(?P<mark>[✔✖﹣]) (?P<name>\S.*?) \(\d+\.\d+ms\)(?P<todo> #.*)?$")
_PARENT: Final = re.compile(r"^'?\d+ subtests? failed'?$")
_CLOSE_BY: Final = 400
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
        self._dot = False
        self._going: list[int] = []  # first and last line of a run that has no counts yet
        self._shown: list[tuple[int, JsBlock]] = []  # its failing tests by depth

    def feed(self, number: int, text: str) -> int:
        """Take a line; after "failing tests" everything to the end of the list."""
        if found := _INFO.match(text):
            if found["key"] == "tests":
                self._info, self._in_list = {}, False
                self._start = self._start or number
            self._going, self._shown = [], []
            self._info[found["key"]] = float(found["value"])
            self._last = number
            if found["key"] == "duration_ms" and "tests" in self._info:
                self._runs.append(self._info)
            return 2
        if (_LIST.match(text) and self._runs) or text == "Failed tests:":
            self._in_list, self._last, self._dot = True, number, text == "Failed tests:"
            self._start = self._start or number
            self._going, self._shown = [], []
            return ALL
        if self._in_list and self._dot:
            return self._dot_line(number, text)
        if self._in_list:
            return self._list_line(number, text)
        return self._go(number, text)

    def _go(self, number: int, text: str) -> int:
        """A line of a run that goes on."""
        found = _GOING.match(text)
        if found is None:
            if self._block is not None and (not text or text.startswith(" ")):
                self._block.feed(number, text)
                return ALL
            self._block = None
            return 0 if text else 1
        self._going = [self._going[0] if self._going else number, number]
        self._block = None
        if found["mark"] != "✖" or found["todo"]:
            return 1
        depth = len(found["indent"])
        inner = bool(self._shown) and self._shown[-1][0] > depth
        if not inner and len(self._shown) < MAX_FAILURES:
            self._block = JsBlock(found["name"], number, number)
            self._shown.append((depth, self._block))
        elif inner:
            self._shown[-1] = (depth, self._shown[-1][1])
        return ALL if self._block is not None else 1

    def _dot_line(self, number: int, text: str) -> int:
        """A line of the list with which the dot reporter ends."""
        found = _GOING.match(text)
        if found is not None and not found["indent"]:
            self._block = JsBlock(found["name"], number, number)
            if not found["todo"] and len(self._blocks) < MAX_FAILURES:
                self._blocks.append(self._block)
        elif text and not text.startswith(" "):
            self._in_list, self._block = False, None
            return 0
        elif self._block is not None:
            self._block.feed(number, text)
        self._last = number
        return ALL

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
        if self._going and last - self._going[1] < _CLOSE_BY:
            return self._cut(last)
        if not self._runs:
            return self._dots()
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

    def _cut(self, last: int) -> Findings:
        """A run that began and has no counts: what it has shown so far."""
        failures = FailureSet()
        for block in [*self._blocks, *(block for _, block in self._shown)]:
            failures.add(block.failure("node:test", block.end), (block.start,))
        owned = [
            Lines(
                self._start or self._going[0], max(self._going[1], *(f.block.end for f in failures.items), 0)
            )
        ]
        return Findings(("node:test",), failures.items, {}, Verdict.INCOMPLETE, owned, notes=[CUT])

    def _dots(self) -> Findings:
        """The dot reporter's list of what failed; it states no counts."""
        failures = FailureSet()
        for block in self._blocks:
            if not _PARENT.match(block.message):
                failures.add(block.failure("node:test", self._last), (block.start,))
        if not failures.items:
            return Findings()
        totals = {"failed": len(failures)}
        return Findings(
            ("node:test",), failures.items, totals, Verdict.FAILED, [Lines(self._start, self._last)]
        )


FAMILY = Family(
    "node:test",
    Group.TESTS,
    (
        r"^ℹ (?:tests|pass|fail|skipped|todo|cancelled|suites|duration_ms) \d",
        r"^✖ failing tests:$",
        r"^Failed tests:$",
        r"^ *(?:✔|✖) .*\(\d+\.\d+ms\)",
    ),
    NodeText,
)
