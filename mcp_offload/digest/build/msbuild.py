"""Diagnostics as ``file(line,column): error CODE: text``: MSVC, MSBuild, C#, plain tsc, nvcc and its kin."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer, plain

# Source: Microsoft docs, "MSBuild and Visual Studio format for diagnostic messages".
_PLACED: Final = re.compile(
    r"^\s{0,40}(?:\d+>\s{0,8})?(?P<file>[^\s()][^()]*?)\((?P<line>\d+)(?:[,-](?P<column>\d+))?(?:,\d+,\d+)?\)"
    r" ?: (?:\w+ )?(?P<severity>fatal error|catastrophic error|error|warning"
    r"|internal error)(?: (?P<code>#?[A-Za-z]*\d[\w-]*))?\s?: ?(?P<message>.*)$"
)
_UNPLACED: Final = re.compile(
    r"^\s{0,40}(?:\d+>\s{0,8})?(?P<file>[^\s:()][^:()]*?|[A-Za-z]:\\[^:()]+?) ?: "
    r"(?P<severity>fatal error|error) (?P<code>[A-Z]{1,5}\d{2,5}) ?: (?P<message>.*)$"
)
_TSC: Final = re.compile(r"^error (?P<code>TS\d+): (?P<message>.*)$")
_PROJECT: Final = re.compile(r" \[(?P<project>[^\[\]]+\.\w*proj(?:::[^\]]*)?)\]$")
_ERRORS: Final = re.compile(r"^\s*(?P<errors>\d+) Error\(s\)")
_WARNINGS: Final = re.compile(r"^\s*(?P<warnings>\d+) Warning\(s\)")
_NVCC: Final = re.compile(r"^(?P<errors>\d+) errors? detected in the compilation of ")
_FOUND: Final = re.compile(r"^Found (?P<errors>\d+) errors?(?: in | *$|\.)")
_GOOD: Final = re.compile(r"^\s*Build succeeded\.|^========== (?:Re)?[Bb]uild.*: \d+ succeeded.*, 0 failed")
_BAD: Final = re.compile(r"^\s*Build FAILED\.")
_SYMBOL: Final = re.compile(r'(?:identifier|symbol|type|member|function|name) "(?P<symbol>[^"]+)"')


class Msbuild:
    """MSBuild repeats every diagnostic in its closing list: what was printed once counts once."""

    def __init__(self) -> None:
        self._account = Collector()
        self._warned: set[object] = set()

    def feed(self, number: int, text: str) -> int:
        """Take a diagnostic, a closing line, or what explains an error."""
        found = _PLACED.match(text) or _UNPLACED.match(text)
        if found:
            return self._diagnostic(number, found)
        tsc = _TSC.match(text)
        if tsc:
            draft = Draft(
                tsc["code"], "compile", None, None, f"error {tsc['code']}: {tsc['message']}", number, "tsc"
            )
            self._account.open(draft)
            return 0
        if self._closing(number, text):
            self._account.close()
            return 0
        draft = self._account.draft
        if draft is None or not text.startswith((" ", "\t")):
            self._account.close()
            return 0
        self._account.extend(number)
        return self._account.room()

    def _diagnostic(self, number: int, found: re.Match[str]) -> int:
        row = found.groupdict()
        message = _PROJECT.sub("", row["message"]).strip()
        line, column = integer(row.get("line")), integer(row.get("column"))
        code = row["code"] or ""
        key = (row["file"].strip(), line, column, code, message)
        if row["severity"] == "warning":
            self._account.close()
            if len(self._warned) < 5000:
                self._warned.add(key)
            return 0
        tool = self._tool(row["file"], code)
        if tool == "nvcc":
            code = ""
        name = code or plain(message)
        shown = f"error {code}: {message}" if code else message
        draft = Draft(name, "compile", row["file"].strip(), line, shown, number, tool, column, 0, number)
        if code.startswith("LNK"):
            draft.kind = "link"
        self._account.open(draft, key)
        return self._account.room()

    @staticmethod
    def _tool(file: str, code: str) -> str:
        if code.startswith("TS"):
            return "tsc"
        if code.startswith(("CS", "VB", "FS", "NU", "NETSDK", "BC")):
            return "dotnet"
        if code.startswith(("C", "D", "LNK", "RC")):
            return "msvc"
        if code.startswith("MSB"):
            return "msbuild"
        return "nvcc" if file.endswith((".cu", ".cuh")) else "msbuild" if code else "nvcc"

    def _closing(self, number: int, text: str) -> bool:
        account = self._account
        errors = _ERRORS.match(text) or _NVCC.match(text) or _FOUND.match(text)
        if errors:
            if text.startswith("Found") and not account.tools:
                return True
            account.stated.append(whole(errors["errors"]))
            account.tools.setdefault(
                "msbuild" if "Error(s)" in text else "tsc" if "Found" in text else "nvcc"
            )
            return True
        warnings = _WARNINGS.match(text)
        if warnings:
            account.warnings = whole(warnings["warnings"])
            return True
        if _GOOD.match(text):
            account.tools.setdefault("msbuild")
            account.well(number)
            return True
        if _BAD.match(text):
            account.tools.setdefault("msbuild")
            account.ended_badly = True
            return True
        return False

    def finish(self, last: int) -> Findings:
        """Errors as stated once at the end, else as counted without repetitions."""
        found = self._account.findings()
        if found.tools and self._warned and "warnings" not in found.totals:
            found.totals["warnings"] = len(self._warned)
        return found


FAMILY: Final = Family(
    "msbuild",
    Group.BUILD,
    (
        r"\d\) ?: error\b",
        r"\d\) ?: fatal error\b",
        r"\d\): (?:catastrophic|internal) error\b",
        r" ?: (?:fatal )?error [A-Z]{1,5}\d{2,5} ?: ",
        r"^error TS\d+: ",
        r"^\s*\d+ (?:Error|Warning)\(s\)",
        r"^\d+ errors? detected in the compilation of ",
        r"^\s*Build (?:succeeded|FAILED)\.",
        r"^========== (?:Re)?[Bb]uild",
        r"^Found \d+ errors?(?: in |\.|$)",
    ),
    Msbuild,
)
