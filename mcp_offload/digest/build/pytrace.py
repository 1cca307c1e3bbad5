"""Python tracebacks outside test runs: chained, grouped, of threads, and faulthandler's."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..family import Family, Findings, Group
from ..frames import Frame, choose, frames
from ..model import Failure, Lines, Verdict
from .collect import Collector, Draft

_HEAD: Final = re.compile(
    r"^(?P<prefix>[ |]*(?:\+ )?)(?P<what>(?:Exception Group )?Traceback) \(most recent call last\):\s*$"
)
_PREFIX: Final = re.compile(r"^[ ]*(?:\| ?)+")
_MEMBER: Final = re.compile(r"^[ ]*\+[+-]+ (?P<number>\d+|\.\.\.) -+$")
_EXCEPTION: Final = re.compile(r"^(?P<type>[A-Za-z_][\w.]*(?:\[\w+\])?)(?:: (?P<message>.*)|:)?$")
_CHAIN: Final = re.compile(
    r"(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):"
)
_LOG: Final = re.compile(
    r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:|\b(?:ERROR|WARNING|CRITICAL"
    r"|EXCEPTION|WARN)\b[\]:\s-]|^Exception ignored "
)
_SOFTENED: Final = re.compile(
    r"(?i)\bretry|\bretrying|\bignor(?:ed|ing)\b|\bfall(?:ing)? ?back\b|\brecover"
    r"|\bskipping\b|\bcontinuing\b|\bhandled\b"
)
_GOES_ON: Final = re.compile(r"^(?:\[?\d{4}-\d\d-\d\d[ T][\d:.,]+\S* .{0,40})?\b(?:INFO|DEBUG)\b")
_WRAPPER: Final = re.compile(
    r"CalledProcessError|^SystemExit|failed!$|returned non-zero exit status"
    r"|ChildFailedError|ProcessRaisedException"
)
_SYNTAX: Final = re.compile(r"^(?:SyntaxError|IndentationError|TabError)$")
_EXHAUSTED: Final = re.compile(r"OutOfMemory|MemoryError|CUDA out of memory|No space left on device")
_FATAL: Final = re.compile(r"^Fatal Python error: (?P<message>.*)$")
_THREAD: Final = re.compile(r"^(?P<current>Current t|T)hread 0x[0-9a-f]+ .*\(most recent call first\):")
_SIGNALS: Final = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
_EXIT: Final = re.compile(
    r"(?i)\bexit(?:ed)?(?: with)?(?: error)?(?:[ -](?:code|status))[: ]*-?[1-9]"
    r"|^##\[error\]|^make\S*: \*\*\*|^\++ exit [1-9]|"
    r"returned (?:non-zero|[1-9])|failed!$|^ERROR: Job failed|marked build as failure"
    r"|BUILD FAIL|did not run successfully|"
    r"^npm (?:ERR!|error) |ELIFECYCLE|^command terminated|^error: command .* failed|core dumped"
)
_LINES: Final = 400
_NEAR_LINES: Final = 60


@dataclass(slots=True)
class _Trace:
    """One traceback while it is read."""

    start: int
    prefix: str
    logged: bool
    member: str = ""
    chained: int = 0
    rows: list[str] = field(default_factory=list[str])
    odd: int = 0


@dataclass(slots=True)
class _Chain:
    """A finished chain of exceptions, and what the next lines say of its end."""

    last: Failure
    members: list[Failure]
    watch: int
    logged: bool
    verdict: str


# A frame of pytest before it has a session: a broken plugin, option or conftest. Source: _pytest/config.
_PYTEST_STARTS: Final = ", in _prepareconfig"


class PythonTrace:
    """The last exception of a chain is the failure; members of a group are listed beside it."""

    def __init__(self) -> None:
        self._account = Collector()
        self._trace: _Trace | None = None
        self._last: Failure | None = None
        self._chain = 0
        self._chain_start = 0
        self._chain_logged = False
        self._members: list[Failure] = []
        self._member = ""
        self._log_line = 0
        self._finals = 0
        self._fatal: Draft | None = None
        self._current = False
        self._watch = 0
        self._ended = False
        self._softened = False
        self._chains: list[_Chain] = []

    def feed(self, number: int, text: str) -> int:
        """Take a line of a traceback, what joins two, or what comes before and after."""
        head = _HEAD.match(text)
        if head:
            return self._begin(number, head)
        if self._trace is not None:
            return self._inside(number, text, self._trace)
        member = _MEMBER.match(text)
        if member:
            self._member = member["number"]
            return _LINES
        if _CHAIN.search(text):
            self._chain += 1
            return 8
        if (fatal := _FATAL.match(text)) or self._fatal is not None:
            return self._faulthandler(number, text, fatal)
        if _LOG.search(text):
            self._log_line = number
        return self._between(number, text)

    def _begin(self, number: int, head: re.Match[str]) -> int:
        if self._trace is not None:  # a traceback inside a traceback: the outer one broke off
            self._trace = None
        prefix = head["prefix"]
        nested = "|" in prefix
        if not nested:
            self._member = ""
            if not self._chain or self._last is None:
                self._settle()
                self._chain_start = number
                self._chain_logged = self._log_line == number - 1 and number > 1
        self._trace = _Trace(number, prefix, self._chain_logged, self._member if nested else "", self._chain)
        return _LINES

    def _inside(self, number: int, text: str, trace: _Trace) -> int:
        if "|" in trace.prefix or "+" in trace.prefix:
            body = _PREFIX.sub("", text)
        else:
            body = text.removeprefix(trace.prefix)
        if body.startswith((" ", "\t")) or not body.strip():
            if body.strip() and len(trace.rows) < 2000:
                trace.rows.append(body)
            return _LINES
        found = _EXCEPTION.match(body)
        if not found:
            trace.odd += 1
            if trace.odd > 3:
                self._trace = None
                return 0
            return _LINES
        self._end(number, trace, found)
        return _LINES if "|" in trace.prefix else _NEAR_LINES

    def _end(self, number: int, trace: _Trace, found: re.Match[str]) -> None:
        """An exception ends its traceback."""
        self._trace = None
        kind, message = found["type"], found["message"] or ""
        place = self._place(trace, kind)
        text = f"{kind}: {message}" if message else kind
        name = kind.rsplit(".", 1)[-1]
        nested = bool(trace.member)
        if nested:
            name = f"{name} (group member {trace.member})"
        elif trace.chained:
            name = f"{name} (final exception)"
        name, kind_of = self._sort(trace, name, text)
        failure = Draft(
            name,
            kind_of,
            place.file if place else None,
            place.line if place else None,
            text,
            number,
            "python",
            None,
            trace.start if nested else self._chain_start,
            number,
            Lines(trace.start, number),
        ).failure()
        self._account.tools.setdefault("python")
        if nested:
            self._add_member(failure, trace.member)
        else:
            self._last = failure
            self._chain = 0
            self._watch, self._ended, self._softened = number, False, False

    def _sort(self, trace: _Trace, name: str, text: str) -> tuple[str, str]:
        """Name and kind of what a traceback tells: a resource ran out, pytest could not start, a crash."""
        if _EXHAUSTED.search(text):
            return "disk full" if "No space" in text else "oom", "resource"
        if any(_PYTEST_STARTS in row for row in trace.rows):
            self._account.tools.setdefault("pytest")
            return f"pytest start: {name}", "error"
        return name, "target" if _WRAPPER.search(text) else "crash"

    def _add_member(self, failure: Failure, member: str) -> None:
        """Of a member's own chain the last exception counts; equal members count once."""
        tag = f"(group member {member})"
        self._members = [item for item in self._members if not item.name.endswith(tag)]
        kept = {(item.name.split(" ", 1)[0], item.file, item.line, item.message) for item in self._members}
        if (failure.name.split(" ", 1)[0], failure.file, failure.line, failure.message) not in kept:
            self._members.append(failure)

    @staticmethod
    def _place(trace: _Trace, kind: str) -> Frame | None:
        found = list(frames(trace.rows))
        if _SYNTAX.match(kind) and found:
            return found[-1]
        real = [frame for frame in found if not frame.file.startswith("<")]
        return choose(real, last=True) or (real[-1] if real else None)

    def _between(self, number: int, text: str) -> int:
        """Look at the lines after an exception: did the process end with it, or was it dealt with?"""
        if self._last is None or self._ended:
            return 0
        left = max(0, self._watch + _NEAR_LINES - number)
        if not text.strip() or text.startswith((" ", "|", "+ echo")):
            return left
        if _EXIT.search(text):
            self._ended = True
            return 0
        near = number <= self._watch + 3 and not text.startswith("+")
        if _GOES_ON.search(text) or (near and _SOFTENED.search(text)):
            self._softened = True
        return left

    def _settle(self) -> None:
        """Put the finished chain aside; whether it was dealt with shows only later."""
        last, self._last = self._last, None
        members, self._members = self._members, []
        self._chain = 0
        if last is None and members:
            last = members.pop()
        if last is not None and len(self._chains) < 5000:
            verdict = "ended" if self._ended else "softened" if self._softened else ""
            self._chains.append(_Chain(last, members, self._watch, self._chain_logged, verdict))
        self._ended = self._softened = False

    def _decide(self, chain: _Chain, end: int, *, final: bool) -> bool:
        """Tell whether a chain ended its process: said so, or the log ends with it."""
        if _EXHAUSTED.search(chain.last.message):
            return True
        if chain.logged:
            return chain.verdict == "ended" if chain.verdict else final and end - chain.watch <= 2
        if chain.verdict:
            return chain.verdict == "ended"
        return end - chain.watch <= _NEAR_LINES

    def _faulthandler(self, number: int, text: str, head: re.Match[str] | None) -> int:
        if head:
            message = head["message"]
            name = next((code for words, code in _SIGNALS.items() if words in message), message)
            self._fatal = Draft(name, "crash", None, None, text, number, "python", None, number, number)
            self._current = False
            return 200
        draft = self._fatal
        assert draft is not None
        thread = _THREAD.match(text)
        if thread:
            self._current = thread["current"].startswith("Current")
        elif self._current and draft.file is None:
            frame = choose(frames((text,)))
            if frame is not None:
                draft.file, draft.line = frame.file, frame.line
        if (
            text.strip()
            and not thread
            and not text.startswith((" ", "Extension modules", "Python runtime state"))
        ):
            self._close_fatal()
            return 0
        if text.strip():
            draft.end = number
        return 200

    def _close_fatal(self) -> None:
        draft, self._fatal = self._fatal, None
        if draft is not None:
            self._account.open(draft)
            self._account.close()
            self._finals += 1

    def finish(self, last: int) -> Findings:
        """Unhandled exceptions are failures; handled ones are a note."""
        self._settle()
        self._close_fatal()
        soft: list[Failure] = []
        for at, chain in enumerate(self._chains):
            if not self._decide(chain, last, final=at == len(self._chains) - 1):
                soft.append(chain.last)
                continue
            item = chain.last
            if self._account.failures.add(item, (item.name, item.file, item.line, item.message)):
                self._finals += item.kind != "target"
            for member in chain.members:
                self._account.failures.add(member, (member.name, member.file, member.line, member.message))
        found = self._account.findings()
        if not found.tools:
            return found
        found.totals = {"errors": self._finals} if self._finals else {}
        broken = all(item.kind == "error" for item in found.failures)
        found.verdict = Verdict.UNKNOWN if not found.failures else Verdict.ERROR if broken else Verdict.FAILED
        if soft:
            first = soft[0]
            found.notes.append(
                f"{len(soft)} tracebacks passed over, first at line {first.log_line}: {first.message[:80]}"
            )
        return found


FAMILY: Final = Family(
    "python traceback",
    Group.CRASH,
    (
        r"Traceback \(most recent call last\):",
        r"(?:During handling of the above exception, another"
        r"|The above exception was the direct cause of the)",
        r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:",
        r"^\[?\d{4}-\d\d-\d\d[ T][\d:.,]+\]?,? .{0,80}[ \[](?:ERROR|CRITICAL)\b",
        r"^\[?(?:ERROR|CRITICAL)\]?[ :] .{0,80}\d{4}-\d\d-\d\d",
        r"^Exception ignored ",
        r"^Fatal Python error: ",
    ),
    PythonTrace,
)
