"""Tests under Maven (Surefire, Failsafe) and Gradle as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..family import CUT, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..frames import Frame, choose, frames
from ..model import Failure, Lines, Section, Verdict
from .counts import seconds, worst

_LEVEL: Final = r"^(?:\[(?:INFO|ERROR|WARNING)\] +)?"
_RUNNING: Final = re.compile(_LEVEL + r"Running (?P<name>[\w.$]+(?: \S.*)?)$")
_COUNTS: Final = re.compile(
    _LEVEL + r"Tests run: *(?P<run>\d+), Failures: *(?P<failed>\d+), Errors: *(?P<errors>\d+)"
    r"(?:, Skipped: *(?P<skipped>\d+))?"
    r"(?:, Flakes: *(?P<flaky>\d+))?(?P<more>,? Time elapsed:? .*)?"
)
_CASE: Final = re.compile(
    _LEVEL + r"(?P<name>\S.*?) +(?:-- )?Time elapsed: (?P<time>[\d.,]+) s(?:ec)? +<<< "
    r"(?P<word>FAILURE|ERROR)!$"
)
_OLD_NAME: Final = re.compile(r"^(?P<method>[^(]+)\((?P<owner>[\w.$]+)\)$")
_RESULTS: Final = re.compile(r"^(?:\[INFO\] +)?Results ?:\s*$")
_RECAP: Final = re.compile(
    _LEVEL + r"(?P<word>Failures|Failed tests|Errors|Tests in error|Flakes|Tests skipped):\s*$"
)
_ENTRY: Final = re.compile(
    r"^(?:\[(?:ERROR|WARNING)\] )?  (?P<name>[\w$.]+)(?::(?P<line>\d+))?(?:->[\w.:]+)*"
    r"(?: » (?P<error>\w+))?(?: (?P<message>.*))?$"
)
_TRACE: Final = re.compile(r"^\s+(?:at |\.\.\. \d+ more|\.\.\. \d+ common)|^Caused by: |^\s+Suppressed: ")
_GRADLE: Final = re.compile(r"^(?P<name>(?!> )\S.* > \S.*?) FAILED$")
_GRADLE_COUNT: Final = re.compile(
    r"^(?P<run>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, "
    r"(?P<skipped>\d+) skipped)?$"
)
_GRADLE_SHORT: Final = re.compile(
    r"^ +(?P<message>\S.*?)(?: at (?P<file>[\w$.-]+\.(?:java|kt|kts|groovy|scala)):"
    r"(?P<line>\d+))?$"
)
_CRASHED: Final = re.compile(
    r"The forked VM terminated without|There was a timeout or other error in the fork"
    r"|Process .* finished with non-zero exit value"
)
_MAX_FRAMES: Final = 200


@dataclass(slots=True)
class _Block:
    name: str
    start: int
    kind: str
    end: int = 0
    message: str = ""
    at: int = 0
    stack: list[Frame] = field(default_factory=list[Frame])
    place: tuple[str, int] | None = None
    trace: int = 0
    gradle: bool = False


class JvmText:
    """Reads classes, failing cases under them, and closing counts."""

    def __init__(self) -> None:
        self._blocks: dict[str, _Block] = {}
        self._block: _Block | None = None
        self._recap = ""
        self._recaps: dict[str, _Block] = {}
        self._flaky: set[str] = set()
        self._classes = [0, 0, 0, 0]
        self._totals: dict[str, int] = {}
        self._running: tuple[str, int] | None = None
        self._start = 0
        self._last = 0
        self._sections: list[Section] = []
        self._seconds = 0.0
        self._crash = ""
        self._tools: dict[str, None] = {}
        self._verdicts: list[Verdict] = []
        self._unlisted = 0
        self._pending = False
        self._results = False

    def feed(self, number: int, text: str) -> int:
        """Take a line; a failing case is followed to its first empty line."""
        if "Tests run:" in text and (found := _COUNTS.match(text)):
            self._count(number, found)
        elif "<<< " in text and (found := _CASE.match(text)):
            self._open(number, _readable(found["name"]), found["word"])
        elif found := _GRADLE.match(text):
            self._tools["gradle test"] = None
            self._open(number, found["name"], "FAILURE")
            self._blocks[found["name"]].gradle = True
        elif found := _RUNNING.match(text):
            self._running, self._pending, self._block = (found["name"], number), True, None
            self._touch(number)
        elif found := _GRADLE_COUNT.match(text):
            self._gradle_count(number, found)
        elif _RESULTS.match(text) or _RECAP.match(text):
            self._lists(number, text)
        elif _CRASHED.search(text) and self._start:
            self._crash = text.removeprefix("[ERROR] ").strip()
        elif self._block is not None:
            self._detail(self._block, number, text)
        elif self._recap:
            self._entry(number, text)
        return 200 if self._block is not None or self._recap else 0

    def _lists(self, number: int, text: str) -> None:
        """The heading of the closing part, or of one of its lists."""
        found = _RECAP.match(text)
        self._results, self._block, self._last = True, None, number
        self._recap = found["word"] if found else ""

    def _touch(self, number: int) -> None:
        self._start = self._start or number
        self._last = number

    def _count(self, number: int, found: re.Match[str]) -> None:
        self._touch(number)
        self._tools["surefire"] = None
        run, failed, errors, skipped = (
            int(found[key] or 0) for key in ("run", "failed", "errors", "skipped")
        )
        self._recap, self._block = "", None
        if found["more"]:
            self._pending = False
            self._classes = [
                a + b for a, b in zip(self._classes, (run, failed, errors, skipped), strict=True)
            ]
            self._seconds += seconds(found["more"].replace(" sec", " s")) or 0.0
            if self._running and len(self._sections) < 1000:
                self._sections.append(Section(self._running[0], "suite", Lines(self._running[1], number)))
            self._running = None
            return
        if not self._results and any(self._classes):
            return  # printed by a test: the closing counts stand under "Results:"
        self._classes, self._results = [0, 0, 0, 0], False
        self._add(run, failed, errors, skipped, int(found["flaky"] or 0))

    def _add(self, run: int, failed: int, errors: int, skipped: int, flaky: int) -> None:
        counts = {
            "passed": max(0, run - failed - errors - skipped - flaky),
            "failed": failed,
            "errors": errors,
            "skipped": skipped,
        }
        if flaky:
            counts["flaky"] = flaky
        for key, value in counts.items():
            self._totals[key] = self._totals.get(key, 0) + value
        bad = Verdict.FAILED if failed or errors else Verdict.PASSED if run else Verdict.UNKNOWN
        self._verdicts.append(bad)

    def _gradle_count(self, number: int, found: re.Match[str]) -> None:
        self._touch(number)
        self._tools["gradle test"] = None
        self._add(int(found["run"]), int(found["failed"] or 0), 0, int(found["skipped"] or 0), 0)

    def _open(self, number: int, name: str, word: str) -> None:
        self._touch(number)
        self._recap = ""
        kind = "error" if word == "ERROR" else "failed"
        block = _Block(name, number, kind, number)
        if name not in self._blocks and len(self._blocks) >= MAX_FAILURES:
            self._unlisted += 1
        else:
            block = self._blocks.setdefault(name, block)
        self._block = block if block.start == number else _Block(name, number, kind, number)

    def _detail(self, block: _Block, number: int, text: str) -> None:
        if not text.strip():
            if block.stack or block.place or (block.message and not block.gradle):
                self._block = None
            return
        if text.startswith(("[INFO]", "[ERROR]", "> Task", "BUILD ")):
            self._block = None
            return
        block.end = self._last = number
        if _TRACE.match(text):
            block.trace = block.trace or number
            if len(block.stack) < _MAX_FRAMES:
                block.stack.extend(frames([text]))
        elif not block.message or (block.message.endswith(":") and not block.stack):
            self._message(block, number, text)

    @staticmethod
    def _message(block: _Block, number: int, text: str) -> None:
        found = _GRADLE_SHORT.match(text) if block.gradle else None
        part = found["message"] if found else text.strip()
        if found and found["file"]:
            block.place = (found["file"], int(found["line"]))
        block.message = f"{block.message} {part}".strip()
        block.at = block.at or number

    def _entry(self, number: int, text: str) -> None:
        """A line of the closing lists; used for failures whose details are not printed."""
        found = _ENTRY.match(text)
        if not found:
            if not text.strip() or text.startswith("[INFO]"):
                self._recap = "" if not text.strip(" []INFO") and self._recaps else self._recap
            return
        self._last = number
        if self._recap == "Flakes":
            self._flaky.add(found["name"])
            return
        if self._recap == "Tests skipped" or len(self._recaps) >= MAX_FAILURES:
            return
        kind = "error" if "rror" in self._recap else "failed"
        error = f"{found['error']}: " if found["error"] else ""
        block = _Block(
            found["name"], number, kind, number, f"{error}{found['message'] or ''}".strip(), number
        )
        if found["line"]:
            block.place = (found["name"].split(".")[0] + ".java", int(found["line"]))
        self._recaps.setdefault(found["name"], block)

    # --- the result -------------------------------------------------------------------------------

    def finish(self, last: int) -> Findings:
        """Totals of the closing counts; without them those of the classes."""
        closed = bool(self._verdicts)
        if any(self._classes):
            self._add(self._classes[0], self._classes[1], self._classes[2], self._classes[3], 0)
        cut = self._pending or (bool(self._blocks) and not self._verdicts)
        if not self._tools and not cut:
            return Findings()
        notes: list[str] = []
        if cut or self._crash:
            self._verdicts.append(Verdict.INCOMPLETE)
            notes.append(self._crash[:200] or CUT)
        failures = FailureSet()
        for block in self._shown():
            failures.add(_failure(block), block.name)
        return Findings(
            tools=tuple(self._tools) or ("surefire",),
            failures=failures.items,
            totals=self._totals,
            verdict=self._verdict(bool(failures.items), stopped=cut and not closed and not self._crash),
            owned=[Lines(self._start, self._last)] if self._start else [],
            sections=self._sections,
            notes=notes,
            tests={block.name: "failed" for block in self._blocks.values()},
            duration_seconds=round(self._seconds, 3),
            unlisted=self._unlisted,
        )

    def _verdict(self, failed: bool, *, stopped: bool) -> Verdict:
        if stopped:
            return Verdict.INCOMPLETE
        return Verdict.FAILED if failed else worst(self._verdicts)

    def _shown(self) -> list[_Block]:
        flaky = {name.split(".")[-1] for name in self._flaky}
        shown = [block for block in self._blocks.values() if block.name.split(".")[-1] not in flaky]
        stated = self._totals.get("failed", 0) + self._totals.get("errors", 0)
        if len(shown) >= stated:
            return shown
        known = {tuple(block.name.split(".")[-2:]) for block in shown}
        extra = [block for name, block in self._recaps.items() if tuple(name.split(".")[-2:]) not in known]
        return shown + extra


def _readable(name: str) -> str:
    """``method(pkg.Class)`` and ``pkg.Class.method`` as the latter."""
    found = _OLD_NAME.match(name)
    return f"{found['owner']}.{found['method']}" if found else name


def _failure(block: _Block) -> Failure:
    owner = (
        block.name.split(" > ")[0].split(".")[-1] if " > " in block.name else [*block.name.split("."), ""][-2]
    )
    chosen = choose(block.stack, prefer=owner) or (block.stack[0] if block.stack else None)
    place = (chosen.file, chosen.line) if chosen else block.place or (None, None)
    return Failure(
        name=block.name,
        kind=block.kind,
        file=place[0],
        line=place[1],
        message=block.message or block.name,
        log_line=block.at or block.start,
        block=Lines(block.start, max(block.start, block.end)),
        tool="gradle test" if block.gradle else "surefire",
        traceback=Lines(block.trace, block.end) if block.trace else None,
    )


FAMILY = Family(
    "surefire",
    Group.TESTS,
    (
        r"^(?:\[(?:INFO|ERROR|WARNING)\] +)?Tests run: *\d+, Failures: *\d+, Errors: *\d+",
        r"<<< (?:FAILURE|ERROR)!$",
        r"^(?:\[INFO\] +)?Results ?:$",
        r"^(?:\[INFO\] +)?Running [\w.$]+\.[A-Z][\w.$]*$",
        r"^\S.* > \S.* FAILED$",
        r"^\d+ tests? completed(?:, \d+ failed)?",
        r"^\[(?:ERROR|WARNING)\] (?:Failures|Errors|Flakes|Tests in error|Failed tests): ?$",
        r"The forked VM terminated without|There was a timeout or other error in the fork",
    ),
    JvmText,
)
