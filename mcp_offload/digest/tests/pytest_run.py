"""One pytest session while it is read, and what it amounts to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..family import CUT, MAX_FAILURES, MAX_TESTS, FailureSet, Findings
from ..model import Failure, Lines, Verdict
from .pytest_block import Draft
from .pytest_recap import Recap, Row, Summary, add_totals, pair

_OUTCOMES: Final = {
    "PASSED": "passed",
    "FAILED": "failed",
    "ERROR": "error",
    "SKIPPED": "skipped",
    "XFAIL": "xfailed",
    "XPASS": "xpassed",
    "RERUN": "rerun",
}
_VERBOSE: Final = re.compile(
    r"^(?:\[gw\d+\] \[ *\d+%\] (?P<first>[A-Z]+) (?P<id1>\S.*)|(?P<id2>\S.*?::\S.*?) "
    r"(?P<last>PASSED|FAILED|ERROR|SKIPPED"
    r"|XFAIL|XPASS|RERUN)(?: \(.*\))?(?: +\[ *\d+(?:%|/\d+)\])?)$"
)


@dataclass(slots=True)
class Run:
    """The state of one session."""

    start: int
    env: str = ""
    header: bool = False
    version: str = ""
    section: str = "progress"
    percent: int = 0
    last: int = 0
    drafts: list[Draft] = field(default_factory=list[Draft])
    recaps: list[Recap] = field(default_factory=list[Recap])
    summary: Summary | None = None
    printed: Summary | None = None
    tests: dict[str, str] = field(default_factory=dict[str, str])
    lines_of: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[str])
    interrupted: bool = False
    broken: Failure | None = None
    unlisted: int = 0
    nested: bool = False
    instant: bool = False
    """A block is open that stands among the progress, as pytest-sugar and pytest-instafail print it."""
    just_failed: bool = False

    @property
    def block(self) -> Draft | None:
        """The block that is open, if any."""
        return self.drafts[-1] if self.drafts and self.section in {"FAILURES", "ERRORS"} else None

    @property
    def in_output(self) -> bool:
        """True while lines are what a test printed."""
        block = self.block
        return block is not None and block.output_from > 0

    def open_block(self, name: str, number: int) -> None:
        """Begin a failure block."""
        if len(self.drafts) >= MAX_FAILURES:
            self.unlisted += 1
            self.drafts[-1] = Draft(name, number, self.section)
            return
        self.drafts.append(Draft(name, number, self.section))

    def is_result(self, text: str) -> bool:
        """True of a ``-v`` line."""
        return "::" in text and len(text) <= 1000 and _VERBOSE.match(text) is not None

    def result_line(self, number: int, text: str) -> bool:
        """Read a ``-v`` line; False where it is none."""
        if "::" not in text or len(text) > 1000:
            return False
        found = _VERBOSE.match(text)
        if not found:
            return False
        word = found["first"] or found["last"]
        name = (found["id1"] or found["id2"]).strip()
        outcome = _OUTCOMES.get(word)
        if outcome is None:
            return False
        if outcome == "rerun" or len(self.tests) >= MAX_TESTS:
            return True
        self.tests[name] = outcome
        self.just_failed = outcome in {"failed", "error"}
        if self.just_failed:
            self.lines_of[name] = number
        return True

    @property
    def settled(self) -> bool:
        """True where the closing line agrees with what was shown before it."""
        if self.summary is None:
            return False
        if self.drafts:
            return self.summary.bad == len(self.drafts) + self.unlisted
        if self.recaps:
            return self.summary.bad == len(self.recaps)
        return self.summary.bad == 0 and self.percent in {0, 100}

    def may_have_printed(self, summary: Summary) -> bool:
        """True where a closing line may be what a test printed: among outputs, at odds with the blocks."""
        if self.section == "PASSES":
            return True
        return self.in_output and summary.bad != len(self.drafts) + self.unlisted

    def end(self) -> None:
        """Settle at the end of the log, or of the session, for a closing line that stood among outputs."""
        if self.summary is None and self.printed is not None:
            shown = len(self.drafts) + self.unlisted
            if bool(self.printed.bad) == bool(shown):
                self.summary = self.printed

    # --- the result -------------------------------------------------------------------------------

    def report(self, into: Findings, failures: FailureSet) -> Verdict:
        """Add this run to the findings and say how it went."""
        rows = self._rows()
        for draft, recap, nodeid, message in rows:
            failure = self._failure(draft, recap, nodeid, message)
            failures.add(failure, (failure.block.start, failure.name, failure.kind))
        failures.unlisted += self.unlisted
        if self.broken is not None:
            failures.add(self.broken)
        if self.summary is None:
            self._unended(into, failures)
        else:
            add_totals(into, self.summary.totals)
            hidden = self.summary.bad - len(rows) - self.unlisted
            if hidden > 0:
                into.notes.append(f"{hidden} failures are counted but not shown")
            into.duration_seconds = round((into.duration_seconds or 0.0) + self.summary.seconds, 3)
        into.tests.update({self._named(name): outcome for name, outcome in self.tests.items()})
        for _, _, nodeid, _ in rows:
            if nodeid and self._named(nodeid) not in into.tests and len(into.tests) < MAX_TESTS:
                into.tests[self._named(nodeid)] = "failed"
        into.notes += self.notes
        return self._verdict(into)

    def _rows(self) -> list[Row]:
        rows = pair(self.drafts, self.recaps)
        if self.summary is None or not self.recaps or len(self.drafts) <= self.summary.bad:
            return rows
        # More blocks than failures: printed text looked like a block. Trust those the recap names.
        confirmed = [row for row in rows if row[1] is not None]
        return confirmed if len(confirmed) == self.summary.bad else rows

    def _named(self, name: str) -> str:
        return f"{self.env}: {name}" if self.env else name

    def _failure(self, draft: Draft | None, recap: Recap | None, nodeid: str, message: str) -> Failure:
        recap_line = recap.line if recap else 0
        if draft is not None:
            name = self._block_name(draft, nodeid)
            if draft.file is None and "::" in nodeid:
                draft.file = nodeid.split("::")[0]
            return draft.failure(self._named(name), message, recap_line, self.last)
        kind = "error" if recap is not None and recap.status == "ERROR" else "failed"
        path = nodeid.split("::")[0]
        file = path if "/" in path or path.endswith((".py", ".txt", ".rst", ".md")) else None
        block = Lines(recap_line, recap_line)
        return Failure(self._named(nodeid), kind, file, None, message or kind, recap_line, block, "pytest")

    def _block_name(self, draft: Draft, nodeid: str) -> str:
        header = draft.name.removeprefix("ERROR at ").removeprefix("ERROR ")
        if header == draft.name and nodeid and not self.env:
            return nodeid
        return header or nodeid or (f"{draft.file}:{draft.line}" if draft.file else draft.message)

    def _unended(self, into: Findings, failures: FailureSet) -> None:
        """A session without its closing line: what was seen counts as seen, not as totals."""
        counts: dict[str, int] = {}
        for outcome in self.tests.values():
            counts[outcome] = counts.get(outcome, 0) + 1
        if counts:
            shown = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
            into.notes.append(f"{CUT}; seen so far: {shown}")
        elif self.broken is None:
            into.notes.append(CUT)
        if self.drafts or self.recaps:
            return
        for name, number in self.lines_of.items():
            path = name.split("::")[0]
            kind = "failed" if self.tests.get(name) == "failed" else "error"
            block = Lines(number, number)
            failures.add(Failure(self._named(name), kind, path, None, kind.upper(), number, block, "pytest"))

    def _verdict(self, into: Findings) -> Verdict:
        if self.summary is None:
            return Verdict.ERROR if self.broken is not None else Verdict.INCOMPLETE
        totals = self.summary.totals
        if self.interrupted:
            return Verdict.INCOMPLETE
        if totals.get("failed", 0):
            return Verdict.FAILED
        if totals.get("errors", 0) or self.broken is not None:
            return Verdict.ERROR
        ran = sum(
            totals.get(key, 0) for key in ("passed", "skipped", "xfailed", "xpassed", "subtests passed")
        )
        if self.summary.empty or not ran:
            into.notes.append("no tests ran")
            return Verdict.ERROR
        return Verdict.PASSED
