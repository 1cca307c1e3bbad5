"""gfortran's five-line diagnostics: place, code, caret, and the error below them."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, plain

_PLACE: Final = re.compile(
    r"^(?P<file>[^\s:][^:]*\.(?:[fF](?:\d\d|or|pp|tn)?|inc)):(?P<line>\d+):(?P<column>\d+):$"
)
_ERROR: Final = re.compile(r"^(?P<severity>Error|Fatal Error|Warning|Internal Error): (?P<message>.*)$")


# Source: libgfortran's runtime/error.c.
_AT: Final = re.compile(r"^At line (?P<line>\d+) of file (?P<file>\S.*?)(?: \(unit .*)?$")
_RUNTIME: Final = re.compile(r"^Fortran runtime error: (?P<message>.*)$")


class Fortran:
    """Joins a place with the error that follows it."""

    def __init__(self) -> None:
        self._account = Collector()
        self._place: tuple[int, str, int, int] | None = None
        self._at: tuple[int, str, int] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a place or an error."""
        if (at := _AT.match(text)) or _RUNTIME.match(text):
            return self._runtime(number, text, at)
        place = _PLACE.match(text)
        if place:
            self._place = (number, place["file"], whole(place["line"]), whole(place["column"]))
            return 10
        error = _ERROR.match(text)
        if error is None or self._place is None:
            if self._place is not None and number - self._place[0] > 10:
                self._place = None
            return 10 if self._place is not None else 0
        at, file, line, column = self._place
        self._place = None
        if error["severity"] == "Warning":
            return 0
        message = error["message"]
        draft = Draft(plain(message), "compile", file, line, message, number, "gfortran", column, at, number)
        self._account.open(draft)
        self._account.close()
        return 0

    def _runtime(self, number: int, text: str, at: re.Match[str] | None) -> int:
        """What a program stopped with; the place, where known, stands on the line before."""
        if at is not None:
            self._at = (number, at["file"], whole(at["line"]))
            return 1
        start, file, line = self._at if self._at and self._at[0] == number - 1 else (number, "", 0)
        self._at = None
        name = "Fortran runtime error"
        self._account.open(
            Draft(name, "crash", file, line or None, text, number, "gfortran", start=start, end=number)
        )
        self._account.close()
        return 0

    def finish(self, last: int) -> Findings:
        """Errors as counted."""
        return self._account.findings()


FAMILY: Final = Family(
    "gfortran",
    Group.BUILD,
    (
        r"^[^\s:][^:]*\.(?:[fF](?:\d\d|or|pp|tn)?|inc):\d+:\d+:$",
        r"^Fortran runtime error: ",
        r"^At line \d+ of file ",
    ),
    Fortran,
)
