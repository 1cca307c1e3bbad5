"""One failure block of a JavaScript test runner: message, place and stack."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..frames import Frame, choose, frames
from ..model import Failure, Lines

_FRAME: Final = re.compile(r"^\s+(?:at |❯ )")
_VITEST_FRAME: Final = re.compile(r"^\s*❯ (?:(?P<function>.+) )?(?P<file>[^\s:]+):(?P<line>\d+):\d+$")
# Source: Babel ("/src/a.js: Unexpected token (2:18)") and esbuild ("/src/a.js:2:18: ERROR: ...").
_SYNTAX: Final = re.compile(
    r"(?P<file>/?[\w./@+-]+\.[cm]?[jt]sx?)(?::(?P<l1>\d+):\d+\b|: .*\((?P<l2>\d+):\d+\))"
)
_PATH: Final = re.compile(r"\((?P<file>/[^\s()]+\.[cm]?[jt]sx?)\)$")
_DETAIL: Final = re.compile(r"^(?:Expected|Received)[\w ]*(?:: +\S|rejected|resolved)")
_MAX_FRAMES: Final = 100


@dataclass(slots=True)
class JsBlock:
    """Fed line by line, indentation included."""

    name: str
    start: int
    end: int = 0
    kind: str = "failed"
    file: str | None = None
    line: int | None = None
    message: str = ""
    message_line: int = 0
    stack: list[Frame] = field(default_factory=list[Frame])
    trace: int = 0
    trace_end: int = 0
    _place: tuple[str, int | None] | None = None

    def feed(self, number: int, text: str) -> None:
        """Take one line of the block."""
        bare = text.strip()
        if not bare:
            return
        self.end = number
        if _FRAME.match(text):
            self._frame(number, text)
            return
        if not self.message:
            self.message, self.message_line = bare, number
        elif (
            (_DETAIL.match(bare) or self.message.endswith(":")) and not self.stack and len(self.message) < 300
        ):
            self.message += " " + bare
        if self._place is None and number - self.start < 12 and (found := _SYNTAX.search(bare)):
            line = found["l1"] or found["l2"]
            if "Error" in bare or found["l2"]:
                self._place = (found["file"], int(line))
        if self._place is None and (found := _PATH.search(bare)) and bare == self.message:
            self._place = (found["file"], None)

    def _frame(self, number: int, text: str) -> None:
        self.trace = self.trace or number
        self.trace_end = number
        if len(self.stack) >= _MAX_FRAMES:
            return
        if found := _VITEST_FRAME.match(text):
            self.stack.append(Frame(found["file"], int(found["line"]), found["function"] or ""))
        else:
            self.stack.extend(frames([text.removesuffix(" {")]))

    def failure(self, tool: str, last: int) -> Failure:
        """The finished failure: the first frame of the project's own code, else what the block said."""
        chosen = choose(self.stack)
        file, line = self.file, self.line
        if chosen is not None:
            file, line = chosen.file.removeprefix("file://"), chosen.line
        elif self._place is not None:
            file, line = self._place
        end = max(self.start, self.end or last)
        return Failure(
            name=self.name,
            kind=self.kind,
            file=file,
            line=line,
            message=self.message or self.name,
            log_line=self.message_line or self.start,
            block=Lines(self.start, end),
            tool=tool,
            traceback=Lines(self.trace, self.trace_end) if self.trace else None,
        )
