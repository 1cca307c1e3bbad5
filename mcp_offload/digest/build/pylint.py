"""Python's checkers in their text forms: mypy, ruff (concise and full), flake8, pylint, pyright, black."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer

_MYPY: Final = re.compile(
    r"^(?P<file>[^\s:][^:]*\.(?:pyi?"
    r"|ipynb)):(?P<line>\d+)(?::(?P<column>\d+))?(?::\d+:\d+)?: (?P<severity>error|note"
    r"|warning): "
    r"(?P<message>.*?)(?:  \[(?P<code>[a-z][\w-]*)\])?$"
)
_MYPY_FILE: Final = re.compile(
    r"^(?:mypy: )?(?P<file>[^\s:]+\.pyi?): error: (?P<message>.*)$|^mypy: error: (?P<own>.*)$"
)
_CONCISE: Final = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:cell \d+:\d+:)?(?P<column>\d+):? (?P<code>[A"
    r"-Z]{1,5}\d{1,4}|invalid-syntax|SyntaxError):? (?P<message>.*)$"
)
_RUFF_HEAD: Final = re.compile(
    r"^(?P<code>[A-Z]{1,4}\d{2,4}|invalid-syntax)(?: \[\*\])?:? (?P<message>\S.*)$"
)
_RUFF_ARROW: Final = re.compile(r"^\s*--> (?P<file>.+?):(?:cell \d+:)?(?P<line>\d+):(?P<column>\d+)$")
_PYLINT: Final = re.compile(
    r"^(?P<file>[^\s:][^:]*\.pyi?):(?P<line>\d+):(?P<column>\d+): (?P<code>[CRWEFI]\d{4}):"
    r" (?P<message>.*?)(?: \((?P<symbol>[a-z][\w-]+)\))?$"
)
_PARSEABLE: Final = re.compile(
    r"^(?P<file>[^\s:][^:]*\.pyi?):(?P<line>\d+): \[(?P<code>[A-Z]+\d+)(?:\((?P<symbol>[\w"
    r"-]+)\))?[^\]]*\] (?P<message>.*)$"
)
_RULE: Final = re.compile(r"^\s+\S.* \((?P<rule>report\w+)\)$")
_PYRIGHT: Final = re.compile(
    r"^\s*(?P<file>\S.*?\.pyi?):(?P<line>\d+):(?P<column>\d+) - (?P<severity>error"
    r"|warning|information): (?P<message>.*?)(?: \((?P<code>report\w+)\))?$"
)
_FOUND: Final = re.compile(
    r"^Found (?P<errors>\d+) errors?(?: in \d+ files?.*|\.| \(\d+ fixed, (?P<left>\d+) remaining\)\.)?$"
)
_PYRIGHT_END: Final = re.compile(r"^(?P<errors>\d+) errors?, (?P<warnings>\d+) warnings?, \d+ informations?")
_GOOD: Final = re.compile(r"^(?:Success: no issues found|All checks passed!|All done! )")
_BLACK: Final = re.compile(
    r"^(?:would reformat|error: cannot format) (?P<file>.+?)(?:: (?P<message>.*))?$"
    r"|^Would reformat: (?P<ruff>.+)$"
)


class PythonChecks:
    """Each diagnostic is a failure named by its code; notes belong to the one above."""

    def __init__(self) -> None:
        self._account = Collector()
        self._head: tuple[int, str, str] | None = None
        self._full = False
        self._ruff = False

    def feed(self, number: int, text: str) -> int:
        """Take a diagnostic, the frame below it, or a closing line."""
        arrow = _RUFF_ARROW.match(text)
        if arrow and self._head is not None:
            return self._full_form(number, arrow)
        for form, tool in (
            (_PYLINT, "pylint"),
            (_PARSEABLE, "pylint"),
            (_MYPY, "mypy"),
            (_PYRIGHT, "pyright"),
            (_CONCISE, "ruff"),
        ):
            found = form.match(text)
            if found:
                return self._row(number, found, tool)
        if self._closing(number, text):
            self._account.close()
            self._head = None
            return 0
        head = _RUFF_HEAD.match(text)
        if head:
            self._account.close()
            self._head = (number, head["code"], head["message"])
            return 1
        return self._below(number, text)

    def _row(self, number: int, found: re.Match[str], tool: str) -> int:
        row = found.groupdict()
        self._head = None
        severity = row.get("severity") or (
            "error" if (row["code"] or "E")[0] in "EF" or tool != "pylint" else "warning"
        )
        message, code = row["message"].strip(), row.get("code") or ""
        if severity == "note":
            self._account.extend(number)
            return 4
        if severity != "error":
            self._account.close()
            return 0
        if tool == "ruff" and not re.match(r".*\.(?:pyi?|ipynb|toml|pyx)$", row["file"]):
            return 0
        name = (row.get("symbol") and f"{code} {row['symbol']}") or code or message
        draft = Draft(
            name, "lint", row["file"], whole(row["line"]), message, number, tool, integer(row.get("column"))
        )
        draft.end = number
        if tool == "ruff":
            draft.message = f"{code} {message}" if code[:1].isupper() else message
        self._account.open(draft, (draft.file, draft.line, draft.column, name, message))
        return 4 if tool in ("pyright", "mypy") else 0

    def _full_form(self, number: int, arrow: re.Match[str]) -> int:
        assert self._head is not None
        at, code, message = self._head
        self._head = None
        place = (arrow["file"], whole(arrow["line"]))
        draft = Draft(
            code, "lint", *place, f"{code} {message}", at, "ruff", whole(arrow["column"]), at, number
        )
        self._account.open(draft, (*place, draft.column, code, message))
        return 60

    def _below(self, number: int, text: str) -> int:
        self._head = None
        draft = self._account.draft
        if draft is None or not re.match(r"^\s*\d*\s*\||^\s*$|^help: |^\s|^\d+ [+-]", text):
            self._account.close()
            return 0
        rule = _RULE.match(text) if draft.tool == "pyright" else None
        if rule and draft.name == draft.message:
            draft.name = rule["rule"]
        if text.strip():
            self._account.extend(number)
        return self._account.room()

    def _closing(self, number: int, text: str) -> bool:
        account = self._account
        found = _FOUND.match(text)
        if found and account.tools:
            self._ruff = self._ruff or "." in text[-2:] or "fixed" in text
            account.stated.append(whole(found["left"] or found["errors"]))
            return True
        end = _PYRIGHT_END.match(text)
        if end:
            account.stated.append(whole(end["errors"]))
            account.warnings = whole(end["warnings"])
            account.tools.setdefault("pyright")
            account.well(number if end["errors"] == "0" else 0)
            return True
        if _GOOD.match(text):
            account.tools.setdefault({"S": "mypy", "A": "ruff"}[text[0]])
            account.well(number)
            return True
        own, style = _MYPY_FILE.match(text), _BLACK.match(text)
        if own:
            message = own["message"] or own["own"]
            account.open(
                Draft(message, "config", own["file"], None, message, number, "mypy", None, 0, number)
            )
            return True
        if style:
            file = style["file"] or style["ruff"]
            name = "cannot format" if style["message"] else "would reformat"
            message = style["message"] or text
            account.open(Draft(name, "lint", file, None, message, number, "formatter", None, 0, number))
            return True
        return False

    def finish(self, last: int) -> Findings:
        """Errors as stated once at the end, else as counted; flake8 writes ruff's form but no last line."""
        found = self._account.findings()
        if "ruff" in found.tools and not self._ruff and found.failures:
            found.tools = tuple("flake8" if tool == "ruff" else tool for tool in found.tools)
            found.failures = [
                replace(item, tool="flake8") if item.tool == "ruff" else item for item in found.failures
            ]
        return found


FAMILY: Final = Family(
    "python checks",
    Group.LINT,
    (
        r"\.(?:pyi?|ipynb):\d+(?::\d+)*: error: ",
        r"\.pyi?:\d+:\d+ - error: ",
        r":\d+:\d+:? (?:[A-Z]{1,5}\d{1,4}|invalid-syntax|SyntaxError):?(?: \[\*\])? ",
        r"^(?:[A-Z]{1,4}\d{2,4}|invalid-syntax)(?: \[\*\])?:? \S",
        r"^Found \d+ errors?(?: in \d+ file|\.| \()",
        r"^\d+ errors?, \d+ warnings?, \d+ info",
        r"^(?:Success: no issues found|All checks passed!)",
        r"^mypy: error: ",
        r"\.pyi?:\d+: \[[A-Z]+\d+",
        r"^error: cannot format ",
        r"^would reformat ",
        r"^Would reformat: ",
    ),
    PythonChecks,
)
