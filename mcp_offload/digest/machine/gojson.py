"""``go test -json`` (test2json events), with Go 1.24's build events."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ..family import CUT, MAX_TESTS, FailureSet, Family, Findings, Group, clip
from ..frames import whole
from ..model import Failure, Lines, Verdict
from .report import text_of

_KEPT_LINES: Final = 30
_WORDS: Final = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_PLACE: Final = re.compile(
    r"^\s*(?P<file>[\w./\\-]+\.go):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.*)"
)
_FRAME: Final = re.compile(r"^\t(?P<file>/\S+\.go):(?P<line>\d+)(?: \+0x|$)")
_NOISE: Final = re.compile(r"^\s*(?:=== |--- |FAIL|PASS|ok  |exit status|\?  |coverage:|# |testing: )")
_TELLING: Final = re.compile(r"(?i)\b(?:got|want|expected|error|fail|mismatch|unexpected|panic)|!=")
_PANIC: Final = re.compile(r"^(?:panic: |fatal error: |WARNING: DATA RACE|SIG[A-Z]+: )")


class _Case:
    """One test or package that is running: the lines it printed so far."""

    __slots__ = ("lines", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.lines: list[tuple[int, str]] = []

    def keep(self, number: int, text: str) -> None:
        if len(self.lines) < _KEPT_LINES and not _NOISE.match(text) and text.strip():
            self.lines.append((number, text.rstrip("\n")))

    def decisive(self) -> tuple[int, str, str | None, int | None, int | None] | None:
        """Line number, message and place of what says most: a panic, else the first placed line."""
        chosen: tuple[int, str, str | None, int | None, int | None] | None = None
        telling = False
        for at, (number, text) in enumerate(self.lines):
            if _PANIC.match(text.strip()):
                for _, later in self.lines[at:]:
                    frame = _FRAME.match(later)
                    if frame and "/src/runtime/" not in later and "/src/testing/" not in later:
                        message = text.strip().removesuffix(" [recovered]")
                        return number, message, frame["file"], whole(frame["line"]), None
                return number, text.strip().removesuffix(" [recovered]"), None, None, None
            found = _PLACE.match(text)
            if found and (chosen is None or (not telling and _TELLING.search(text))):
                telling = _TELLING.search(text) is not None
                column = whole(found["column"]) if found["column"] else None
                chosen = number, found["message"] or text.strip(), found["file"], whole(found["line"]), column
        if chosen is None and self.lines:
            chosen = self.lines[0][0], self.lines[0][1].strip(), None, None, None
        return chosen


class GoJson:
    """Follows the events; a package that fails without a failing test is an error."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], _Case] = {}
        self._failures: dict[tuple[str, str], Failure] = {}
        self._builds = FailureSet()
        self._counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        self._tests: dict[str, str] = {}
        self._open: set[str] = set()
        self._failed_in: set[str] = set()
        self._unlisted = 0
        self._seen = False
        self._owned: list[Lines] = []

    def feed(self, number: int, text: str) -> int:
        """Take one event."""
        try:
            event: Any = json.loads(text)
        except (ValueError, RecursionError):
            return 0
        action = text_of(event, "Action")
        if not action:
            return 0
        self._seen = True
        self._own(number)
        package, test = text_of(event, "Package"), text_of(event, "Test")
        if action == "build-output":
            self._build_output(number, text_of(event, "Output"))
        elif action == "output":
            self._case(package, test, number).keep(number, text_of(event, "Output"))
        elif action in _WORDS:
            self._end(number, package, test, _WORDS[action], failed_build=bool(text_of(event, "FailedBuild")))
        elif action in ("run", "start"):
            self._case(package, test, number)
        return 0

    def _own(self, number: int) -> None:
        """Lines between events are not the events': the compiler's errors stand there before Go 1.24."""
        if self._owned and number == self._owned[-1].end + 1:
            self._owned[-1] = Lines(self._owned[-1].start, number)
        elif len(self._owned) < 500:
            self._owned.append(Lines(number, number))

    def _case(self, package: str, test: str, number: int) -> _Case:
        self._open.add(package)
        case = self._running.get((package, test))
        if case is None:
            case = _Case(number)
            if len(self._running) < MAX_TESTS:
                self._running[package, test] = case
        return case

    def _build_output(self, number: int, text: str) -> None:
        found = _PLACE.match(text)
        if not found:
            return
        name = message = found["message"].rstrip()
        column = whole(found["column"]) if found["column"] else None
        block = Lines(number, number)
        where = (found["file"], whole(found["line"]))
        self._builds.add(Failure(name, "compile", *where, message, number, block, "go test -json", column))

    def _end(self, number: int, package: str, test: str, word: str, *, failed_build: bool) -> None:
        case = self._running.pop((package, test), None) or _Case(number)
        if test:
            self._counts[word] += 1
            key = f"{package}.{test}"
            if len(self._tests) < MAX_TESTS:
                self._tests[key] = word
            if word == "failed":
                self._failed_in.add(package)
                self._fail(number, package, test, case, "failed")
            return
        self._open.discard(package)
        if word != "failed" or package in self._failed_in:
            return
        self._counts["errors"] += 1
        if not (failed_build and len(self._builds)):
            self._fail(number, package, package, case, "error")

    def _fail(self, number: int, package: str, name: str, case: _Case, kind: str) -> None:
        if len(self._failures) >= MAX_TESTS:
            self._unlisted += 1
            return
        at, message, file, line, column = case.decisive() or (number, f"{name} failed", None, None, None)
        block = Lines(min(case.start, at), number)
        self._failures[package, name] = Failure(
            name, kind, file, line, clip(message, 1000), at, block, "go test -json", column
        )

    def finish(self, last: int) -> Findings:
        """Totals count subtests as go does; packages without an end make the run incomplete."""
        if not self._seen:
            return Findings()
        failures = sorted([*self._builds.items, *self._failures.values()], key=lambda f: f.log_line)
        if self._open:
            verdict = Verdict.INCOMPLETE
        elif failures:
            verdict = Verdict.FAILED
        else:
            ran = self._counts["passed"] + self._counts["skipped"]
            verdict = Verdict.PASSED if ran else Verdict.UNKNOWN
        notes = [f"{CUT}: no end seen of {len(self._open)} packages"] if self._open else []
        return Findings(
            tools=("go test -json",),
            failures=failures,
            totals=dict(self._counts),
            verdict=verdict,
            owned=self._owned,
            notes=notes,
            tests=self._tests,
            unlisted=self._unlisted,
        )


FAMILY: Final = Family(
    "go test -json",
    Group.TESTS,
    (r'^\{"(?:Time|Action|ImportPath)":"',),
    GoJson,
    full_lines=True,
)
