"""``dart test --reporter json`` and ``flutter test --machine``."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ..family import MAX_TESTS, FailureSet, Family, Findings, Group
from ..frames import whole
from ..model import Failure, Lines, Verdict
from .report import dict_of, first_line, int_of, member, text_of

# Source: dart-lang/test, "JSON reporter protocol".
_FRAME: Final = re.compile(r"^\s*(?P<file>(?!package:|dart:)\S+\.dart) (?P<line>\d+):\d+")
_PACKAGE: Final = re.compile(
    r"^\s*(?P<file>package:(?!test|matcher|flutter_test|async|stack_trace)\S+\.dart) (?P<line>\d+):"
)


class DartJson:
    """Joins a test's start, its errors and its end."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, str, str | None, int | None]] = {}
        self._errors: dict[int, tuple[int, str, str]] = {}
        self._failures = FailureSet()
        self._totals = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
        self._tests: dict[str, str] = {}
        self._suites: dict[int, str] = {}
        self._success: bool | None = None
        self._seen = False

    def feed(self, number: int, text: str) -> int:
        """Take one event."""
        try:
            event: Any = json.loads(text)
        except (ValueError, RecursionError):
            return 0
        for row in event if isinstance(event, list) else [event]:  # pyright: ignore[reportUnknownVariableType]
            self._event(number, row)
        return 0

    def _event(self, number: int, event: Any) -> None:
        what = text_of(event, "type")
        if what == "start" and "protocolVersion" in dict_of(event):
            self._seen = True
        elif what == "suite":
            self._suites[int_of(event, "suite", "id") or 0] = text_of(event, "suite", "path")
        elif what == "testStart":
            test = member(event, "test")
            place = text_of(test, "root_url") or text_of(test, "url")
            file = place.removeprefix("file://") or self._suites.get(int_of(test, "suiteID") or 0)
            line = int_of(test, "root_line") or int_of(test, "line")
            if len(self._open) < MAX_TESTS:
                self._open[int_of(test, "id") or 0] = (number, text_of(test, "name"), file or None, line)
        elif what == "error":
            key = int_of(event, "testID") or 0
            self._errors.setdefault(key, (number, text_of(event, "error"), text_of(event, "stackTrace")))
        elif what == "testDone":
            self._done(number, event)
        elif what == "done":
            self._success = member(event, "success") is True

    def _done(self, number: int, event: Any) -> None:
        key = int_of(event, "testID") or 0
        start, name, file, line = self._open.pop(key, (number, f"test {key}", None, None))
        error = self._errors.pop(key, None)
        word = {"success": "passed", "failure": "failed"}.get(text_of(event, "result"), "error")
        if member(event, "skipped") is True:
            word = "skipped"
        if member(event, "hidden") is True and word == "passed":
            return
        self._totals["errors" if word == "error" else word] += 1
        if len(self._tests) < MAX_TESTS:
            self._tests[name] = word
        if word not in ("failed", "error"):
            return
        at, message, stack = error or (number, name, "")
        found = next(
            (m for form in (_FRAME, _PACKAGE) for row in stack.split("\n") if (m := form.match(row))), None
        )
        if found:
            file, line = found["file"], whole(found["line"])
        block = Lines(min(start, at), number)
        self._failures.add(Failure(name, word, file, line, first_line(message), at, block, "dart test"))

    def finish(self, last: int) -> Findings:
        """The run's own verdict; without its end it is incomplete."""
        if not self._seen:
            return Findings()
        if len(self._failures) or self._success is False:
            verdict = Verdict.FAILED
        else:
            verdict = Verdict.PASSED if self._success else Verdict.INCOMPLETE
        found = Findings(("dart test json",), self._failures.items, self._totals, verdict, tests=self._tests)
        found.unlisted = self._failures.unlisted
        return found


FAMILY: Final = Family(
    "dart test json",
    Group.TESTS,
    (
        r'^\[?\{"protocolVersion":',
        r'"type":"(?:suite|testStart|testDone|error|done)"',
        r'^\{"(?:suite|test|testID|success)":',
    ),
    DartJson,
    full_lines=True,
)
