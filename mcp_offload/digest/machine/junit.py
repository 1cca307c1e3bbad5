"""JUnit XML in its dialects: Ant, Surefire, Gradle, pytest, PHPUnit, jest-junit, gtest, gotestsum."""

from __future__ import annotations

import re
from typing import Final

from ..frames import locate
from .report import Tally, first_line, int_of

_FRAME: Final = re.compile(r"^\s*(?:at |#\d|File \"|/|[A-Za-z]:\\|\.{3} \d+ more|in .+:\d+$|\(in test file)")
# Source: GoogleTest's XML output puts the place on the first line of a message.
_PLACE: Final = re.compile(r"^(?:unknown file|\S+\.\w+:\d+)$")
_VAGUE: Final = frozenset(("", "failed", "test failed", "failure", "error", "[no message]", "null"))
_KINDS: Final = {"failure": "failed", "error": "error"}
_PLAIN_TYPES: Final = re.compile(r"(?i)assert|failure|^failed$|^error$|^exception$")


def decisive(message: str, kind: str, body: str, name: str) -> str:
    """Choose the line that says most: the attribute, else the text's first line that is no frame."""
    head = first_line(message)
    if _PLACE.match(head) and (rest := message.strip().partition("\n")[2].strip()):
        head = first_line(rest)
    if head.lower() in _VAGUE or head == name:
        rows = [row.strip() for row in body.split("\n") if row.strip() and not _FRAME.match(row)]
        rows = [row for row in rows if not row.endswith(f"::{name}")] or rows
        asserting = [row for row in rows if row.startswith("Failed asserting")]
        head = first_line((asserting or rows or [""])[0]) or head or kind
    short = re.split(r"[.\\]", kind)[-1]
    if short and short not in head and not _PLAIN_TYPES.search(short):
        head = f"{short}: {head}"
    return head


class JUnit:
    """Counts test cases; takes the sums of the outermost suites only where cases are missing."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._suites: list[tuple[dict[str, str], int]] = []
        self._case: dict[str, str] | None = None
        self._case_line = 0
        self._word = "passed"
        self._found: tuple[str, str, str, int] | None = None
        self._open: tuple[str, dict[str, str], int] | None = None
        tally.tool("junit-xml")

    def start(self, name: str, attributes: dict[str, str], line: int) -> bool:
        """Open a suite, a case or one of its outcomes."""
        if name in ("testsuite", "testsuites"):
            self._suites.append((attributes, line))
        elif name == "testcase":
            self._case, self._case_line, self._word, self._found = attributes, line, "passed", None
            if attributes.get("status", "").lower() in ("notrun", "disabled", "skipped", "pending"):
                self._word = "skipped"
        elif name in _KINDS:
            self._open = (name, attributes, line)
            return True
        elif name == "skipped" and self._word == "passed":
            xfail = attributes.get("type") == "pytest.xfail"
            self._word = "xfailed" if xfail else "skipped"
        elif name in ("flakyFailure", "flakyError") and self._word == "passed":
            self._word = "flaky"
        return False

    def end(self, name: str, text: str, line: int) -> None:
        """Close a suite, a case or one of its outcomes."""
        if name in _KINDS and self._open is not None:
            self._outcome(name, text, line)
            self._open = None
        elif name == "testcase" and self._case is not None:
            self._close_case(line)
            self._case = None
        elif name in ("testsuite", "testsuites") and self._suites:
            attributes, _ = self._suites.pop()
            if not self._suites:
                self._sums(attributes)

    def _outcome(self, name: str, text: str, line: int) -> None:
        assert self._open is not None
        _, attributes, at = self._open
        message, kind = attributes.get("message", ""), attributes.get("type", "")
        if self._case is None:  # a suite that failed as a whole
            suite = self._suites[-1][0].get("name", "suite") if self._suites else "suite"
            self._tally.count("errors")
            self._tally.fail(
                suite, "error", locate(text), decisive(message, kind, text, suite), (at, at, line)
            )
            return
        if self._found is None or (name == "failure" and self._word == "error"):
            self._found = (message, kind, text, at)
        self._word = "failed" if name == "failure" or self._word == "failed" else "error"

    def _close_case(self, line: int) -> None:
        assert self._case is not None
        name, group = self._case.get("name", ""), self._case.get("classname", "")
        case_name = self._full(name, group, php=self._case.get("file", "").endswith(".php"))
        if self._found is None:
            self._tally.outcome(case_name, self._word)
            return
        message, kind, text, at = self._found
        self._tally.outcome(case_name, self._word)
        where = self._where(message, text, name, group)
        self._tally.fail(
            case_name, self._word, where, decisive(message, kind, text, name), (at, self._case_line, line)
        )

    @staticmethod
    def _full(name: str, group: str, *, php: bool) -> str:
        if not group or name.startswith(group) or group.endswith(name):
            return name or group
        return f"{group}::{name}" if php else f"{group}.{name}"

    def _where(self, message: str, text: str, name: str, group: str) -> tuple[str | None, int | None]:
        """Prefer a frame of the test's own class, then any frame of the user's, then the attributes."""
        assert self._case is not None
        own = group.rsplit(".", 1)[-1].split("$")[0]
        file, number = self._case.get("file"), int_of(self._case.get("line"))
        found = locate(text, prefer=own or name)
        if found[0] is None and message:
            found = locate(message, prefer=own)
        if found[0] is not None:
            if file and file.endswith(f"/{found[0]}"):
                return file, found[1]
            return found
        if not file and self._suites:
            file = self._suites[-1][0].get("file") or self._suites[-1][0].get("filepath")
        return file, number

    def _sums(self, attributes: dict[str, str]) -> None:
        """Take a root's sums where they tell of more than the cases do."""
        for key, total in (("failures", "failed"), ("errors", "errors")):
            number = int_of(attributes.get(key))
            counted = self._tally.counts.get("failed", 0) + self._tally.counts.get("errors", 0)
            if number and number > counted and not self._tally.counts.get(total):
                self._tally.counts[total] = number
