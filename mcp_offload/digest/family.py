r"""What a recogniser of one tool's output ("family") offers, and what it hands back.

A family is a module with one row of data and one small class::

    class Widgets:                              # state of one log; a fresh instance per log
        def feed(self, number: int, text: str) -> int: ...
        def finish(self, last: int) -> Findings: ...

    FAMILY = Family("widgets", Group.BUILD, (r"^widget: error ", r"^widgets: \d+ built"), Widgets)

The core splits the log into lines (LF only), peels off what a CI system wrapped around them
(time stamps, ``[task ...]``, ``| `` of docker compose, ANSI sequences, overwritten progress text),
and calls ``feed(number, text)`` for

* each line on which one of the family's ``triggers`` matches, and
* as many lines after it as the last ``feed`` asked for by its return value: 0 none, ``n`` the next n
  lines, :data:`ALL` everything until a later ``feed`` returns less. Each returned value replaces the
  one before it, so a family that asked for 3 lines and still wants the other 2 returns 2.

``text`` carries no line end. It is clipped in its middle above :data:`TEXT_LIMIT` characters, unless
the family says ``full_lines``. Everything else is never decoded, so triggers must be specific: words
that stand on one line in thousands, not "error" or "test". ``^`` in a trigger means the start of the
peeled line; triggers are RE2 syntax (no look-around), case-sensitive unless they say ``(?i:...)``.

Rules for a family: never raise on any input; constant work per line; keep bounded state (hold
failures in a :class:`FailureSet`); report what the tool says, not what a program under it printed.
Ranges of lines that the family knows to be its own run, captured output included, go to
``Findings.owned``: what other families find inside is dropped (an outer range beats an inner one).

Whole documents (an XML or JSON report as the entire log) have :class:`Document` rows instead:
``sniff`` sees the first 4 KiB; the parser then gets every byte. Where its findings are ``conclusive``
the text families' findings are dropped, because the text inside a report is no log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from .model import Failure, Lines, Section, Verdict

ALL: Final = 1 << 30
TEXT_LIMIT: Final = 4096
MAX_FAILURES: Final = 5000
MAX_TESTS: Final = 50_000
CUT: Final = "the log ends inside the test run"
"""The note that says of a family's findings that its run did not end."""


class Group(StrEnum):
    """What a family's findings are about; decides how they are merged.

    ``tests``: totals are counts of tests and are summed over families. ``build``, ``lint``:
    diagnostics; their ``errors`` count only where no test totals exist. ``crash``: tracebacks,
    sanitizers and signals outside test runs. ``ci``: what the wrapper says of the job.
    """

    TESTS = "tests"
    BUILD = "build"
    LINT = "lint"
    CRASH = "crash"
    CI = "ci"


@dataclass(slots=True)
class Findings:
    """What one family found in one log. Empty (``tools == ()``): the tool does not occur.

    Attributes:
        tools: names of the tools recognised, with version where printed ("pytest 8.3.2").
        failures: each thing that failed, once, in log order.
        totals: passed, failed, errors, skipped, xfailed, xpassed, warnings, flaky, todo ... as the
            tool states them, else as counted; absent = unknown. Diagnostics: ``errors``.
        verdict: PASSED only where the log shows this tool end well; FAILED; ERROR (it broke itself,
            or build/lint errors); INCOMPLETE (it began and its end is not there); UNKNOWN.
        owned: line ranges that belong to this tool's run, programs' output included.
        tests: test name to passed/failed/error/skipped/xfailed/xpassed/flaky where listed.
        conclusive: of a Document: it parsed as that format.
        unlisted: failures counted but not in ``failures`` because of MAX_FAILURES.
        verdict_line: where the log states ``verdict``; a BUILD or LINT "passed" that is followed by
            other error-like lines is not believed.
    """

    tools: tuple[str, ...] = ()
    failures: list[Failure] = field(default_factory=list[Failure])
    totals: dict[str, int] = field(default_factory=dict[str, int])
    verdict: Verdict = Verdict.UNKNOWN
    owned: list[Lines] = field(default_factory=list[Lines])
    sections: list[Section] = field(default_factory=list[Section])
    notes: list[str] = field(default_factory=list[str])
    tests: dict[str, str] = field(default_factory=dict[str, str])
    duration_seconds: float | None = None
    conclusive: bool = False
    unlisted: int = 0
    verdict_line: int = 0

    @property
    def cut(self) -> bool:
        """True where a run began whose end the log does not hold."""
        return self.verdict is Verdict.INCOMPLETE or any(note.startswith(CUT) for note in self.notes)


class Recogniser(Protocol):
    """The state of one family in one log."""

    def feed(self, number: int, text: str) -> int:
        """Take line ``number``; return how many of the next lines to hand over without a trigger."""
        ...

    def finish(self, last: int) -> Findings:
        """Say what was found; ``last`` is the number of the log's last line. Called once."""
        ...


class DocumentParser(Protocol):
    """The state of one report parsed as a whole."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the report, unpeeled."""
        ...

    def finish(self, last: int) -> Findings:
        """Say what was found; a cut report is INCOMPLETE with what was seen so far."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """One row of the family table."""

    name: str
    group: Group
    triggers: tuple[str, ...]
    make: Callable[[], Recogniser]
    full_lines: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """One row of the table of whole-report formats."""

    name: str
    group: Group
    sniff: Callable[[bytes], bool]
    make: Callable[[], DocumentParser]


class FailureSet:
    """Failures in order, each key once, at most MAX_FAILURES kept; the rest are counted."""

    def __init__(self) -> None:
        self.items: list[Failure] = []
        self.unlisted = 0
        self._keys: set[object] = set()

    def add(self, failure: Failure, key: object = None) -> bool:
        """Add unless the key (by default name, file, line, column and message) is there already."""
        if key is None:
            key = (failure.name, failure.file, failure.line, failure.column, failure.message)
        if key in self._keys:
            return False
        if len(self.items) >= MAX_FAILURES:
            self.unlisted += 1
            return False
        self._keys.add(key)
        self.items.append(failure)
        return True

    def __len__(self) -> int:
        return len(self.items) + self.unlisted


def clip(text: str, limit: int = 300) -> str:
    """Shorten ``text`` in its middle to at most ``limit`` characters."""
    if len(text) <= limit:
        return text
    head = (limit - 3) * 2 // 3
    return text[:head] + "..." + text[len(text) - (limit - 3 - head) :]
