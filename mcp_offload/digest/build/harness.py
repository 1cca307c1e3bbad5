"""Drivers around builds: mozharness' last word, and shell scripts run with ``-x``."""

from __future__ import annotations

import re
from typing import Final

from ..family import FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .collect import Collector, Draft

_NOT_RUN: Final = re.compile(r"^'(?P<command>[^']+)' did not run successfully")


class Mozharness:
    """The driver's own last word on a step."""

    def __init__(self) -> None:
        self._failures = FailureSet()

    def feed(self, number: int, text: str) -> int:
        """Take the line that says which command failed."""
        found = _NOT_RUN.match(text)
        if found:
            block = Lines(number, number)
            failure = Failure(found["command"], "step", None, None, text, number, block, "mozharness")
            self._failures.add(failure, found["command"])
        return 0

    def finish(self, last: int) -> Findings:
        """A failed step is no error beside those that made it fail."""
        if not len(self._failures):
            return Findings()
        return Findings(("mozharness",), self._failures.items, {"errors": 0}, Verdict.FAILED)


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
                self._said = (number, rest.strip("'\""))
            return 1
        if command == "exit" and rest.isdigit() and rest.strip("0") and self._said is not None:
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


MOZHARNESS: Final = Family("mozharness", Group.CI, (r"^'[^']+' did not run successfully",), Mozharness)
SHELL: Final = Family("shell trace", Group.BUILD, (r"^\++ \S",), ShellTrace)
