"""CMake's configure step and CTest-less configure scripts (autoconf, meson)."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from ..model import Verdict
from .collect import Collector, Draft, integer, plain

_ERROR: Final = re.compile(
    r"^(?P<indent>\s*)CMake (?P<internal>Internal )?Error(?: \(dev\))?(?: at (?P<file>.+?):(?P<line>\d+))?"
    r"(?: \((?P<command>\w+)\))?:?\s*(?P<message>.*)$"
)
_END: Final = re.compile(r"^\s*-- (?:Configuring incomplete|Generating done|Build files have been written)")
_STACK: Final = re.compile(r"^\s*Call Stack \(most recent call first\):")
_FRAME: Final = re.compile(r"^\s+(?P<file>[^\s:]+):(?P<line>\d+) \(")
_CONFIGURE: Final = re.compile(r"^(?:\./)?configure: error: (?P<message>.*)$")
_MESON: Final = re.compile(
    r"^(?P<file>[^\s:]*meson\.build):(?P<line>\d+):(?P<column>\d+): ERROR: (?P<message>.*)$"
)
_PERCENT: Final = re.compile(r"^\[ *(?P<done>\d+)%\] (?P<what>\w+)")
_STEPS: Final = re.compile(r"^\[(?P<done>\d+)/(?P<all>\d+)\] (?P<what>\w+)")
_STOP: Final = re.compile(r"^(?:\S*/)?g?make(?:\[\d+\])?: \*\*\* |^ninja: (?:build stopped|error|fatal)")
_LINES: Final = 60


class Cmake:
    """An error is named by the command that raised it; its text follows indented."""

    def __init__(self) -> None:
        self._account = Collector()
        self._blank = 0
        self._text: list[str] = []
        self._stack = False
        self._step = 0
        self._progress: tuple[int, int] | None = None
        self._linking = False
        self._stopped = False

    def feed(self, number: int, text: str) -> int:
        """Take an error's head, a step, an end, or the text and the call stack below an error."""
        found = _ERROR.match(text)
        if found:
            return self._error(number, found, text)
        other = _CONFIGURE.match(text) or _MESON.match(text)
        if other:
            return self._configure(number, other)
        if _END.match(text):
            self._close()
            self._account.tools.setdefault("cmake")
            self._account.ended_badly |= "incomplete" in text
            self._account.well(number if "have been written" in text else 0)
            return 0
        step = _STEPS.match(text) or _PERCENT.match(text)
        if step:
            self._close()
            self._account.tools.setdefault("cmake" if "%" in text[:7] else "ninja")
            self._step = number
            self._progress = (whole(step["done"]), whole(step.groupdict().get("all") or "100"))
            self._linking = step["what"] == "Linking" and "%" in text[:7]
            return 0
        if _STOP.match(text):
            self._stopped = True
            return 0
        return self._body(number, text)

    def _error(self, number: int, found: re.Match[str], text: str) -> int:
        self._close()
        name = found["command"] or ("internal error" if found["internal"] else "")
        file, line = found["file"], integer(found["line"])
        message = text.strip().rstrip(":")
        draft = Draft(name, "config", file, line, message, number, "cmake", None, 0, number)
        self._account.open(draft, (file, line, name, 0 if file else number))
        self._text = [found["message"]] if found["message"] else []
        self._blank, self._stack = 0, False
        return _LINES

    def _configure(self, number: int, found: re.Match[str]) -> int:
        self._close()
        place, message = found.groupdict(), found["message"]
        tool = "meson" if "file" in place else "configure"
        file, line = place.get("file"), integer(place.get("line"))
        draft = Draft(plain(message), "config", file, line, message, number, tool, None, 0, number)
        self._account.open(draft)
        self._account.close()
        return 0

    def _body(self, number: int, text: str) -> int:
        draft = self._account.draft
        if draft is None:
            return 0
        if not text.strip():
            self._blank += 1
            if self._blank >= 2:
                self._close()
                return 0
            return _LINES
        if _STACK.match(text):
            self._stack = True
        elif not text.startswith(" "):
            self._close()
            return 0
        elif self._stack and draft.file is None and (frame := _FRAME.match(text)):
            draft.file, draft.line = frame["file"], whole(frame["line"])
        elif not self._stack and len(self._text) < 4:
            self._text.append(text.strip())
        self._blank = 0
        self._account.extend(number)
        return _LINES

    def _close(self) -> None:
        draft = self._account.draft
        if draft is not None:
            said = " ".join(part for part in self._text if part)
            if said and said not in draft.message:
                draft.message = f"{draft.message}: {said}"
            if draft.name in ("", "message"):
                draft.name = plain(said) or "message"
        self._account.close()

    def finish(self, last: int) -> Findings:
        """A written build system is a good end; errors are failures."""
        self._close()
        found = self._account.findings()
        if (
            self._progress is not None
            and not self._stopped
            and found.verdict in (Verdict.PASSED, Verdict.UNKNOWN)
        ):
            done, total = self._progress
            whole = done >= total and not self._linking
            found.verdict = Verdict.PASSED if whole else Verdict.INCOMPLETE
            if not whole:
                found.notes.append(
                    f"the build stands at step {done} of {total}"
                    if total != 100
                    else f"the build stands at {done} %"
                )
            else:
                found.totals.setdefault("errors", 0)
                found.verdict_line = self._step
        return found


FAMILY: Final = Family(
    "cmake",
    Group.BUILD,
    (
        r"^\s*CMake (?:Internal )?Error\b",
        r"^\s*-- (?:Configuring incomplete|Build files have been written)",
        r"^(?:\./)?configure: error: ",
        r"meson\.build:\d+:\d+: ERROR: ",
        r"^(?:\S*/)?g?make(?:\[\d+\])?: \*\*\* ",
        r"^ninja: (?:build stopped|error|fatal)",
        r"^\[ *\d+%\] (?:Building|Linking|Built|Generating|Scanning|Creating|Performing"
        r"|Completed|Install|No )",
        r"^\[\d+/\d+\] (?:Building|Linking|Generating|Scanning|Creating|Performing|Compiling"
        r"|Running|Install|Copying|Automatic|CXX|CC|AR|LINK|SOLINK|STAMP|ACTION|Re-) ?",
    ),
    Cmake,
)
