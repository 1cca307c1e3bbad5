"""What the system around a job says of it: steps and jobs that fail, time out, are cancelled or end well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .family import FailureSet, Family, Findings, Group, clip
from .model import Failure, Lines, Section, Verdict


@dataclass(frozen=True, slots=True)
class Marker:
    """A line of a CI system: what it means; ``kind`` "" makes it a note only."""

    pattern: re.Pattern[str]
    verdict: Verdict
    kind: str
    name: str


def _marker(pattern: str, verdict: Verdict, kind: str, name: str) -> Marker:
    return Marker(re.compile(pattern), verdict, kind, name)


_TRIGGERS: Final = (
    r"^(?:##|::)\[?error\b",
    r"^##vso\[task\.(?:complete|logissue)[^\]]*(?:result=Failed|type=error)",
    r"^##\[(?:group|section|endgroup)\]",
    r"^##\[warning\]",
    r"^(?:ERROR|WARNING): Job (?:failed|succeeded)",
    r"^Job succeeded",
    r"^Finished: [A-Z_]+$",
    r"(?i:marked build as failure)",
    r"^(?:Unsuccessful|Successful) task run with exit code: \d+",
    r"^\[taskcluster:error\]",
    r"^Build timed out \(after",
    r"(?i:the operation was cancell?ed)|The runner has received a shutdown signal"
    r"|has exceeded the maximum execution time",
    r"(?:^|[ :])(?:Killed|Terminated|Segmentation fault|Aborted|Bus error"
    r"|Illegal instruction)(?: +\(core dumped\)| +\S.*)?$",
    r"^Command took >\d+\w+, returning 124",
    r"^FAILED CONSISTENTLY: ",
    r"^ERROR: Timeout ",
    r"(?i:timeout: sending signal|timed out after \d+)",
    r"^>>> Lint for \S+:$",
    r"^Build left local git repository checkout dirty",
    r"(?:^|\s)[\w/.-]*: line \d+: .*(?:command not found|No such file or directory|Permission denied)$",
)
# First match wins. Sources: GitHub Actions runner, GitLab Runner, Jenkins core, Taskcluster worker, Azure
# agent, bash ("line N: PID Killed"), timeout(1), PyTorch's run_test.py and lintrunner.
_MARKERS: Final = (
    _marker(
        r"^##\[error\].*(?:has timed out after|exceeded the maximum execution time)",
        Verdict.FAILED,
        "timeout",
        "timeout",
    ),
    _marker(r"^##\[error\].*(?i:operation was cancell?ed)", Verdict.INCOMPLETE, "", "cancelled"),
    _marker(r"^##\[error\].*shutdown signal", Verdict.INCOMPLETE, "", "cancelled"),
    _marker(
        r"^##\[error\] ?(?:Process completed with exit code|.*exit(?:ed)? (?:with )?code"
        r"|Bash exited)",
        Verdict.FAILED,
        "target",
        "job",
    ),
    _marker(r"^##\[error\]|^::error\b|^##vso\[task", Verdict.FAILED, "target", "job"),
    _marker(
        r"^ERROR: Job failed \(system failure\)|^ERROR: Job failed: execution took longer",
        Verdict.FAILED,
        "timeout",
        "timeout",
    ),
    _marker(r"^ERROR: Job failed", Verdict.FAILED, "target", "job"),
    _marker(r"^Job succeeded", Verdict.PASSED, "", ""),
    _marker(r"^Finished: SUCCESS", Verdict.PASSED, "", ""),
    _marker(r"^Finished: UNSTABLE", Verdict.FAILED, "", "the job is unstable"),
    _marker(r"^Finished: (?:ABORTED|NOT_BUILT)", Verdict.INCOMPLETE, "", "aborted"),
    _marker(r"^Finished: [A-Z_]+", Verdict.FAILED, "", "job failed"),
    _marker(r"marked build as failure", Verdict.FAILED, "target", "job"),
    _marker(r"^Unsuccessful task run with exit code", Verdict.FAILED, "", "job failed"),
    _marker(r"^Successful task run with exit code: 0", Verdict.PASSED, "", ""),
    _marker(r"^\[taskcluster:error\]", Verdict.FAILED, "target", "job"),
    _marker(r"^Build timed out \(after", Verdict.FAILED, "timeout", "timeout"),
    _marker(r"^Command took >\d+\w+, returning 124", Verdict.FAILED, "timeout", "timeout"),
    _marker(
        r"(?i)^(?:ERROR: )?timeout: sending signal|^ERROR: Timeout ", Verdict.INCOMPLETE, "timeout", "timeout"
    ),
    _marker(r"^Build left local git repository checkout dirty", Verdict.FAILED, "error", "checkout"),
    _marker(r"(?:^|[ :])(?:Killed|Terminated)(?: +\S.*)?$", Verdict.INCOMPLETE, "target", "killed"),
    _marker(
        r"(?:^|[ :])(?:Segmentation fault|Aborted|Bus error|Illegal instruction)"
        r"(?: +\(core dumped\)| +\S.*)?$",
        Verdict.FAILED,
        "target",
        "crash",
    ),
    _marker(
        r": line \d+: .*(?:command not found|No such file or directory|Permission denied)$",
        Verdict.UNKNOWN,
        "",
        "",
    ),
)
_CONSISTENT: Final = re.compile(r"^FAILED CONSISTENTLY: (?P<name>(?P<file>\S+?)(?:::\S+)?)$")
_LINT: Final = re.compile(r"^>>> Lint for (?P<file>\S+):$")
_LINT_ROW: Final = re.compile(
    r"^ {2}(?P<level>Error|Warning|Advice|Disabled) \((?P<linter>[\w-]+)\) (?P<name>\S.*)$"
)
_GROUP: Final = re.compile(r"^##\[(?P<what>group|section|endgroup)\](?:Starting: |Finishing: )?(?P<name>.*)$")
_STATED: Final = re.compile(
    r"(?:Process completed with|Unsuccessful task run with|Job failed:) exit (?:code"
    r"|status):? (?P<code>\d+)"
)
_MAX_SECTIONS: Final = 300


class Ci:
    """Collects the wrapper's own statements."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._verdict = Verdict.UNKNOWN
        self._line = 0
        self._notes: list[str] = []
        self._sections: list[Section] = []
        self._open: tuple[str, int] | None = None
        self._lint_file = ""
        self._lint_line = 0
        self._lint: list[Failure] = []

    def feed(self, number: int, text: str) -> int:
        """Take one line."""
        if found := _GROUP.match(text):
            self._group(number, found["what"], found["name"])
            return 0
        if found := _CONSISTENT.match(text):
            self._add(number, found["name"], "target", text, found["file"])
            self._say(Verdict.FAILED, number)
            return 0
        if text.startswith(">>> Lint for ") or self._lint_file:
            return self._lint_lines(number, text)
        for marker in _MARKERS:
            if marker.pattern.search(text):
                self._mark(marker, number, text)
                break
        return 0

    def _mark(self, marker: Marker, number: int, text: str) -> None:
        self._say(marker.verdict, number)
        message = clip(text.removeprefix("##[error]").strip(), 200)
        if marker.kind:
            self._add(number, marker.name, marker.kind, text if marker.kind == "timeout" else message, None)
        elif marker.name and len(self._notes) < 20:
            self._notes.append(message)
        if (found := _STATED.search(text)) and len(self._notes) < 20:
            self._notes.append(f"the job ended with exit status {found['code']}")

    def _say(self, verdict: Verdict, number: int) -> None:
        rank = (Verdict.UNKNOWN, Verdict.PASSED, Verdict.INCOMPLETE, Verdict.ERROR, Verdict.FAILED)
        if rank.index(verdict) > rank.index(self._verdict):
            self._verdict = verdict
        self._line = number

    def _add(self, number: int, name: str, kind: str, message: str, file: str | None) -> None:
        failure = Failure(name, kind, file, None, message, number, Lines(number, number), "ci")
        self._failures.add(failure, (name, message))

    def _group(self, number: int, what: str, name: str) -> None:
        if self._open is not None and len(self._sections) < _MAX_SECTIONS:
            self._sections.append(Section(self._open[0], "group", Lines(self._open[1], number - 1)))
        self._open = (name, number) if what != "endgroup" else None

    def _lint_lines(self, number: int, text: str) -> int:
        """lintrunner: a header per file, then its findings."""
        if found := _LINT.match(text):
            self._lint_file, self._lint_line = found["file"], number
            return 400
        if (found := _LINT_ROW.match(text)) and len(self._lint) < 2000:
            file, line = self._lint_file, self._lint_line
            message = f">>> Lint for {file}: {found['linter']} {found['name']}"
            self._lint.append(
                Failure("lintrunner", "lint", file, None, message, line, Lines(line, number), "lintrunner")
            )
        elif text and not text.startswith(" "):
            self._lint_file = ""
            return 0
        return 400

    def _lint_failures(self) -> list[Failure]:
        """Of the same file and message, the last."""
        return list({failure.message: failure for failure in self._lint}.values())

    def finish(self, last: int) -> Findings:
        """The wrapper's verdict; its own complaints are "target"s, dropped where a cause is known."""
        if self._open is not None:
            self._sections.append(Section(self._open[0], "group", Lines(self._open[1], last)))
        failures = self._failures.items
        if self._lint and self._verdict is Verdict.FAILED:
            failures = [*self._lint_failures(), *failures]
        if not self._line and not self._sections:
            return Findings()
        return Findings(
            tools=("ci",) if self._line else (),
            failures=failures,
            verdict=self._verdict,
            sections=self._sections,
            notes=list(dict.fromkeys(self._notes)),
            unlisted=self._failures.unlisted,
            verdict_line=self._line,
        )


FAMILY = Family("ci", Group.CI, _TRIGGERS, Ci)
