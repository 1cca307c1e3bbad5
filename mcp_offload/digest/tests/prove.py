"""``prove`` (Perl's TAP harness), by its closing report."""

from __future__ import annotations

import re

from ..family import FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict

# Source: TAP::Formatter::Base (Test-Harness 3.x), summary().
_FILE = re.compile(
    r"^(?P<file>\S+)\s+\(Wstat: (?P<wstat>\d+).* Tests: (?P<tests>\d+) Failed: "
    r"(?P<failed>\d+)\)"
)
_END = re.compile(r"^Files=\d+, Tests=(?P<tests>\d+), +(?P<seconds>\d+) wallclock")
_RESULT = re.compile(r"^Result: (?P<word>PASS|FAIL|NOTESTS)$")


class Prove:
    """Keeps the table of failed files and the two closing lines."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._failed = 0
        self._tests: int | None = None
        self._seconds: float | None = None
        self._word = ""
        self._first = 0

    def feed(self, number: int, text: str) -> int:
        """Read one line of the closing report."""
        self._first = self._first or number
        if found := _FILE.match(text):
            self._failed += int(found["failed"])
            message = f"failed {found['failed']} of {found['tests']} tests (wait status {found['wstat']})"
            block = Lines(number, number + 1)
            name = found["file"]
            self._failures.add(Failure(name, "failed", name, None, message, number, block, "prove"))
            return 1  # the line with the numbers of the failed tests
        if found := _END.match(text):
            self._tests, self._seconds = int(found["tests"]), float(found["seconds"])
        elif found := _RESULT.match(text):
            self._word = found["word"]
        return 0

    def finish(self, last: int) -> Findings:
        """Totals from ``Files=``, verdict from ``Result:``."""
        if self._tests is None and not self._word:
            return Findings()
        totals = {"failed": self._failed}
        if self._tests is not None:
            totals["passed"] = max(0, self._tests - self._failed)
        verdicts = {"PASS": Verdict.PASSED, "FAIL": Verdict.FAILED, "NOTESTS": Verdict.ERROR}
        return Findings(
            tools=("prove",),
            failures=self._failures.items,
            totals=totals,
            verdict=verdicts.get(self._word, Verdict.INCOMPLETE),
            duration_seconds=self._seconds,
            unlisted=self._failures.unlisted,
        )


FAMILY = Family(
    "prove",
    Group.TESTS,
    (r"\(Wstat: \d+", r"^Files=\d+, Tests=\d+", r"^Result: (?:PASS|FAIL|NOTESTS)$"),
    Prove,
)
