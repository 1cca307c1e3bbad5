"""``cargo test`` (libtest) and ``cargo nextest`` as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..family import ALL, CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Section, Verdict
from .counts import add, worst

_TARGET: Final = re.compile(
    r"^ +(?:Running (?:unittests )?(?P<file>\S+\.rs) \(|Running `?(?P<binary>\S+)"
    r"|Doc-tests (?P<doc>\S+))"
)
_RUNNING: Final = re.compile(r"^running (?P<count>\d+) tests?$")
_TEST: Final = re.compile(
    r"^test (?P<name>\S.*?)(?: - (?:should panic|compile(?: fail)?))? \.\.\. (?P<word>ok"
    r"|FAILED|ignored|bench)?(?P<rest>.*)$"
)
_BLOCK: Final = re.compile(r"^---- (?P<name>.+?) (?:stdout|stderr) ----$")
_PANIC: Final = re.compile(
    r"^thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at (?:'(?P<old>.*)', )?"
    r"(?P<file>[^:'\s]+\.rs):(?P<line>\d+):\d+:?$"
)
_PANIC_OPEN: Final = re.compile(r"^thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at '(?P<old>.*)$")
_OLD_END: Final = re.compile(r"', (?P<file>[^:'\s]+\.rs):(?P<line>\d+):\d+$")
_NOTE: Final = re.compile(r"^note: test did not panic as expected(?: at (?P<file>\S+?):(?P<line>\d+):\d+)?")
_DOC: Final = re.compile(r"^(?P<file>\S+\.rs) - .*\(line (?P<line>\d+)\)")
_COMPILE: Final = re.compile(r"^ *--> (?P<file>\S+?):(?P<line>\d+):\d+$")
_RESULT: Final = re.compile(
    r"^test result: (?P<word>ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; "
    r"(?P<skipped>\d+) ignored;"
    r"(?: (?P<measured>\d+) measured;)?.*?(?:finished in (?P<time>[\d.]+)s)?$"
)
_CRASH: Final = re.compile(
    r"process didn't exit successfully: (?P<what>`.*?` )?\((?P<how>signal: .*"
    r"|exit code: 0x.*)\)"
)
_NEXTEST: Final = re.compile(
    r"^ +(?P<word>PASS|FAIL|SIGSEGV|SIGABRT|TIMEOUT|SLOW|LEAK|FLAKY.*?"
    r"|TRY \d+ \w+) \[ *[\d.]+s\] (?:\( *\d+/\d+\) )?(?P<name>\S.*)$"
)
_SUMMARY: Final = re.compile(
    r"^ +Summary \[ *(?P<time>[\d.]+)s\] +(?P<run>[\d/]+) tests? run: (?P<counts>.*)$"
)
_NEXT_COUNT: Final = re.compile(r"(\d+) (passed|failed|skipped|timed out|exec failed|flaky)")
_NEXT_KEYS: Final = {
    "passed": "passed",
    "failed": "failed",
    "timed out": "failed",
    "exec failed": "failed",
    "skipped": "skipped",
}
_WORDS: Final = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


@dataclass(slots=True)
class _Block:
    name: str
    start: int
    end: int = 0
    file: str | None = None
    line: int | None = None
    message: str = ""
    at: int = 0
    wanted: bool = False
    exact: bool = False
    loose: str = ""
    loose_at: int = 0


class CargoText:
    """Follows test binaries one after the other."""

    def __init__(self) -> None:
        self._source: str | None = None
        self._running = False
        self._count = 0
        self._start = 0
        self._last = 0
        self._blocks: list[_Block] = []
        self._block: _Block | None = None
        self._panics: dict[str, _Block] = {}
        self._waiting = ""
        self._names: list[tuple[str, int]] = []
        self._in_names = False
        self._failed: dict[str, int] = {}
        self._tests: dict[str, str] = {}
        self._totals: dict[str, int] = {}
        self._verdicts: list[Verdict] = []
        self._owned: list[Lines] = []
        self._sections: list[Section] = []
        self._seconds = 0.0
        self._crashes: list[Failure] = []
        self._unlisted = 0
        self._notes: list[str] = []
        self._nextest = False

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted from "running N tests" to its result."""
        if text.startswith("test result: ") and (found := _RESULT.match(text)):
            self._result(number, found)
        elif self._nextest and self._inner(number, text):
            pass  # what libtest prints of the one test that nextest ran
        elif found := _RUNNING.match(text):
            self._begin(number)
            self._count = int(found["count"])
        elif text.startswith("---- ") and (found := _BLOCK.match(text)):
            self._open(number, found["name"])
        elif text.startswith("thread '"):
            self._panic(number, text)
        elif self._block is not None:
            self._detail(self._block, number, text)
        elif self._running:
            self._line(number, text)
        else:
            self._outside(number, text)
        busy = self._running or self._block is not None or (self._nextest and not self._verdicts)
        return ALL if busy else 0

    def _inner(self, number: int, text: str) -> bool:
        if _RUNNING.match(text) or _TEST.match(text) or text == "failures:":
            self._block = None
            return True
        return False

    def _begin(self, number: int) -> None:
        if self._running:
            self._verdicts.append(Verdict.INCOMPLETE)
        self._start, self._last, self._running, self._in_names = number, number, True, False
        self._block, self._waiting = None, ""

    def _line(self, number: int, text: str) -> None:
        if text == "failures:":
            self._in_names = True
        elif self._in_names and text.startswith("    ") and text.strip():
            if len(self._names) < MAX_FAILURES:
                self._names.append((text.strip(), number))
        elif found := _TEST.match(text):
            self._last = number
            name, word = found["name"], found["word"] or ""
            if not word:
                self._waiting = name
            self._outcome(name, word, number)
        elif self._waiting and text in _WORDS:
            self._outcome(self._waiting, text, number)
        elif found := _CRASH.search(text):
            self._crash(number, found["how"])

    def _outcome(self, name: str, word: str, number: int) -> None:
        outcome = _WORDS.get(word)
        if outcome is None:
            return
        self._waiting = ""
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = outcome
        if outcome == "failed" and len(self._failed) < MAX_FAILURES:
            self._failed[name] = number

    def _outside(self, number: int, text: str) -> None:
        if text.lstrip().startswith("Nextest run ID "):
            self._nextest, self._start = True, self._start or number
        elif found := _TARGET.match(text):
            self._source = found["file"]
        elif found := _CRASH.search(text):
            self._crash(number, found["how"])
        elif found := _SUMMARY.match(text):
            self._next_summary(number, found)
        elif found := _NEXTEST.match(text):
            self._nextest = True
            self._start = self._start or number
            self._last = number
            word, name = found["word"], found["name"]
            if word == "PASS":
                self._tests[name] = "passed"
            elif word in {"FAIL", "SIGSEGV", "SIGABRT", "TIMEOUT"}:
                self._tests[name] = "failed"
                self._failed.setdefault(name, number)

    def _next_summary(self, number: int, found: re.Match[str]) -> None:
        counts = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        for count, word in _NEXT_COUNT.findall(found["counts"]):
            if key := _NEXT_KEYS.get(word):
                counts[key] += int(count)
        add(self._totals, counts)
        self._seconds += float(found["time"])
        ran = counts["passed"]
        self._verdicts.append(
            Verdict.FAILED if counts["failed"] else Verdict.PASSED if ran else Verdict.UNKNOWN
        )
        self._owned.append(Lines(self._start or number, number))

    def _crash(self, number: int, how: str) -> None:
        name = self._waiting or self._source or "test binary"
        self._crashes.append(
            Failure(name, "crash", None, None, how, number, Lines(number, number), "cargo test")
        )
        self._verdicts.append(Verdict.FAILED)
        self._running = False

    # --- blocks -----------------------------------------------------------------------------------

    def _open(self, number: int, name: str) -> None:
        self._last = number
        block = _Block(name, number, number)
        self._in_names = False
        if len(self._blocks) < MAX_FAILURES:
            self._blocks.append(block)
        else:
            self._unlisted += 1
        self._block = block

    def _detail(self, block: _Block, number: int, text: str) -> None:
        if text == "failures:":
            self._block, self._in_names = None, True
            return
        if not text:
            return
        if self._panics.get(block.name) is block:
            self._block = None  # --nocapture: only its message belongs to it
        block.end = self._last = number
        _say(block, number, text)

    def _panic(self, number: int, text: str) -> None:
        found = _PANIC.match(text) or _PANIC_OPEN.match(text)
        if not found:
            return
        block = self._block
        if block is None:
            if len(self._panics) >= MAX_FAILURES:
                return
            block = self._panics.setdefault(found["thread"], _Block(found["thread"], number, number))
            self._block = block if self._running or self._nextest else None
        exact = found["thread"] == block.name
        if block.message and block.at and (block.exact or not exact):
            return  # the first panic of a test is its cause; that of its own thread before others
        place = found.groupdict()
        block.message, block.at, block.exact = "", 0, exact
        block.end = number
        if place.get("file"):
            block.file, block.line = place["file"], int(place["line"])
        if place["old"] is not None:
            block.message, block.at, block.wanted = place["old"], number, "file" not in place
        else:
            block.wanted = True

    # --- the result -------------------------------------------------------------------------------

    def _result(self, number: int, found: re.Match[str]) -> None:
        counts = {key: int(found[key]) for key in ("passed", "failed", "skipped")}
        if (
            self._nextest
            or not self._running
            or sum(counts.values()) + int(found["measured"] or 0) != self._count
        ):
            return  # printed by a test
        add(self._totals, {**counts, "errors": 0})
        ran = counts["passed"] + counts["failed"]
        verdict = Verdict.FAILED if found["word"] == "FAILED" else Verdict.PASSED if ran else Verdict.UNKNOWN
        self._verdicts.append(verdict)
        self._seconds += float(found["time"] or 0)
        if len(self._owned) < 1000:
            self._owned.append(Lines(self._start, number))
            self._sections.append(Section(self._source or "tests", "target", Lines(self._start, number)))
        self._finish_binary()
        self._running, self._block, self._in_names = False, None, False

    def _finish_binary(self) -> None:
        """Failures named in the list that have no block of their own."""
        shown = {block.name for block in self._blocks}
        for name, number in self._names or list(self._failed.items()):
            if name not in shown and len(self._blocks) < MAX_FAILURES:
                self._blocks.append(self._panicked(name) or _Block(name, self._failed.get(name, number)))
                shown.add(name)
        for block in self._blocks:
            if block.file is None:
                block.file = self._source
            if doc := _DOC.match(block.name):
                block.file, block.line = doc["file"], int(doc["line"])
        self._names, self._panics, self._failed = [], {}, {}

    def _panicked(self, name: str) -> _Block | None:
        """The panic of a test's thread; nextest puts the crate before the name."""
        block = self._panics.get(name) or self._panics.get(name.split(" ")[-1])
        if block is not None:
            block.name = name
        return block

    def finish(self, last: int) -> Findings:
        """Totals summed over binaries; one without its result line was cut or killed."""
        if self._running or (self._nextest and not self._verdicts):
            self._verdicts.append(Verdict.INCOMPLETE)
            self._notes.append(CUT)
            self._owned.append(Lines(self._start, self._last))
            self._finish_binary()
        elif self._nextest:
            self._finish_binary()
        if not self._verdicts:
            return Findings()
        failures = FailureSet()
        for block in self._blocks:
            failures.add(_failure(block), (block.name, block.start))
        for crash in self._crashes:
            failures.add(crash)
        said = [verdict for verdict in self._verdicts if verdict is not Verdict.UNKNOWN] or self._verdicts
        return Findings(
            tools=("cargo nextest" if self._nextest else "cargo test",),
            failures=failures.items,
            totals=self._totals,
            verdict=worst(said),
            owned=self._owned,
            sections=self._sections,
            notes=self._notes,
            tests=self._tests,
            duration_seconds=round(self._seconds, 3),
            unlisted=self._unlisted,
        )


def _say(block: _Block, number: int, text: str) -> None:
    """Take a line of a block: what its panic or error says."""
    if block.wanted:
        if block.message and (end := _OLD_END.search(text)):
            block.file, block.line, block.wanted = end["file"], int(end["line"]), False
        elif not block.message:
            block.message, block.at, block.wanted = text, number, False
    elif (found := _NOTE.match(text)) and not block.message:
        block.message, block.at = text.split(" at ")[0], number
        if found["file"]:
            block.file, block.line = found["file"], int(found["line"])
    elif text.startswith("Error: ") and not block.message:
        block.message, block.at = text, number
    elif not block.loose or text.startswith("error"):
        block.loose, block.loose_at = text, number


def _failure(block: _Block) -> Failure:
    message, at = (block.message, block.at) if block.message else (block.loose or "FAILED", block.loose_at)
    lines = Lines(block.start, max(block.start, block.end))
    return Failure(
        block.name, "failed", block.file, block.line, message, at or block.start, lines, "cargo test"
    )


FAMILY = Family(
    "cargo test",
    Group.TESTS,
    (
        r"^running \d+ tests?$",
        r"^test result: (?:ok|FAILED)\. \d+ passed; ",
        r"^ +Running (?:unittests )?\S+\.rs \(",
        r"^ +Doc-tests \S+$",
        r"process didn't exit successfully: .*\((?:signal: |exit code: 0x)",
        r"^ +(?:PASS|FAIL|SIGSEGV|SIGABRT|TIMEOUT) \[ *[\d.]+s\] ",
        r"^ *Nextest run ID ",
        r"^ +Summary \[ *[\d.]+s\] +[\d/]+ tests? run: ",
    ),
    CargoText,
)
