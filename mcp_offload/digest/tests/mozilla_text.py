"""Mozilla's test harnesses (mozlog "tbpl" lines): mochitest, reftest, xpcshell, web-platform-tests."""

from __future__ import annotations

import re
from typing import Final

from ..family import CUT, MAX_FAILURES, Family, Findings, Group
from ..model import Failure, Lines, Verdict

_LINE: Final = re.compile(
    r"^(?:\S+ INFO \| )?(?P<word>TEST-UNEXPECTED-[A-Z]+|PROCESS-CRASH) \| "
    r"(?P<test>[^|]*?) \| ?(?P<message>.*)$"
)
_TWO: Final = re.compile(r"^(?P<word>TEST-UNEXPECTED-[A-Z]+|PROCESS-CRASH) \| (?P<test>[^|]+)$")
_START: Final = re.compile(r"^(?:SUITE-START|SUITE_START) \|")
_END: Final = re.compile(r"^(?:SUITE-END|SUITE_END) \|")
_PLACE: Final = re.compile(r"@(?P<url>\S+?):(?P<line>\d+):\d+$")


class MozillaText:
    """Each test and message once; an unexpected pass is a failure too."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Failure] = {}
        self._start = 0
        self._end = 0
        self._last = 0
        self._unlisted = 0
        self._wanted: tuple[str, str] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a line; the few after an unexpected result may hold its stack."""
        if _START.match(text):
            self._start, self._end = self._start or number, 0
        elif _END.match(text):
            self._end = number
        elif found := _LINE.match(text) or _TWO.match(text):
            message = found.groupdict().get("message") or ""
            return self._add(number, found["word"], found["test"].strip(), message.strip())
        elif self._wanted is not None:
            return self._detail(number, text)
        return 0

    def _add(self, number: int, word: str, test: str, message: str) -> int:
        self._last = number
        self._wanted = None
        key = (test, message)
        if key in self._found:
            return 0
        if len(self._found) >= MAX_FAILURES:
            self._unlisted += 1
            return 0
        kind = "crash" if word == "PROCESS-CRASH" else "timeout" if word.endswith("TIMEOUT") else "failed"
        text = f"{word} | {test} | {message}".removesuffix(" | ")
        self._found[key] = Failure(
            test, kind, test or None, None, text, number, Lines(number, number), "mozlog"
        )
        self._wanted = key
        return 6

    def _detail(self, number: int, text: str) -> int:
        key = self._wanted
        if key is None or not text or text.startswith(("TEST-", "PID ")):
            self._wanted = None
            return 0
        known = self._found[key]
        line = known.line
        if (
            line is None
            and (found := _PLACE.search(text))
            and known.file
            and known.file.split("/")[-1] in found["url"]
        ):
            line = int(found["line"])
        block = Lines(known.block.start, number)
        self._found[key] = Failure(
            known.name, known.kind, known.file, line, known.message, known.log_line, block, known.tool
        )
        return 6 if number - known.block.start < 20 else 0

    def finish(self, last: int) -> Findings:
        """Counts are not stated in these logs, so there are none."""
        failures = list(self._found.values())
        if not failures and not self._start:
            return Findings()
        cut = self._start and not self._end
        verdict = Verdict.FAILED if failures else Verdict.INCOMPLETE if cut else Verdict.UNKNOWN
        notes = [CUT] if cut else []
        totals = {"failed": len(failures) + self._unlisted} if failures else {}
        return Findings(("mozlog",), failures, totals, verdict, notes=notes, unlisted=self._unlisted)


FAMILY = Family(
    "mozlog",
    Group.TESTS,
    (r"TEST-UNEXPECTED-[A-Z]+ \| ", r"^PROCESS-CRASH \| ", r"^SUITE[-_](?:START|END) \|"),
    MozillaText,
)
