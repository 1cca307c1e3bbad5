"""Workflow commands that carry a place: ``::error file=...::`` and ``##vso[task.logissue ...]``."""

from __future__ import annotations

import re
from typing import Final

from ..family import FailureSet, Family, Findings, Group
from ..model import Failure, Lines, Verdict
from .report import first_line

# Source: GitHub docs, "Workflow commands for GitHub Actions"; Azure Pipelines docs, "Logging commands".
_GITHUB: Final = re.compile(r"^::error (?P<pairs>[^:]*(?::(?!:)[^:]*)*)::(?P<message>.*)")
_AZURE: Final = re.compile(r"^##vso\[task\.logissue (?P<pairs>[^\]]*)\](?P<message>.*)")
_ESCAPES: Final = (
    ("%0D", "\r"),
    ("%0A", "\n"),
    ("%3A", ":"),
    ("%2C", ","),
    ("%3B", ";"),
    ("%5D", "]"),
    ("%25", "%"),
)


def _decode(text: str) -> str:
    for code, plain in _ESCAPES:
        text = text.replace(code, plain)
    return text


def _pairs(text: str, separator: str) -> dict[str, str]:
    """Split ``key=value`` pairs; what they escape is plain again."""
    found: dict[str, str] = {}
    for pair in text.split(separator):
        key, _, value = pair.partition("=")
        found[key.strip()] = _decode(value)
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


class Annotations:
    """Collects error annotations that name a file."""

    def __init__(self) -> None:
        self._failures = FailureSet()
        self._tool = ""

    def feed(self, number: int, text: str) -> int:
        """Take one command."""
        found = _GITHUB.match(text)
        keys = ("file", "line", "col", "title")
        if found:
            pairs = _pairs(found["pairs"].strip(), ",")
            tool = "github annotation"
        else:
            found = _AZURE.match(text)
            if not found:
                return 0
            pairs = _pairs(found["pairs"], ";")
            if pairs.get("type") != "error":
                return 0
            keys, tool = ("sourcepath", "linenumber", "columnnumber", "code"), "azure annotation"
        file, message = pairs.get(keys[0]), first_line(_decode(found["message"]))
        if not file:
            return 0
        self._tool = tool
        line, column = _number(pairs.get(keys[1], "")), _number(pairs.get(keys[2], ""))
        block = Lines(number, number)
        name = pairs.get(keys[3]) or message
        self._failures.add(Failure(name, "lint", file, line, message, number, block, tool, column))
        return 0

    def finish(self, last: int) -> Findings:
        """Errors as counted."""
        if not self._tool:
            return Findings()
        totals = {"errors": len(self._failures)}
        found = Findings((self._tool,), self._failures.items, totals, Verdict.FAILED)
        found.unlisted = self._failures.unlisted
        return found


FAMILY: Final = Family(
    "annotations",
    Group.LINT,
    (r"^::error [^:]*file=", r"^##vso\[task\.logissue [^\]]*sourcepath="),
    Annotations,
)
