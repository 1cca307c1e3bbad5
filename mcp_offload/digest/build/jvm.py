"""Maven and Gradle around the JVM's compilers: dependency, plug-in and compile errors, and the end."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from .collect import Collector, Draft, integer, plain

_MAVEN_PLACED: Final = re.compile(
    r"^\[(?P<level>ERROR)\] (?:file:)?(?P<file>\S.*?):\[(?P<line>\d+)(?:,(?P<column>\d+))?"
    r"\] (?:error: )?(?P<message>.*)$"
)
_MAVEN_SCALA: Final = re.compile(
    r"^\[(?:ERROR|error)\] (?:-- )?(?:\[E\d+\] .*?Error: )?(?P<file>/?\S+\.(?:scala|java"
    r"|kt)):(?P<line>\d+)(?::(?P<column>\d+))?:?"
    r"(?: (?:error: )?(?P<message>.*?))?(?: -+)?$"
)
_ECLIPSE: Final = re.compile(r"^\d+\. ERROR in (?P<file>.+?) \(at line (?P<line>\d+)\)$")
_MAVEN_GOAL: Final = re.compile(r"^\[ERROR\] Failed to execute goal (?P<goal>.*)$")
_MAVEN_MODEL: Final = re.compile(
    r"^\[(?:ERROR|FATAL)\] (?P<message>(?:Non-resolvable|Non-parseable|Malformed POM"
    r"|Unresolveable|The build could not read"
    r"|'[^']+' .*(?:missing|invalid|must)|Unknown lifecycle phase|No plugin found"
    r"|Plugin .* or one of its dependencies"
    r"|Error resolving|The goal you specified requires"
    r"|Could not find the selected project|Unable to parse).*)$"
)
_DEPENDENCY: Final = re.compile(
    r"Could not (?:resolve|find|transfer|collect) (?:dependenc|artifact|.*dependenc)"
    r"|Non-resolvable|Failure to (?:find|transfer)"
)
_GOAL_TAIL: Final = re.compile(r" -> \[Help \d+\]$")
_GOAL_PARTS: Final = re.compile(
    r"^(?P<plugin>\S+)(?: \([^)]*\))? on project (?P<project>[^:]+): (?P<message>.*)$"
)
_MAVEN_SYMBOL: Final = re.compile(r"^(?:\[ERROR\])?\s+symbol:\s+(?P<symbol>.*)$")
_GRADLE_WRONG: Final = re.compile(r"^\* What went wrong:")
_GRADLE_TASK: Final = re.compile(r"^Execution failed for task '(?P<task>[^']+)'\.")
_GRADLE_CAUSE: Final = re.compile(r"^\s*> (?P<message>.+)$")
_GRADLE_WHERE: Final = re.compile(
    r"^(?:Build|Settings|Script) file '(?P<file>[^']+)'(?: line: (?P<line>\d+))?"
)
_KOTLIN: Final = re.compile(
    r"^e: (?:file://)?(?P<file>.+?\.kts?):(?:\s*\((?P<l>\d+), (?P<c>\d+)\): "
    r"|(?P<line>\d+):(?P<column>\d+):? )(?P<message>.*)$"
)
_SCALA: Final = re.compile(
    r"^-- (?:\[(?P<code>E\d+)\] )?(?P<what>[\w ]*Error): (?P<file>\S+?):(?P<line>\d+):(?P<column>\d+) -*$"
)
_SUCCESS: Final = re.compile(r"^(?:\[INFO\] BUILD SUCCESS(?:FUL)?\b|BUILD SUCCESSFUL\b)")
_FAILURE: Final = re.compile(
    r"^(?:\[(?:INFO|ERROR)\] )?BUILD (?:FAILURE|FAILED)\b|^FAILURE: Build (?:failed|completed) with"
)
_WRAPPED: Final = re.compile(
    r"^Compilation (?:failed|failure)|There (?:are|were) (?:test failures|failing tests)"
    r"|^Compilation error|See the report"
    r"|finished with non-zero exit value|^A failure occurred while executing"
)


class Jvm:
    """Lists placed errors, unresolved dependencies, and the goal or task that failed for another reason."""

    def __init__(self) -> None:
        self._account = Collector()
        self._wrong = 0
        self._where: tuple[str, int | None] | None = None
        self._task = ""

    def feed(self, number: int, text: str) -> int:
        """Take a line of Maven, Gradle, kotlinc or scalac."""
        if self._wrong:
            return self._gradle_wrong(number, text)
        for form in (_MAVEN_PLACED, _KOTLIN, _SCALA, _MAVEN_SCALA, _ECLIPSE):
            found = form.match(text)
            if found:
                return self._placed(number, found)
        if _SUCCESS.match(text) or _FAILURE.match(text):
            self._account.close()
            self._account.tools.setdefault("maven" if text.startswith("[") else "gradle")
            self._account.well(number if _SUCCESS.match(text) else 0)
            self._account.ended_badly |= not self._account.ended_well
            return 0
        goal = _MAVEN_GOAL.match(text)
        if goal:
            return self._goal(number, _GOAL_TAIL.sub("", goal["goal"]), text)
        model = _MAVEN_MODEL.match(text)
        if model:
            message = _GOAL_TAIL.sub("", model["message"])
            name = "dependency" if _DEPENDENCY.search(message) else plain(message)
            self._account.open(Draft(name, "config", None, None, message, number, "maven", None, 0, number))
            self._account.close()
            return 0
        if _GRADLE_WRONG.match(text):
            self._account.close()
            self._wrong, self._task = number, ""
            return 30
        where = _GRADLE_WHERE.match(text)
        if where:
            self._where = (where["file"], integer(where["line"]))
            return 0
        return self._below(number, text)

    def _placed(self, number: int, found: re.Match[str]) -> int:
        row = found.groupdict()
        line = integer(row.get("line") or row.get("l"))
        column = integer(row.get("column") or row.get("c"))
        file = row["file"]
        message = (row.get("message") or row.get("what") or "").strip()
        name = row.get("code") or message
        tool = {"kt": "kotlinc", "kts": "kotlinc", "scala": "scalac"}.get(file.rsplit(".", 1)[-1], "javac")
        if found.re is _ECLIPSE:
            tool = "ecj"
        key = (file, line, column, message)
        self._account.open(Draft(name, "compile", file, line, message, number, tool, column, 0, number), key)
        return 8

    def _below(self, number: int, text: str) -> int:
        draft = self._account.draft
        if draft is None:
            return 0
        if not draft.message:  # Eclipse's compiler: the code, a caret, then what is wrong
            if not text.startswith("\t") and text.strip():
                draft.message = draft.name = text.strip()
                draft.number = number
                draft.key = (draft.file, draft.line, draft.message)
            self._account.extend(number)
            return 8
        symbol = _MAVEN_SYMBOL.match(text)
        if symbol and draft.message.startswith("cannot find symbol"):
            draft.message = f"cannot find symbol: symbol:   {symbol['symbol']}"
            draft.name = f"cannot find symbol: {symbol['symbol']}"
            draft.start, draft.number = draft.start or draft.number, number
            draft.key = (draft.file, draft.line, draft.column, draft.message)
        elif draft.tool == "scalac" and re.match(r"^\s*\|\s+\w", text) and draft.message.endswith("Error"):
            draft.message = text.strip(" |")
        elif not text.startswith(("[ERROR]   ", "  ", "\t", "[error]  ")) and not re.match(r"^\d+ ?\|", text):
            self._account.close()
            return 0
        self._account.extend(number)
        return 8

    def _goal(self, number: int, goal: str, text: str) -> int:
        """A goal that failed: its message is the cause unless it only sums up what stands above."""
        self._account.close()
        self._account.tools.setdefault("maven")
        self._account.ended_badly = True
        parts = _GOAL_PARTS.match(goal)
        message = parts["message"] if parts else goal.removeprefix("on project ")
        if message == goal.removeprefix("on project ") and ": " in message:
            message = message.split(": ", 1)[1]
        name = parts["plugin"] if parts else "maven"
        kind = "target" if _WRAPPED.search(message) else "config"
        if _DEPENDENCY.search(message):
            name, kind = "dependency", "dependency"
        self._account.open(Draft(name, kind, None, None, message, number, "maven", None, 0, number))
        self._account.close()
        return 0

    def _gradle_wrong(self, number: int, text: str) -> int:
        """Read the paragraph under ``What went wrong``; its innermost cause is the message."""
        draft = self._account.draft
        if (
            text.startswith(("* Try", "* Exception", "* Get more", "BUILD FAILED"))
            or number - self._wrong > 40
        ):
            self._gradle_close()
            return 0
        task = _GRADLE_TASK.match(text)
        cause = _GRADLE_CAUSE.match(text)
        if draft is None and text.strip():
            name = task["task"] if task else plain(text)
            file, line = self._where or (None, None)
            self._account.open(
                Draft(name, "config", file, line, text.strip(), number, "gradle", None, self._wrong, number)
            )
            self._task = name if task else ""
        elif draft is not None and cause:
            draft.message = cause["message"]
            draft.number = number
        if text.strip():
            self._account.extend(number)
        return 30

    def _gradle_close(self) -> None:
        draft = self._account.draft
        self._wrong, self._where = 0, None
        if draft is not None:
            if _WRAPPED.search(draft.message):
                draft.kind = "target"
            elif _DEPENDENCY.search(draft.message):
                draft.kind = "dependency"
        self._account.ended_badly = True
        self._account.close()

    def finish(self, last: int) -> Findings:
        """Errors as counted; the build's own last word is the verdict."""
        if self._wrong:
            self._gradle_close()
        found = self._account.findings()
        if not any(item.kind != "target" for item in found.failures):
            found.totals.pop("errors", None)
        return found


FAMILY: Final = Family(
    "jvm build",
    Group.BUILD,
    (
        r"^\[ERROR\] (?:file:)?\S.*:\[\d+(?:,\d+)?\] ",
        r"^\[(?:ERROR|error)\] (?:-- )?(?:\[E\d+\] .*Error: )?/?\S+\.(?:scala|java|kt):\d+",
        r"^\[ERROR\] Failed to execute goal ",
        r"^\[(?:ERROR|FATAL)\] (?:Non-|Malformed POM|Unresolveable|The build could not|'"
        r"|Unknown lifecycle|No plugin found|Plugin |Error resolving|The goal you"
        r"|Could not find the selected|Unable to parse)",
        r"^(?:\[INFO\] )?BUILD SUCCESS",
        r"^(?:\[(?:INFO|ERROR)\] )?BUILD FAIL",
        r"^FAILURE: Build ",
        r"^\d+\. ERROR in ",
        r"^\* What went wrong:",
        r"^(?:Build|Settings|Script) file '",
        r"\.kt: ?[(0-9]",
        r"\.kts: ?[(0-9]",
        r"^-- (?:\[E\d+\] )?[\w ]*Error: \S+:\d+:\d+ -*$",
    ),
    Jvm,
)
