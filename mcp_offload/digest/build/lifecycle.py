"""Builds that name their start and their end: where the log holds only the first, the run was stopped.

What went wrong in them is told by other families; this one only says whether they came to their end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..family import Family, Findings, Group
from ..model import Verdict


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    start: re.Pattern[str]
    end: re.Pattern[str]


# Sources: cargo's and tox's status lines, Maven's and Gradle's plain console, CMake's and Meson's messages.
_TOOLS: Final = (
    _Tool(
        "cargo",
        re.compile(r"^ +(?:Compiling|Checking) \S+ v\d"),
        re.compile(r"^ +Finished |^error(?:\[E\d+\])?: |^thread '"),
    ),
    _Tool(
        "maven",
        re.compile(r"^\[INFO\] (?:Scanning for projects\.\.\.|--- \S+:\S+ )"),
        re.compile(r"^\[(?:INFO|ERROR)\] BUILD |^\[ERROR\] (?:Failed to execute goal|\[ERROR\]|The build)"),
    ),
    _Tool(
        "gradle",
        re.compile(r"^> Task :\S|^:\w[\w:-]* (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED)$"),
        re.compile(r"^BUILD (?:SUCCESSFUL|FAILED)|^FAILURE: Build "),
    ),
    _Tool(
        "tox",
        re.compile(r"^[\w.,-]+: commands(?:_pre|_post)?\[\d+\]> |^[\w.,-]+ run-test: commands\[\d+\] \| "),
        re.compile(r"^  (?:congratulations :\)|evaluation failed :\()|^_+ summary _+$"),
    ),
    _Tool(
        "cmake",
        re.compile(r"^-- The \w+ compiler identification is "),
        re.compile(r"^\s*-- (?:Configuring incomplete|Build files have been written)|^\s*CMake Error"),
    ),
    _Tool(
        "meson",
        re.compile(r"^The Meson build system$"),
        re.compile(r"^Build targets in project: \d|meson\.build:\d+:\d+: ERROR: "),
    ),
)
_WORDS: Final = {"  congratulations :)": Verdict.PASSED, "  evaluation failed :(": Verdict.FAILED}


class Lifecycle:
    """Which tools are between their start and their end."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._tox: tuple[Verdict, int] | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a line with which a tool starts or ends."""
        for tool in _TOOLS:
            if tool.start.match(text):
                self._open[tool.name] = number
            elif tool.name in self._open and tool.end.search(text):
                del self._open[tool.name]
        verdict = _WORDS.get(text[:22].rstrip().removesuffix(" ("))
        if verdict is not None:
            self._tox = (verdict, number)
        return 0

    def finish(self, last: int) -> Findings:
        """Incomplete where a tool has no end; tox also says how it ended."""
        if self._open:
            notes = [f"the log ends before {tool} does" for tool in self._open]
            return Findings(tuple(self._open), verdict=Verdict.INCOMPLETE, notes=notes)
        if self._tox is not None:
            return Findings(("tox",), verdict=self._tox[0], verdict_line=self._tox[1])
        return Findings()


FAMILY: Final = Family(
    "lifecycle",
    Group.BUILD,
    (
        r"^ +(?:Compiling|Checking) \S+ v\d",
        r"^ +Finished ",
        r"^error(?:\[E\d+\])?: ",
        r"^\[INFO\] Scanning for projects\.\.\.",
        r"^\[INFO\] --- \S+:\S+ ",
        r"^\[(?:INFO|ERROR)\] BUILD ",
        r"^\[ERROR\] (?:Failed to execute goal|\[ERROR\]|The build)",
        r"^> Task :\S",
        r"^:\w[\w:-]* (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED)$",
        r"^BUILD (?:SUCCESSFUL|FAILED)",
        r"^FAILURE: Build ",
        r"^[\w.,-]+: commands(?:_pre|_post)?\[\d+\]> ",
        r"^[\w.,-]+ run-test: commands\[\d+\] \| ",
        r"^  (?:congratulations :\)|evaluation failed :\()",
        r"^_+ summary _+$",
        r"^-- The \w+ compiler identification is ",
        r"^\s*-- (?:Configuring incomplete|Build files have been written)",
        r"^\s*CMake Error",
        r"^The Meson build system$",
        r"^Build targets in project: \d",
        r"meson\.build:\d+:\d+: ERROR: ",
    ),
    Lifecycle,
)
