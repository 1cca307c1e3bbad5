"""unittest and what prints like it: nose, Django, trial's summary lines, zope.testrunner's blocks not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .pytrace import Trace

_RULE: Final = re.compile(r"^={70}$")
_DASHES: Final = re.compile(r"^-{70}$")
_HEADER: Final = re.compile(r"^(?P<what>ERROR|FAIL|UNEXPECTED SUCCESS): (?P<name>\S.*)$")
_VERBOSE: Final = re.compile(
    r"^ {0,2}(?P<name>[\w.]+ \([\w.<>]+\)|[\w.]+\.[\w.]+(?:\(.*\))?)(?P<sub> [\[(].*)? \.\.\. "
    r"(?P<rest>.*)$"
)
_DOCLINE: Final = re.compile(
    r" \.\.\. (?P<rest>ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$"
)
_NAMED: Final = re.compile(r"^(?P<name>[\w.]+ \([\w.<>]+\))$")
_RAN: Final = re.compile(r"^Ran (?P<count>\d+) tests? in (?P<seconds>[\d.]+)s$")
_END: Final = re.compile(r"^(?P<word>OK|FAILED|NO TESTS RAN)(?: \((?P<counts>[\w =,]+)\))?$")
_COUNT: Final = re.compile(r"([a-zA-Z ]+)=(\d+)")
_KEYS: Final = {
    "failures": "failed",
    "errors": "errors",
    "skipped": "skipped",
    "SKIP": "skipped",
    "expected failures": "xfailed",
    "unexpected successes": "xpassed",
}
_WORDS: Final = {
    "ok": "passed",
    "FAIL": "failed",
    "ERROR": "error",
    "expected failure": "xfailed",
    "unexpected success": "xpassed",
}
_FULL: Final = re.compile(r"^(?P<method>[\w.]+) \((?P<owner>[\w.<>]+)\)(?P<sub>.*)$")


def readable(name: str) -> tuple[str, str]:
    """One spelling for all versions, and the method: ``method params (module.Class)``.

    Python 3.11 repeats the method inside the brackets; sub-test parameters stand behind them.
    """
    found = _FULL.match(name)
    if not found:
        return name, name.split("(")[0].split(".")[-1]
    method, owner, sub = found["method"], found["owner"], found["sub"].strip()
    if owner.endswith("." + method):
        owner = owner[: -len(method) - 1]
    if owner in {"unittest.loader._FailedTest", "unittest.loader.ModuleImportFailure"}:
        return method, method
    return (f"{method} {sub} ({owner})" if sub else f"{method} ({owner})"), method


@dataclass(slots=True)
class _Block:
    what: str
    name: str
    start: int
    end: int = 0
    trace: Trace = field(default_factory=Trace)
    first: str = ""
    first_line: int = 0


class UnittestText:
    """Follows runs: result lines, blocks between rules, and the two closing lines."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._block: _Block | None = None
        self._since = 0
        self._rule = 0
        self._dashes = 0
        self._ran: tuple[int, float, int] | None = None
        self._start = 0
        self._last = 0
        self._pending = ""
        self._tests: dict[str, str] = {}
        self._owned: list[Lines] = []
        self._totals: dict[str, int] = {}
        self._loose: dict[str, int] = {}
        self._verdict = Verdict.UNKNOWN
        self._seconds = 0.0
        self._unlisted = 0
        self._notes: list[str] = []
        self._open = False
        self._bad: list[tuple[int, str, str]] = []  # line, name and word of -v lines of the open run

    def feed(self, number: int, text: str) -> int:
        """Take a line."""
        if self._ran is not None and text:
            self._ended(number, text)
        elif _RULE.match(text):
            self._rule = number
            self._begin(number)
        elif self._rule == number - 1 and (found := _HEADER.match(text)):
            self._open_block(number, found["what"], found["name"])
        elif _DASHES.match(text):
            self._dashes = number
        elif self._dashes == number - 1 and (found := _RAN.match(text)):
            self._block = None
            self._begin(number)
            self._ran = (int(found["count"]), float(found["seconds"]), number)
        elif self._block is not None:
            self._in_block(self._block, number, text)
        elif " ... " in text or self._pending or text in _WORDS:
            self._result(number, text)
        elif found := _NAMED.match(text):
            self._pending = found["name"]
            return max(1, ALL if self._open else 0)
        return ALL if self._open or self._pending else 3

    def _begin(self, number: int) -> None:
        if not self._open:
            self._open, self._start = True, self._start or number
        self._last = number

    def _open_block(self, number: int, what: str, name: str) -> None:
        self._last = number
        if len(self._blocks) >= MAX_FAILURES:
            self._unlisted += 1
            self._block = _Block(what, name, number)
            return
        self._block = _Block(what, name, number, number)
        self._blocks.append(self._block)

    def _in_block(self, block: _Block, number: int, text: str) -> None:
        if not text:
            return
        block.end = self._last = number
        block.trace.feed(number, text)
        if not block.first and not text.startswith(("Traceback", "Doctest: ")) and number > block.start + 1:
            block.first, block.first_line = text.strip(), number

    def _result(self, number: int, text: str) -> None:
        """A ``-v`` line, whose outcome may stand on a later line."""
        if found := _VERBOSE.match(text):
            self._begin(number)
            self._pending = readable(found["name"] + (found["sub"] or ""))[0]
            text = found["rest"]
        elif found := _DOCLINE.search(text):
            text = found["rest"]
            self._pending = readable(self._pending)[0]
        outcome = _WORDS.get(text.strip()) or ("skipped" if text.startswith("skipped ") else "")
        if outcome and self._pending:
            if len(self._tests) < MAX_TESTS:
                self._tests[self._pending] = outcome
            if outcome in {"failed", "error"} and len(self._bad) < MAX_FAILURES:
                self._bad.append((number, self._pending, outcome))
            self._pending = ""
            self._begin(number)

    def _ended(self, number: int, text: str) -> None:
        """The line after "Ran N tests"."""
        ran, self._ran = self._ran, None
        found = _END.match(text)
        if ran is None or found is None or number - ran[2] > 4:
            return
        self._last = number
        counts: dict[str, int] = {}
        for key, value in _COUNT.findall(found["counts"] or ""):
            word = str(key).strip()
            counts[_KEYS.get(word, word)] = int(value)
        shown = [block for block in self._blocks[self._since :] if block.what != "UNEXPECTED SUCCESS"]
        totals = self._sum(ran[0], counts, shown)
        if counts.get("failed", 0) + counts.get("errors", 0) != len(shown) and not self._unlisted:
            self._loose = totals  # perhaps printed by a test: counts only if no better one follows
            self._loose["_ran"] = ran[0]
            self._note_verdict(found["word"], ran[0], loose=True)
            return
        self._loose = {}
        for key, value in totals.items():
            self._totals[key] = self._totals.get(key, 0) + value
        self._seconds += ran[1]
        self._note_verdict(found["word"], ran[0], loose=False)
        self._close(number)

    def _sum(self, ran: int, counts: dict[str, int], shown: list[_Block]) -> dict[str, int]:
        bad = {_case(block.name) for block in shown if not block.name.startswith(("setUp", "tearDown"))}
        others = sum(counts.get(key, 0) for key in ("skipped", "xfailed", "xpassed"))
        totals = {"passed": max(0, ran - len(bad) - others), "failed": 0, "errors": 0, "skipped": 0}
        return {**totals, **{key: value for key, value in counts.items() if key in _KEYS.values()}}

    def _note_verdict(self, word: str, ran: int, *, loose: bool) -> None:
        verdict = {"OK": Verdict.PASSED, "FAILED": Verdict.FAILED}.get(word, Verdict.ERROR)
        if verdict is Verdict.PASSED and not ran:
            verdict = Verdict.UNKNOWN
        if not ran:
            self._notes.append("no tests ran")
        if loose and self._verdict is not Verdict.UNKNOWN:
            return
        if self._verdict is not Verdict.FAILED and (verdict is not Verdict.UNKNOWN or loose):
            self._verdict = verdict

    def _close(self, number: int) -> None:
        if len(self._owned) < 500:
            self._owned.append(Lines(self._start, number))
        self._since, self._bad = len(self._blocks), []
        self._open, self._start, self._block, self._pending = False, 0, None, ""

    def finish(self, last: int) -> Findings:
        """Totals over all runs; a run that is open was cut."""
        if self._loose:
            ran = self._loose.pop("_ran", 0)
            for key, value in self._loose.items():
                self._totals[key] = self._totals.get(key, 0) + value
            self._close(self._last)
            self._notes.append(f"the closing line states other counts than are shown ({ran} tests ran)")
        cut = self._open and (len(self._blocks) > self._since or len(self._tests) > 0)
        if not self._owned and not cut:
            return Findings()
        failures = FailureSet()
        for block in self._blocks:
            if block.what != "UNEXPECTED SUCCESS":
                failures.add(_failure(block), (block.start,))
            else:
                self._notes.append(f"unexpected success: {readable(block.name)[0]}")
        if cut:
            self._owned.append(Lines(self._start, self._last))
            for number, name, word in self._bad if self._since == len(self._blocks) else ():
                block = Lines(number, number)
                failures.add(Failure(name, word, None, None, word.upper(), number, block, "unittest"))
            self._notes.append(CUT)
        verdict = Verdict.FAILED if failures.items else self._verdict
        if cut:
            verdict = Verdict.INCOMPLETE
        return Findings(
            tools=("unittest",),
            failures=failures.items,
            totals=self._totals,
            verdict=verdict,
            owned=self._owned,
            notes=self._notes[:10],
            tests=self._tests,
            duration_seconds=round(self._seconds, 3) if self._totals else None,
            unlisted=self._unlisted,
        )


def _case(name: str) -> str:
    """The test a block belongs to: sub-tests of one test share it."""
    found = _FULL.match(name)
    return f"{found['method']} ({found['owner']})" if found else name


def _failure(block: _Block) -> Failure:
    name, method = readable(block.name)
    trace = block.trace
    place = trace.place(method)
    message, line = (
        (trace.message, trace.line) if trace.message else (block.first or block.what, block.first_line)
    )
    return Failure(
        name=name,
        kind="error" if block.what == "ERROR" else "failed",
        file=place[0] if place else None,
        line=place[1] if place else None,
        message=message,
        log_line=line or block.start,
        block=Lines(block.start, block.end),
        tool="unittest",
        traceback=Lines(trace.started, trace.ended) if trace.started and trace.ended else None,
        output=Lines(trace.ended + 1, block.end) if trace.ended and block.end > trace.ended else None,
    )


FAMILY = Family(
    "unittest",
    Group.TESTS,
    (
        r"^={70}$",
        r"^-{70}$",
        r"^\w+ \([\w.<>]+\)(?: [\[(].*)? \.\.\. ",
        r"^test\w* \([\w.]+\)$",
        r"^[\w.]+\.\w+\(.*\) \.\.\. (?:ok|FAIL|ERROR)$",
    ),
    UnittestText,
)
