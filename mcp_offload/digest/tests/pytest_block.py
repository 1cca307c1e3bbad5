"""One failure block of pytest: which line is decisive and where it points."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..frames import Frame, is_library
from ..model import Failure, Lines

CAPTURE: Final = re.compile(r"^-+ ?Captured [\w ]+ ?-+$")
# Source: pytest's ReprFileLocation ("path:line: message"), tb styles long, short and auto.
_LOCATION: Final = re.compile(
    r"^(?P<file>(?:[A-Za-z]:)?[^:>\s][^:>]*):(?P<line>\d+):(?: (?P<rest>in .+|[\w.]*))?$"
)
_ONE_LINE: Final = re.compile(r"^(?P<file>(?:[A-Za-z]:)?[^:>\s][^:>]*):(?P<line>\d+): (?P<message>\S.*)$")
_NATIVE: Final = re.compile(r'^[\s|+]*File "(?P<file>.+?)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_SYNTAX: Final = re.compile(r'^File "(?P<file>.+?)", line (?P<line>\d+)$')
_EXCEPTION: Final = re.compile(
    r"^(?:  \| )?(?P<text>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Group|Exit|Interrupt"
    r"|Failed|Timeout)(?:: .*)?)$"
)
_NOT_MESSAGE: Final = re.compile(r"^(?:\[gw\d+\] |self = |_ _|Traceback|  \+ Exception Group|\s*$)")


@dataclass(slots=True)
class Draft:
    """What is known of one block so far; fed line by line."""

    name: str
    start: int
    section: str
    end: int = 0
    message: str = ""
    message_line: int = 0
    file: str | None = None
    line: int | None = None
    output_from: int = 0
    trace_to: int = 0
    unplaced: bool = False
    """Of ``--tb=line``: the line that says where is still to come."""
    _own: bool = False
    _in_error: bool = False
    _syntax: bool = False
    _decided: bool = False
    _first: str = ""
    _first_line: int = 0
    _expected: str = ""
    _wait: str = ""

    def feed(self, number: int, text: str) -> None:
        """Take the next line of the block."""
        self.end = number
        if self.output_from:
            return
        if text.startswith("-") and CAPTURE.match(text):
            self.output_from = number
            return
        self.trace_to = number if text else self.trace_to
        if text[:1] == "E" and (len(text) == 1 or text[1:4].isspace()):
            self._error_line(number, text[1:].strip())
            return
        self._in_error = False
        self._other_line(number, text)

    def feed_unplaced(self, number: int, text: str) -> None:
        """Take a line of an unnamed block, up to the one that repeats its message with the place."""
        self.end = number
        if CAPTURE.match(text):
            self.output_from = self.output_from or number
        elif (found := _ONE_LINE.match(text)) and found["message"] == self.message:
            self.file, self.line, self.unplaced = found["file"], int(found["line"]), False
        elif self.output_from:
            return
        elif text.startswith("E   "):
            self.message, self.message_line = text[1:].strip(), number
        elif not self.message and (group := _EXCEPTION.match(text)):
            self.message, self.message_line = group["text"], number

    def _error_line(self, number: int, text: str) -> None:
        if not self._in_error:
            self._in_error, self._syntax = True, False
            self._decided = False
        if found := _SYNTAX.match(text):
            self._syntax = True
            self._place(found["file"], int(found["line"]), force=True)
        elif not self._decided and text and (not self._syntax or _EXCEPTION.match(text)):
            self.message, self.message_line, self._decided = text, number, True

    def _other_line(self, number: int, text: str) -> None:
        if found := _LOCATION.match(text) or _NATIVE.match(text):
            self._place(found["file"], int(found["line"]))
            return
        if self._wait or text in ("Expected:", "Got:"):
            self._doctest(number, text)
        if not self._decided and (found := _EXCEPTION.match(text)):
            self.message, self.message_line = found["text"], number
        if not self._first and not _NOT_MESSAGE.match(text) and text[:1] not in "> ":
            self._first, self._first_line = text.strip(), number

    def _doctest(self, number: int, text: str) -> None:
        if text in ("Expected:", "Got:"):
            self._wait = text
            return
        if self._wait == "Expected:":
            self._expected = text.strip()
        else:
            self.message, self.message_line = f"Expected: {self._expected} Got: {text.strip()}", number
            self._decided = True
        self._wait = ""

    def _place(self, file: str, line: int, force: bool = False) -> None:
        """Keep the deepest frame of the project; a library's only while there is no other."""
        own = not is_library(Frame(file, line)) or force
        if own or not self._own:
            self.file, self.line = file, line
            self._own = self._own or own

    def failure(self, name: str, recap: str, recap_line: int, last: int) -> Failure:
        """The finished failure; ``recap`` is the message of the short summary, if any."""
        message, at = self.message, self.message_line
        if not message:
            message, at = (self._first, self._first_line) if self._first else (recap, recap_line)
        output = Lines(self.output_from, self.end) if self.output_from else None
        trace_to = self.trace_to or self.start
        return Failure(
            name=name,
            kind="error" if self.section == "ERRORS" else "failed",
            file=self.file,
            line=self.line,
            message=message or name,
            log_line=at or self.start,
            block=Lines(self.start, max(self.start, self.end or last)),
            tool="pytest",
            traceback=Lines(self.start + 1, trace_to) if trace_to > self.start else None,
            output=output,
        )


def one_line(text: str, number: int, section: str) -> Draft:
    """A failure as ``--tb=line`` prints it; before pytest 9.2 that is all of it."""
    if text.startswith(("E   ", "  + Exception Group Traceback")):
        message = text[1:].strip() if text[0] == "E" else ""
        return Draft("", number, section, number, message, number if message else 0, unplaced=True)
    found = _ONE_LINE.match(text)
    draft = Draft(
        "",
        number,
        section,
        end=number,
        message=found["message"] if found else text.strip(),
        message_line=number,
    )
    if found:
        draft.file, draft.line = found["file"], int(found["line"])
    return draft
