"""A Python traceback inside a test report: its last exception and the frame to show."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..frames import Frame, is_library

_FRAME: Final = re.compile(r'^[\s|+]*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_MAX_FRAMES: Final = 1000


@dataclass(slots=True)
class Trace:
    """Fed line by line; of chained tracebacks the last one counts."""

    message: str = ""
    line: int = 0
    started: int = 0
    ended: int = 0
    frames: list[Frame] = field(default_factory=list[Frame])
    _waiting: bool = False

    def feed(self, number: int, text: str) -> None:
        """Take one line."""
        if (
            text.lstrip(" |+").startswith("Traceback (most recent call last)")
            or "Exception Group Traceback" in text
        ):
            if not text.startswith("    |"):
                self.frames, self._waiting = [], True
                self.started = self.started or number
            return
        if found := _FRAME.match(text):
            if len(self.frames) < _MAX_FRAMES:
                self.frames.append(Frame(found["file"], int(found["line"]), found["function"] or ""))
            return
        bare = text[4:] if text.startswith("  | ") else text
        if self._waiting and self.frames and bare[:1].strip():
            self.message, self.line, self._waiting, self.ended = bare, number, False, number

    def place(self, test: str) -> tuple[str, int] | None:
        """Where a project's line raised; for assertions and errors of libraries the test's own line."""
        own = [frame for frame in self.frames if not is_library(frame)]
        if not own:
            return None
        mine = [frame for frame in own if frame.function.split(".")[-1] == test]
        asserted = self.message.startswith("AssertionError")
        if not asserted and not is_library(self.frames[-1]):
            chosen = own[-1]
        elif asserted:
            file = (mine or own)[0].file
            chosen = [frame for frame in own if frame.file == file][-1]
        else:
            chosen = (mine or own)[-1]
        return (chosen.file, chosen.line) if chosen.line is not None else None
