"""``cargo --message-format=json`` and libtest's ``--format json``."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ..family import MAX_TESTS, FailureSet, Family, Findings, Group
from ..frames import locate, whole
from ..model import Failure, Lines, Verdict
from .report import dict_of, first_line, int_of, list_of, member, text_of

_SUMMARY: Final = re.compile(r"^(?:aborting due to|could not compile|\d+ warnings? emitted)")
_PANIC: Final = re.compile(
    r"panicked at (?:'(?P<old>.*)', )?(?P<file>[^\s:]+):(?P<line>\d+):\d+:?(?:\n(?P<message>.*))?"
)


class CargoJson:
    """Reads compiler messages; a message counts once however many targets repeat it."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._warnings = 0
        self._success: bool | None = None
        self._seen = False

    def feed(self, number: int, text: str) -> int:
        """Take one message."""
        try:
            event: Any = json.loads(text)
        except (ValueError, RecursionError):
            return 0
        reason = text_of(event, "reason")
        self._seen = self._seen or bool(reason)
        if reason == "build-finished":
            self._success = dict_of(event).get("success") is True
        elif reason == "compiler-message":
            self._message(number, dict_of(event, "message"))
        return 0

    def _message(self, number: int, message: dict[str, Any]) -> None:
        level, text = text_of(message, "level"), text_of(message, "message")
        if _SUMMARY.match(text):
            return
        if level == "warning":
            self._warnings += 1
        if not level.startswith("error"):
            return
        spans = list_of(message, "spans")
        primary: Any = next(
            (span for span in spans if member(span, "is_primary")), spans[0] if spans else None
        )
        file, line = text_of(primary, "file_name") or None, int_of(primary, "line_start")
        name = text_of(message, "code", "code") or first_line(text)
        block = Lines(number, number)
        column = int_of(primary, "column_start")
        self._failures.add(
            Failure(name, "compile", file, line, first_line(text), number, block, "rustc", column)
        )

    def finish(self, last: int) -> Findings:
        """Errors as counted; the verdict is the build's own where it states one."""
        if not self._seen:
            return Findings()
        if len(self._failures) or self._success is False:
            verdict = Verdict.FAILED
        else:
            verdict = Verdict.PASSED if self._success else Verdict.INCOMPLETE
        totals = {"errors": len(self._failures), "warnings": self._warnings}
        return Findings(
            ("cargo json",), self._failures.items, totals, verdict, unlisted=self._failures.unlisted
        )


class LibtestJson:
    """Reads libtest's events."""

    _WORDS: Final = {"ok": "passed", "failed": "failed", "ignored": "skipped", "timeout": ""}

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._totals = {"passed": 0, "failed": 0, "skipped": 0}
        self._tests: dict[str, str] = {}
        self._open = 0
        self._seen = False

    def feed(self, number: int, text: str) -> int:
        """Take one event."""
        try:
            event: Any = json.loads(text)
        except (ValueError, RecursionError):
            return 0
        what, name = text_of(event, "event"), text_of(event, "name")
        if text_of(event, "type") == "suite":
            self._seen = True
            self._open += 1 if what == "started" else -1
        elif text_of(event, "type") == "test" and self._WORDS.get(what):
            word = self._WORDS[what]
            self._totals[word] += 1
            if len(self._tests) < MAX_TESTS:
                self._tests[name] = word
            if word == "failed":
                self._fail(number, name, text_of(event, "stdout"))
        return 0

    def _fail(self, number: int, name: str, output: str) -> None:
        found = _PANIC.search(output)
        file, line = (found["file"], whole(found["line"])) if found else locate(output)
        message = (found["old"] or found["message"] or "") if found else first_line(output)
        block = Lines(number, number)
        self._failures.add(
            Failure(name, "failed", file, line, message or name, number, block, "libtest json")
        )

    def finish(self, last: int) -> Findings:
        """Totals over all suites; a suite without an end makes the run incomplete."""
        if not self._seen:
            return Findings()
        verdict = Verdict.PASSED if sum(self._totals.values()) else Verdict.UNKNOWN
        if self._open > 0:
            verdict = Verdict.INCOMPLETE
        if len(self._failures):
            verdict = Verdict.FAILED
        found = Findings(("libtest json",), self._failures.items, self._totals, verdict, tests=self._tests)
        found.unlisted = self._failures.unlisted
        return found


CARGO: Final = Family("cargo json", Group.BUILD, (r'^\{"reason":"',), CargoJson, full_lines=True)
LIBTEST: Final = Family(
    "libtest json", Group.TESTS, (r'^\{ ?"type": ?"(?:suite|test)"',), LibtestJson, full_lines=True
)
