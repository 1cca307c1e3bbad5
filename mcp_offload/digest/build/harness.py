"""Harness lines: Mozilla's TEST-UNEXPECTED, mozharness' last word, lintrunner, shell scripts run with ``-x``."""

from __future__ import annotations

import re
from typing import Final

from ..family import MAX_TESTS, Family, FailureSet, Findings, Group
from ..model import Failure, Lines, Verdict
from .collect import Collector, Draft

# Source: mozlog's tbpl formatter and structured log states.
_UNEXPECTED: Final = re.compile(r"^(?P<state>TEST-UNEXPECTED-\w+|PROCESS-CRASH) \| (?P<test>[^|]+?)(?: \| (?P<detail>.*))?$")
_RESULT: Final = re.compile(r"^TEST-(?P<state>OK|PASS|SKIP|KNOWN-FAIL) \| (?P<test>[^|]+?)(?: \| .*)?$")
_NOT_RUN: Final = re.compile(r"^'(?P<command>[^']+)' did not run successfully")


class Mozilla:
    """Each unexpected line is a failure, passes that were not expected included."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._tests: dict[str, str] = {}
        self._fatal: Failure | None = None
        self._seen = False

    def feed(self, number: int, text: str) -> int:
        """Take a result line."""
        found = _UNEXPECTED.match(text)
        if found:
            self._seen = True
            test, detail = found["test"].strip(), (found["detail"] or "").strip()
            subtest = detail.rsplit(" - ", 1)[0] if " - " in detail else ""
            name = f"{test} | {subtest}" if subtest else test
            kind = "crash" if "CRASH" in found["state"] else "timeout" if "TIMEOUT" in found["state"] else "failed"
            file = test.split("?")[0] if "/" in test or "." in test else None
            failure = Failure(name, kind, file, None, text, number, Lines(number, number + 1), "mozlog")
            self._failures.add(failure, (found["state"], test, detail))
            if len(self._tests) < MAX_TESTS:
                self._tests[name] = "failed"
            return 0
        fatal = _NOT_RUN.match(text)
        if fatal and self._fatal is None:
            block = Lines(number, number)
            self._fatal = Failure(fatal["command"], "error", None, None, text, number, block, "mozharness")
        return 0

    def finish(self, last: int) -> Findings:
        """Unexpected results as counted."""
        failures = list(self._failures.items)
        tools = ("mozlog",) if self._seen else ()
        if self._fatal is not None:
            failures.append(self._fatal)
            tools = (*tools, "mozharness")
        if not tools:
            return Findings()
        totals = {"failed": len(self._failures)} if self._seen else {}
        found = Findings(tools, failures, totals, Verdict.FAILED, tests=self._tests)
        found.unlisted = self._failures.unlisted
        return found


_LINT_FILE: Final = re.compile(r"^>>> Lint for (?P<file>.+?):$")
_LINT_ROW: Final = re.compile(r"^\s+(?P<severity>Error|Warning|Advice|Disabled) \((?P<linter>\w+)\) (?P<code>\S.*)$")


class Lintrunner:
    """One failure for each file; its message names the findings."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int, int, dict[str, int]]] = {}
        self._file = ""
        self._failed = False
        self._clean = False

    def feed(self, number: int, text: str) -> int:
        """Take a file's head, a finding, or the closing line."""
        found = _LINT_FILE.match(text)
        if found:
            self._file = found["file"]
            _, _, codes = self._files.get(self._file, (0, 0, {}))
            self._files[self._file] = (number, number, codes)
            return 0
        row = _LINT_ROW.match(text)
        if row and self._file:
            start, _, codes = self._files[self._file]
            code = f"{row['linter']} {row['code'].strip()}"
            codes[code] = codes.get(code, 0) + 1
            self._files[self._file] = (start, number, codes)
        elif text.startswith("Lint failed"):
            self._failed = True
        elif text.startswith("ok No lint issues"):
            self._clean = True
        return 0

    def finish(self, last: int) -> Findings:
        """Files with findings are failures."""
        if not (self._files or self._clean):
            return Findings()
        failures: list[Failure] = []
        for file, (start, end, codes) in self._files.items():
            listed = ", ".join(f"{code} x{count}" if count > 1 else code for code, count in list(codes.items())[:12])
            message = f">>> Lint for {file}: {listed}" if listed else f">>> Lint for {file}:"
            failures.append(Failure("lintrunner", "lint", file, None, message, start, Lines(start, end), "lintrunner"))
        verdict = Verdict.FAILED if failures else Verdict.PASSED
        return Findings(("lintrunner",), failures[:5000], {"errors": len(failures)}, verdict)


_TRACE: Final = re.compile(r"^\++ (?P<command>\S+)(?: (?P<rest>.*))?$")


class ShellTrace:
    """Of a script that leaves with ``exit 1`` after having said why, what it said is the failure."""

    def __init__(self) -> None:
        self._account = Collector()
        self._said: tuple[int, str] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a traced command."""
        found = _TRACE.match(text)
        if not found:
            return 0
        command, rest = found["command"], (found["rest"] or "").strip()
        if command == "echo":
            if self._said is None and len(rest.strip("'\"")) > 3:
                self._said = (number + 1, rest.strip("'\""))
            return 1
        if command == "exit" and rest.isdigit() and int(rest) and self._said is not None:
            at, message = self._said
            draft = Draft(message, "target", None, None, message, at, "shell", None, at, number)
            self._account.open(draft)
            self._account.close()
        self._said = None
        return 0

    def finish(self, last: int) -> Findings:
        """A reason for leaving is a wrapper's word: it counts where nothing else explains the failure."""
        found = self._account.findings()
        found.totals = {}
        return found


MOZILLA: Final = Family(
    "mozilla",
    Group.TESTS,
    (r"^TEST-UNEXPECTED-\w+ \| ", r"^PROCESS-CRASH \| ", r"^'[^']+' did not run successfully"),
    Mozilla,
)
LINTRUNNER: Final = Family(
    "lintrunner",
    Group.LINT,
    (r"^>>> Lint for .+:$", r"^\s+(?:Error|Warning|Advice) \(\w+\) \S", r"^Lint failed", r"^ok No lint issues"),
    Lintrunner,
)
SHELL: Final = Family("shell trace", Group.BUILD, (r"^\++ \S",), ShellTrace)
