"""What a digest says. Every line number is 1-based, counts LF only and refers to the log as stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of a run.

    ``passed`` needs a known exit status of zero or a log that shows a complete run; a non-zero exit
    status is never ``passed``. ``error``: the run itself broke (collection, usage, build, crash).
    ``incomplete``: it was killed, timed out or cut. ``unknown``: the log does not say.
    """

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    INCOMPLETE = "incomplete"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Lines:
    """An inclusive range of log lines."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that failed, listed once however often the log repeats it.

    Attributes:
        name: test id, or for a diagnostic its code or target; as the tool prints it.
        kind: failed, error, compile, link, lint, crash, timeout, ...
        file, line, column: where the tool says it is, as printed; None where it does not.
        message: the decisive line, shortened in its middle where very long.
        log_line: the log line that shows it.
        block: the lines that belong to it; ``traceback`` and ``output`` are parts of that.
        tool: which recogniser found it.
    """

    name: str
    kind: str
    file: str | None
    line: int | None
    message: str
    log_line: int
    block: Lines
    tool: str
    column: int | None = None
    traceback: Lines | None = None
    output: Lines | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures that share one explanation; ``first`` indexes ``Digest.failures``."""

    message: str
    count: int
    first: int


@dataclass(frozen=True, slots=True)
class Section:
    """A phase, group, target or suite of the log."""

    name: str
    kind: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Template:
    """Error-like lines that differ only in numbers and names: the first of them, where, how often."""

    text: str
    count: int
    first_line: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a log without recognised failures still shows: error-like lines, its first and last lines.

    ``unlisted`` counts error-like lines whose template is not among ``templates``.
    """

    templates: tuple[Template, ...] = ()
    unlisted: int = 0
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Digest:
    """The summary of one log.

    ``totals`` holds passed, failed, errors, skipped, xfailed, ... where the log states or shows
    them; an absent key is unknown. ``unlisted`` counts failures beyond those kept in ``failures``.
    ``notes`` are one-line facts (killed by signal, cut at byte N). ``tests`` maps test name to outcome
    where the log lists them, for comparing two runs.
    """

    verdict: Verdict
    complete: bool
    tools: tuple[str, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict[str, int])
    failures: tuple[Failure, ...] = ()
    causes: tuple[Cause, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    tests: Mapping[str, str] = field(default_factory=dict[str, str])
    duration_seconds: float | None = None
    exit_status: int | None = None
    line_count: int = 0
    unlisted: int = 0
    excerpt: Excerpt = field(default_factory=Excerpt)
