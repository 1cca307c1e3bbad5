"""pytest 3 to 9 as text: sessions, blocks, recap and closing line; xdist, reruns, subtests, sugar."""

from __future__ import annotations

import re
from typing import Final

from ..family import ALL, MAX_FAILURES, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Section, Verdict
from .pytest_block import Draft, one_line
from .pytest_recap import Summary, parse_recap, parse_summary
from .pytest_run import Run

_START: Final = re.compile(r"^=+ test session starts(?: \(.*\))? =+$|^Test session starts \(platform: ")
_SECTION: Final = re.compile(
    r"^=+ (?P<name>ERRORS|FAILURES|PASSES|XFAILURES|XPASSES|warnings summary.*"
    r"|short test summary info|rerun test summary info"
    r"|slowest .*durations|tests coverage|.*[Cc]overage.*|Captured .*|memray report"
    r"|.*[Ss]ummary.*|FLAKY .*) =+$"
)
_BLOCK: Final = re.compile(r"^(?:_+|―+) (?P<name>\S.*?) (?:_+|―+)$")
_BANG: Final = re.compile(r"^!{3,} (?P<text>.+?) !{3,}$")
_PERCENT: Final = re.compile(r"\[ *(?P<percent>\d+)%\]$")
_PROGRESS: Final = re.compile(r"^[.FEsxXRu,-]+ +\[ *\d+%\]$")
# Progress of a file, pytest-sugar's included; ends a block that stands among the progress.
_FILE_PROGRESS: Final = re.compile(
    r"^(?:(?P<file>\S+) (?P<marks>[.FEsxXRu]+)(?: +\[ *\d+%\])?| ?\S.* \d+% [▏▎▍▌▋▊▉█].*)$"
)
_VERSION: Final = re.compile(r"\bpytest-(?P<version>\d[\w.]*)")
_INTERNAL: Final = re.compile(r"^(?:\[gw\d+\] )?INTERNALERROR> ?(?P<text>.*)$")
_USAGE: Final = re.compile(r"^(?P<program>\S*(?:pytest|py\.test|__main__\.py)\S*): error: (?P<text>.+)$")
_NOT_FOUND: Final = re.compile(
    r"^ERROR: (?P<text>(?:file or directory not found|not found"
    r"|module or package not found): ?.*)$"
)
_CONFTEST: Final = re.compile(
    r"^(?:ImportError while loading conftest|E?R?R?O?R?:? ?ConftestImportFailure:?) '?"
    r"(?P<file>[^']*)'?\.?$"
)
# Source: tox 4 ("py311: commands[0]> ..."), tox 3 ("py311 run-test: commands[0] | ..." or "runtests:").
_TOX: Final = re.compile(
    r"^(?P<env>[\w.\-]+)(?:: commands\[\d+\]>| run-test: commands\[\d+\] \|"
    r"|\s+runtests: commands\[\d+\] \|)"
)
_NOX: Final = re.compile(r"^nox > Running session (?P<env>\S+)$")
_SUGAR: Final = re.compile(r"^Results \((?P<seconds>[\d.]+)s\):$")
_SUGAR_COUNT: Final = re.compile(
    r"^ {4,}(?P<count>\d+) (?P<word>passed|failed|skipped|xfailed|xpassed|error|errors"
    r"|deselected)$"
)
_MAX_RUNS: Final = 500


class PytestText:
    """Follows pytest sessions through a log."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._run: Run | None = None
        self._env = ""
        self._broken: list[Failure] = []
        self._conftest: Draft | None = None
        self._internal: Failure | None = None
        self._sugar: dict[str, int] | None = None
        self._sugar_seconds = 0.0

    # --- reading ----------------------------------------------------------------------------------

    def feed(self, number: int, text: str) -> int:
        """Take a line; everything is wanted while a session is open."""
        if self._conftest is not None and self._conftest_line(number, text):
            return 1
        if text[:1] != " " and (found := _TOX.match(text) or _NOX.match(text)):
            self._run, self._env = None, found["env"]
            return 0
        if found := _INTERNAL.match(text):
            self._internal_line(number, found["text"])
        elif self._run is None or self._run.summary is not None:
            self._outside(number, text)
        else:
            self._inside(self._run, number, text)
        run = self._run
        return ALL if run is not None and run.summary is None else (1 if self._conftest else 0)

    def _outside(self, number: int, text: str) -> None:
        """No session is open, or the one that is seems to have ended."""
        if self._errors_before_sessions(number, text):
            return
        run = self._run
        if _START.match(text):
            self._open(number, header=True)
            return
        progress = _PROGRESS.match(text)
        section = _SECTION.match(text)
        if run is not None and run.summary is not None and (run.settled or (progress and run.percent == 100)):
            run = None
        if run is None and not progress and not section and parse_summary(text, number) is None:
            return
        if (
            run is None
            and not progress
            and section
            and section["name"] not in {"FAILURES", "ERRORS", "short test summary info"}
        ):
            return
        if run is None:
            run = self._open(number, header=False)
        run.summary = None
        self._inside(run, number, text)

    def _open(self, number: int, *, header: bool) -> Run:
        run = Run(number, self._env, header, last=number)
        if len(self._runs) < _MAX_RUNS:
            self._runs.append(run)
        self._run = run
        return run

    def _inside(self, run: Run, number: int, text: str) -> None:
        first = text[:1]
        if run.instant and (_FILE_PROGRESS.match(text) or run.is_result(text)):
            run.instant, run.section = False, "progress"
        if first == "=" or text[:8] == "Test ses":
            if self._rule(run, number, text):
                return
        elif first in "_―" and (found := _BLOCK.match(text)) and self._has_blocks(run, found["name"], first):
            if not found["name"].startswith("_ "):
                run.open_block(found["name"], number)
                run.last = number
            elif run.block:
                run.block.feed(number, text)
            return
        elif first == "!" and (bang := _BANG.match(text)):
            self._bang(run, number, bang["text"])
            return
        elif (first.isdigit() or first == "n") and (summary := parse_summary(text, number)):
            self._close(run, summary)
            return
        self._content(run, number, text)

    def _has_blocks(self, run: Run, name: str, rule: str) -> bool:
        """True where a header opens a failure block; pytest-sugar and -instafail print them at once."""
        if run.section == "progress" and (rule == "―" or run.just_failed):
            run.instant = True
        if run.instant and not name.startswith("_ "):
            run.section = "ERRORS" if name.startswith("ERROR ") else "FAILURES"
        return run.section in {"FAILURES", "ERRORS"}

    def _rule(self, run: Run, number: int, text: str) -> bool:
        """Lines drawn with ``=``."""
        if _START.match(text):
            if run.in_output or (run.section == "PASSES"):
                run.nested = True
                self._content(run, number, text)
            else:
                self._open(number, header=True)
            return True
        if summary := parse_summary(text, number):
            self._close(run, summary)
            return True
        found = _SECTION.match(text)
        if not found:
            return False
        run.last = number
        if found["name"] == "short test summary info":
            run.recaps = []
        if not (run.nested and run.in_output and found["name"] in {"FAILURES", "ERRORS"}):
            run.section, run.instant = found["name"], False
        return True

    def _content(self, run: Run, number: int, text: str) -> None:
        section = run.section
        sugared = self._sugar is not None or text.startswith("Results (")
        if sugared and self._sugar_line(run, number, text):
            return
        if section in {"FAILURES", "ERRORS"}:
            run.last = number
            block = run.drafts[-1] if run.drafts and run.drafts[-1].section == section else None
            if block and block.name:
                block.feed(number, text)
            elif block and block.unplaced:
                block.feed_unplaced(number, text)
            elif text.strip() and not text.startswith("---") and len(run.drafts) < MAX_FAILURES:
                run.drafts.append(one_line(text, number, section))
        elif section == "short test summary info":
            recap = parse_recap(text, number)
            if recap is not None and len(run.recaps) < 20_000:
                run.last = number
                run.recaps.append(recap)
        elif section == "progress":
            self._progress(run, number, text)

    def _progress(self, run: Run, number: int, text: str) -> None:
        if found := _PERCENT.search(text):
            run.percent, run.last = int(found["percent"]), number
        if text and (run.header or run.percent):
            marks = _FILE_PROGRESS.match(text)
            run.just_failed = bool(marks and (marks["marks"] or "")[-1:] in {"F", "E"})
        if run.result_line(number, text):
            run.last = number
        elif found := _USAGE.match(text) or _NOT_FOUND.match(text):
            self._break(run, number, found["text"], "usage")
        elif run.header and not run.version and (version := _VERSION.search(text)):
            run.version, run.last = version["version"], number
        elif text.startswith(("collected ", "collecting ", "platform ", "rootdir: ", "plugins: ")):
            run.last = number
        elif "node down: Not properly terminated" in text or ("worker '" in text[:40] and "crashed" in text):
            run.notes.append(f"a test worker crashed: {text.strip()[:120]}")
            run.last = number

    def _bang(self, run: Run, number: int, text: str) -> None:
        run.last = number
        run.section = "bang"
        if text.startswith(("KeyboardInterrupt", "_pytest.outcomes.Exit", "Exit")):
            run.interrupted = True
            run.notes.append(f"interrupted: {text[:160]}")
        elif text.startswith(("Interrupted", "stopping after", "xdist.dsession.Interrupted")):
            run.notes.append(text[:160])

    def _close(self, run: Run, summary: Summary) -> None:
        run.last = summary.line
        if run.may_have_printed(summary):
            run.printed = summary
            return
        run.summary = summary
        if self._internal is not None:
            run.broken, self._internal = self._internal, None

    # --- what goes wrong outside tests ------------------------------------------------------------

    def _errors_before_sessions(self, number: int, text: str) -> bool:
        if found := _CONFTEST.match(text):
            self._conftest = Draft(found["file"], number, "ERRORS")
            return True
        found = _USAGE.match(text) or _NOT_FOUND.match(text)
        if found:
            block = Lines(number, number)
            self._broken.append(Failure("usage", "usage", None, None, found["text"], number, block, "pytest"))
            return True
        return False

    def _conftest_line(self, number: int, text: str) -> bool:
        """Read the traceback under a conftest that cannot be imported; False at its end."""
        draft = self._conftest
        if draft is None:
            return False
        error_ended = draft.message and not (text[:1] == "E" and text[1:2] in {" ", ""})
        if error_ended or not text or number - draft.start > 400:
            self._end_conftest()
            return False
        draft.feed(number, text)
        return True

    def _end_conftest(self) -> None:
        if self._conftest is not None:
            self._broken.append(self._conftest.failure("conftest", "", 0, self._conftest.start))
            self._conftest = None

    def _internal_line(self, number: int, text: str) -> None:
        known = self._internal
        start = known.block.start if known else number
        message, line = (known.message, known.log_line) if known else ("INTERNALERROR", number)
        if re.match(r"^[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b", text):
            message, line = text, number
        self._internal = Failure(
            "INTERNALERROR", "error", None, None, message, line, Lines(start, number), "pytest"
        )

    def _break(self, run: Run, number: int, text: str, name: str) -> None:
        run.last = number
        run.broken = Failure(name, "usage", None, None, text, number, Lines(number, number), "pytest")

    def _sugar_line(self, run: Run, number: int, text: str) -> bool:
        """pytest-sugar's closing list of counts."""
        if found := _SUGAR.match(text):
            self._sugar, self._sugar_seconds = (
                {"passed": 0, "failed": 0, "errors": 0, "skipped": 0},
                float(found["seconds"]),
            )
            return True
        if self._sugar is not None and (found := _SUGAR_COUNT.match(text)):
            word = "errors" if found["word"] == "error" else found["word"]
            self._sugar[word] = int(found["count"])
            run.last = number
        return self._sugar is not None

    # --- the result -------------------------------------------------------------------------------

    def finish(self, last: int) -> Findings:
        """Totals summed over sessions, failures of all."""
        self._end_conftest()
        if self._sugar is not None and self._run is not None and self._run.summary is None:
            self._run.summary = Summary(self._sugar, self._sugar_seconds, self._run.last, False)
        for run in self._runs:
            run.end()
        if self._run is not None and self._internal is not None:
            self._run.broken, self._internal = self._internal, None
        if self._internal is not None:
            self._broken.append(self._internal)
        if not self._runs and not self._broken:
            return Findings()
        findings, failures = Findings(), FailureSet()
        verdicts = [run.report(findings, failures) for run in self._runs]
        for failure in self._broken:
            failures.add(failure)
        if self._broken:
            verdicts.append(Verdict.ERROR)
            for key in ("passed", "failed", "errors", "skipped"):
                findings.totals.setdefault(key, 0)
            findings.totals["errors"] += len(self._broken)
        findings.tools = tuple(dict.fromkeys(f"pytest {run.version}".strip() for run in self._runs)) or (
            "pytest",
        )
        findings.failures = sorted(failures.items, key=lambda failure: failure.log_line)
        findings.unlisted = failures.unlisted
        findings.verdict = _worst(verdicts)
        findings.owned = [Lines(run.start, run.last) for run in self._runs] + [f.block for f in self._broken]
        findings.sections = [
            Section(f"pytest {run.env}".strip(), "suite", Lines(run.start, run.last)) for run in self._runs
        ]
        return findings


def _worst(verdicts: list[Verdict]) -> Verdict:
    for verdict in (Verdict.FAILED, Verdict.ERROR, Verdict.INCOMPLETE, Verdict.PASSED):
        if verdict in verdicts:
            return verdict
    return Verdict.UNKNOWN


FAMILY = Family(
    "pytest",
    Group.TESTS,
    (
        r"^=+ test session starts",
        r"^Test session starts \(platform",
        r"^=+ (?:ERRORS|FAILURES|short test summary info) =+$",
        r"^[.FEsxXRu,-]+ +\[ *\d+%\]$",
        r"^(?:=+ )?(?:\d+ [a-z]+|no tests (?:ran|collected)).* in \d",
        r"^(?:\[gw\d+\] )?INTERNALERROR>",
        r"(?:pytest|py\.test|__main__\.py)\S*: error: ",
        r"^ERROR: (?:file or directory |module or package )?not found: ",
        r"^ImportError while loading conftest",
        r"^[\w.\-]+: commands\[\d+\]> ",
        r"^[\w.\-]+ +run-?tests?: commands\[\d+\] \| ",
        r"^nox > Running session ",
    ),
    PytestText,
)
