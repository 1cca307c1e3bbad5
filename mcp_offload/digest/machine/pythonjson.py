"""pytest-reportlog, and mypy's ``--output json``."""

from __future__ import annotations

import json
from typing import Any, Final

from ..family import MAX_TESTS, FailureSet, Family, Findings, Group
from ..frames import locate
from ..model import Failure, Lines, Verdict
from .report import KEYS, dict_of, first_line, int_of, list_of, text_of

_EXIT: Final = {0: Verdict.PASSED, 1: Verdict.FAILED, 2: Verdict.INCOMPLETE}


class ReportLog:
    """Joins the phases of each test; the last outcome after reruns is the test's."""

    def __init__(self) -> None:
        self._tests: dict[str, str] = {}
        self._failures: dict[tuple[str, str], Failure] = {}
        self._tool = ""
        self._exit: int | None = None
        self._flaky: set[str] = set()

    def feed(self, number: int, text: str) -> int:
        """Take one report."""
        try:
            event: Any = json.loads(text)
        except (ValueError, RecursionError):
            return 0
        kind = text_of(event, "$report_type")
        if kind == "SessionStart":
            self._tool = f"pytest {text_of(event, 'pytest_version')}".strip()
        elif kind == "SessionFinish":
            self._exit = int_of(event, "exitstatus")
        elif kind == "TestReport":
            self._report(number, event)
        elif kind == "CollectReport" and text_of(event, "outcome") == "failed":
            self._tests[text_of(event, "nodeid")] = "error"
            self._fail(number, event, "error")
        self._tool = self._tool or ("pytest" if kind else "")
        return 0

    def _report(self, number: int, event: Any) -> None:
        name, when, outcome = text_of(event, "nodeid"), text_of(event, "when"), text_of(event, "outcome")
        expected = "wasxfail" in dict_of(event)
        if outcome == "rerun":
            self._flaky.add(name)
            return
        word = outcome
        if outcome == "failed" and when != "call":
            word = "error"
        elif outcome == "skipped" and expected:
            word = "xfailed"
        elif outcome == "passed":
            if when != "call":
                return
            word = "xpassed" if expected else "passed"
        if word not in KEYS:
            return
        if word == "error" and self._tests.get(name) == "failed":
            name = f"{name} ({when})"
        if name in self._tests or len(self._tests) < MAX_TESTS:
            self._tests[name] = word
        if word in ("failed", "error"):
            self._fail(number, event, word)

    def _fail(self, number: int, event: Any, word: str) -> None:
        name = text_of(event, "nodeid")
        crash = dict_of(event, "longrepr", "reprcrash")
        where = (text_of(crash, "path") or None, int_of(crash, "lineno"))
        message = text_of(crash, "message")
        if not message:
            longrepr = dict_of(event).get("longrepr")
            text = longrepr if isinstance(longrepr, str) else "\n".join(map(str, list_of(event, "longrepr")))
            text = text or text_of(event, "longrepr", "longrepr")
            where = locate(text, last=True)
            rows = [row for row in text.split("\n") if row.strip()]
            message = next(
                (r[1:].strip() for r in reversed(rows) if r.startswith("E  ")), rows[-1] if rows else ""
            )
        if where[0] is None:
            where = (name.split("::")[0] or None, None)
        if len(self._failures) < MAX_TESTS:
            block = Lines(number, number)
            self._failures[name, word] = Failure(
                name, word, *where, first_line(message), number, block, "reportlog"
            )

    def finish(self, last: int) -> Findings:
        """Totals by final outcome; no SessionFinish means the run did not end."""
        if not self._tool:
            return Findings()
        totals = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        for word in self._tests.values():
            totals[KEYS[word]] = totals.get(KEYS[word], 0) + 1
        if self._exit is not None:
            verdict = _EXIT.get(self._exit, Verdict.ERROR)
        else:
            verdict = Verdict.FAILED if self._failures else Verdict.INCOMPLETE
        notes = [] if self._exit is not None else ["the report has no end"]
        failures = list(self._failures.values())
        return Findings((self._tool,), failures, totals, verdict, notes=notes, tests=self._tests)


class MypyJson:
    """Reads the diagnostics of mypy and ruff, one object a line."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._tool = ""
        self._warnings = 0

    def feed(self, number: int, text: str) -> int:
        """Take one diagnostic."""
        try:
            row: Any = json.loads(text)
        except (ValueError, RecursionError):
            return 0
        if isinstance(dict_of(row).get("location"), dict) and text_of(row, "filename"):
            return self._ruff(number, row)
        severity = text_of(row, "severity")
        if not severity:
            return 0
        self._tool = "mypy json"
        if severity != "error":
            self._warnings += severity == "warning"
            return 0
        message = first_line(text_of(row, "message"))
        name, block = text_of(row, "code") or message, Lines(number, number)
        where = (text_of(row, "file") or None, int_of(row, "line"))
        self._failures.add(
            Failure(name, "lint", *where, message, number, block, "mypy", int_of(row, "column"))
        )
        return 0

    def _ruff(self, number: int, row: Any) -> int:
        """Ruff's ``json-lines``."""
        self._tool = "ruff json"
        message, block = first_line(text_of(row, "message")), Lines(number, number)
        where = (text_of(row, "filename"), int_of(row, "location", "row"))
        name, column = text_of(row, "code") or "invalid-syntax", int_of(row, "location", "column")
        self._failures.add(Failure(name, "lint", *where, message, number, block, "ruff", column))
        return 0

    def finish(self, last: int) -> Findings:
        """Errors as counted."""
        if not self._tool:
            return Findings()
        verdict = Verdict.FAILED if len(self._failures) else Verdict.UNKNOWN
        totals = {"errors": len(self._failures), "warnings": self._warnings}
        return Findings(
            (self._tool,), self._failures.items, totals, verdict, unlisted=self._failures.unlisted
        )


REPORTLOG: Final = Family(
    "pytest-reportlog", Group.TESTS, (r'^\{.*"\$report_type": ?"',), ReportLog, full_lines=True
)
MYPY: Final = Family(
    "mypy json",
    Group.LINT,
    (r'^\{"file": ".*"severity": "', r'^\{"cell":.*"filename":'),
    MypyJson,
    full_lines=True,
)
