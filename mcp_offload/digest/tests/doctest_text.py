"""``python -m doctest`` and doctest.testmod as they print failures."""

from __future__ import annotations

import re
from typing import Final

from ..family import CUT, FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict

_STARS: Final = re.compile(r"^\*{70}$")
_PLACE: Final = re.compile(r'^File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)$')
_END: Final = re.compile(r"^\*\*\*Test Failed\*\*\* (?P<count>\d+) failures?")
# Source: doctest's summary with -v; since Python 3.13 it leaves out what is zero.
_SUM: Final = re.compile(r"^(?P<passed>\d+) passed(?: and (?P<failed>\d+) failed)?\.$")
_TRYING: Final = "Trying:"
_GOOD: Final = "Test passed."
_LABELS: Final = ("Expected:", "Expected nothing", "Got:", "Got nothing", "Exception raised:")


class DoctestText:
    """Reads the blocks between lines of stars."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._stars = 0
        self._place: tuple[str, int, str, int] | None = None
        self._label = ""
        self._parts: dict[str, str] = {}
        self._line = 0
        self._last = 0
        self._first = 0
        self._ended = False
        self._passed: int | None = None
        self._trying = 0

    def feed(self, number: int, text: str) -> int:
        """Take a line; some sixty lines are wanted after each line of stars."""
        if text == _TRYING:
            self._trying, self._first, self._ended = number, self._first or number, False
        elif (self._trying or self._place) and (found := _SUM.match(text)):
            self._passed, self._last = int(found["passed"]), number
            return 2
        elif self._passed is not None and text == _GOOD:
            self._ended, self._last = True, number
        elif _STARS.match(text):
            self._flush(number - 1)
            self._stars = number
            return 200
        if self._stars == number - 1 and (found := _PLACE.match(text)):
            self._place = (found["file"], int(found["line"]), found["name"], number)
            self._first = self._first or number - 1
        elif _END.match(text):
            self._flush(number - 1)
            self._ended, self._last = True, number
            return 0
        elif self._place is not None:
            self._detail(number, text)
        return 200 if self._place else 0

    def _detail(self, number: int, text: str) -> None:
        if text.rstrip() in _LABELS:
            self._label = text.rstrip()
            if "nothing" in self._label:
                self._parts[self._label.split()[0] + ":"] = "nothing"
            self._line = number
        elif self._label.startswith("Exception"):
            if text.startswith("    ") and text[4:5].strip():
                self._parts["Raised:"] = text.strip()
                self._line = number
        elif self._label and self._label not in self._parts and text.strip():
            self._parts[self._label] = text.strip()

    def _flush(self, end: int) -> None:
        place, self._place = self._place, None
        if place is not None:
            file, line, name, start = place
            message = " ".join(f"{label} {value}" for label, value in self._parts.items()) or "doctest failed"
            if "Raised:" in self._parts:
                message = self._parts["Raised:"]
            block = Lines(start, max(start, end))
            self._failures.add(
                Failure(name, "failed", file, line, message, self._line or start, block, "doctest"), (start,)
            )
        self._label, self._parts, self._line = "", {}, 0

    def finish(self, last: int) -> Findings:
        """Failed examples; how many passed is printed with -v only."""
        self._flush(last)
        failures = self._failures
        if not failures.items and not self._trying:
            return Findings()
        if not self._ended:
            verdict = Verdict.INCOMPLETE
        else:
            verdict = (
                Verdict.FAILED if failures.items else Verdict.PASSED if self._passed else Verdict.UNKNOWN
            )
        totals = {"failed": len(failures)}
        if self._passed is not None:
            totals["passed"] = self._passed
        end = max(self._last, self._trying, failures.items[-1].block.end if failures.items else 0)
        return Findings(
            ("doctest",),
            failures.items,
            totals,
            verdict,
            [Lines(self._first, end)],
            notes=[] if self._ended else [CUT],
            unlisted=failures.unlisted,
        )


FAMILY = Family(
    "doctest",
    Group.TESTS,
    (
        r"^\*{70}$",
        r"^\*\*\*Test Failed\*\*\* \d+ failure",
        r"^Trying:$",
        r"^\d+ passed(?: and \d+ failed)?\.$",
        r"^Test passed\.$",
    ),
    DoctestText,
)
