"""Front-end tools: ``tsc --pretty``, ESLint's stylish and compact forms, webpack, Vite and esbuild."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer, plain

_PRETTY: Final = re.compile(
    r"^(?:Error: |ERROR in )?(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+) - error "
    r"(?P<code>TS\d+): (?P<message>.*)$"
)
_FOUND: Final = re.compile(r"^(?:\[[^\]]*\] )?Found (?P<errors>\d+) errors?(?: in .*|\. Watching.*|\.)?$")
_STYLISH: Final = re.compile(
    r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error"
    r"|warning)\s+(?P<message>.*?)(?:\s\s+(?P<rule>[\w@/.-]+))?\s*$"
)
_STYLISH_END: Final = re.compile(
    r"^\s*(?:\u2716|\u00d7|x) (?P<all>\d+) problems? \((?P<errors>\d+) errors?, (?P<warnings>\d+) warnings?\)"
)
_COMPACT: Final = re.compile(
    r"^(?P<file>\S.*?): line (?P<line>\d+), col (?P<column>\d+), (?P<severity>Error"
    r"|Warning) - (?P<message>.*?)(?: \((?P<rule>[\w@/.-]+)\))?$"
)
_FILE: Final = re.compile(
    r"^(?:[A-Za-z]:)?[\w./\\@+ ()\[\]-]+\.(?:[cm]?[jt]sx?|vue|svelte|html|json|md|s?css|less|astro)$"
)
_WEBPACK: Final = re.compile(r"^ERROR in (?P<where>.+)$")
_WEBPACK_AT: Final = re.compile(
    r"^(?P<file>\S+?)(?:\((?P<l>\d+),(?P<c>\d+)\)|(?:\s+"
    r"|:)(?P<line>\d+):(?P<column>\d+)(?:-\d+(?::\d+)?)?)?(?:\s*\n?)?$"
)
_WEBPACK_END: Final = re.compile(
    r"^webpack [\d.]+ compiled (?P<how>successfully|with (?P<errors>\d+) errors?|with \d+ warnings?)"
)
_ESBUILD: Final = re.compile(r"^(?:\u2718|X|\u2717) \[ERROR\] (?P<message>.*)$")
_ESBUILD_AT: Final = re.compile(r"^\s+(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+):?$")
_VITE: Final = re.compile(
    r"^(?:error during build:|x Build failed|\u2717 Build failed|\[vite\]: Rollup failed"
    r"|RollupError: )\s*(?P<message>.*)$"
)
_COUNTED: Final = re.compile(r"^Build failed with \d+ errors?:$")
_VITE_FILE: Final = re.compile(r"^file: (?P<file>\S+?)(?::(?P<line>\d+):(?P<column>\d+))?$")
_NEXT: Final = re.compile(r"^Failed to compile\.?$")
_NEXT_AT: Final = re.compile(
    r"^(?:\./)?(?P<file>[\w@./\[\]()-]+\.\w{1,6})(?::(?P<line>\d+):(?P<column>\d+))?$"
)
_INDENTED: Final = re.compile(r"^\s|^\d+\s")
_LINES: Final = 40


class Web:
    """ESLint's file names stand above the rows; webpack's message stands below its head."""

    def __init__(self) -> None:
        self._account = Collector()
        self._file: str | None = None
        self._webpack = False
        self._eslint_last = 0

    def feed(self, number: int, text: str) -> int:
        """Take a diagnostic, a file name, or a closing line."""
        pretty = _PRETTY.match(text)
        if pretty:
            code = pretty["code"]
            shown = f"error {code}: {pretty['message']}"
            place = (pretty["file"], whole(pretty["line"]))
            self._open(Draft(code, "compile", *place, shown, number, "tsc", whole(pretty["column"])))
            return _LINES
        row = _STYLISH.match(text) or _COMPACT.match(text)
        if row:
            return self._eslint(number, row)
        if self._closing(number, text):
            self._account.close()
            return 0
        if _NEXT.match(text):
            self._open(Draft("build failed", "compile", None, None, text, number, "next"))
            return _LINES
        head = _WEBPACK.match(text) or _ESBUILD.match(text)
        if head:
            return self._bundler(number, head, text)
        vite = _VITE.match(text)
        if vite and not len(self._account.failures):
            message = vite["message"]
            self._open(
                Draft(
                    plain(message) or "build failed", "compile", None, None, message or text, number, "vite"
                )
            )
            return _LINES
        if _FILE.match(text.strip()) and not text.startswith("  "):
            self._account.close()
            self._file = text.strip()
            return 2
        return self._below(number, text)

    def _open(self, draft: Draft) -> None:
        draft.end = draft.number
        self._account.open(draft, (draft.file, draft.line, draft.column, draft.name, draft.message))
        self._webpack = False

    def _eslint(self, number: int, row: re.Match[str]) -> int:
        file = row.groupdict().get("file") or self._file
        if file is None:
            return 0
        if row["severity"].lower() == "warning":
            self._account.close()
            return 1
        message = row["message"].strip()
        parsing = message.startswith("Parsing error")
        name = row["rule"] or ("parse error" if parsing else plain(message))
        self._open(
            Draft(name, "lint", file, whole(row["line"]), message, number, "eslint", integer(row["column"]))
        )
        return 1

    def _bundler(self, number: int, found: re.Match[str], text: str) -> int:
        row = found.groupdict()
        if "where" not in row:
            message = row["message"]
            self._open(Draft(plain(message), "compile", None, None, message, number, "esbuild"))
            return _LINES
        place = _WEBPACK_AT.match(row["where"].strip())
        draft = Draft("", "compile", None, None, row["where"], number, "webpack", None, number)
        if place and ("/" in place["file"] or "." in place["file"]):
            draft.file = place["file"].removeprefix("./") or None
            draft.line = integer(place["line"] or place["l"])
            draft.column = integer(place["column"] or place["c"])
        self._open(draft)
        self._webpack = True
        return _LINES

    def _below(self, number: int, text: str) -> int:
        draft = self._account.draft
        if draft is None:
            return 0
        if not text.strip():
            if draft.tool in ("webpack", "eslint"):
                self._account.close()
                return 0
            return _LINES
        if draft.tool == "vite" and _COUNTED.match(draft.message):
            self._says(number, text, draft)
            draft.name = plain(draft.message)
        if draft.tool == "webpack":
            if self._webpack:
                self._webpack = False
                self._says(number, text, draft)
                draft.name = plain(text.split(":", 1)[0]) if ":" in text else draft.name
            self._account.extend(number)
            return max(0, _LINES - (number - draft.start))
        if draft.tool == "next":
            return self._next(number, text, draft)
        if draft.tool == "vite" and number == draft.number + 1 and draft.message.startswith("error during"):
            self._says(number, text, draft)
        if not self._place(text, draft) and number > draft.number and not _INDENTED.match(text):
            self._account.close()
            return 0
        self._account.extend(number)
        return _LINES

    def _next(self, number: int, text: str, draft: Draft) -> int:
        """Next.js and create-react-app: the file on one line, the reason on the next."""
        at = _NEXT_AT.match(text)
        if at and draft.file is None:
            draft.file, draft.line = at["file"], integer(at["line"])
            draft.column = integer(at["column"])
        elif draft.message.startswith("Failed to compile"):
            self._says(number, text, draft)
        elif not _INDENTED.match(text):
            self._account.close()
            return 0
        self._account.extend(number)
        return _LINES

    @staticmethod
    def _says(number: int, text: str, draft: Draft) -> None:
        """A head without words takes those of the line below it."""
        draft.start = draft.start or draft.number
        draft.message, draft.name, draft.number = text.strip(), plain(text), number
        draft.key = (draft.file, draft.line, draft.column, draft.message)

    @staticmethod
    def _place(text: str, draft: Draft) -> bool:
        """Take the place that esbuild and Vite print below their message."""
        if draft.tool not in ("esbuild", "vite") or draft.file is not None:
            return False
        found = _ESBUILD_AT.match(text) or _VITE_FILE.match(text)
        if found:
            draft.file = found["file"]
            draft.line, draft.column = integer(found["line"]), integer(found["column"])
        return found is not None

    def _closing(self, number: int, text: str) -> bool:
        account = self._account
        end = _STYLISH_END.match(text)
        if end:
            account.stated.append(whole(end["errors"]))
            account.warnings = (account.warnings or 0) + whole(end["warnings"])
            account.tools.setdefault("eslint")
            return True
        webpack = _WEBPACK_END.match(text)
        if webpack:
            account.tools.setdefault("webpack")
            if webpack["errors"]:
                account.stated.append(whole(webpack["errors"]))
            account.well(number if webpack["how"] == "successfully" else 0)
            return True
        found = _FOUND.match(text)
        if found and account.tools:
            account.stated.append(whole(found["errors"]))
            return True
        return False

    def finish(self, last: int) -> Findings:
        """Errors as stated once at the end, else as counted."""
        return self._account.findings()


FAMILY: Final = Family(
    "web tools",
    Group.BUILD,
    (
        r":\d+:\d+ - error TS\d+: ",
        r"^\s+\d+:\d+ +error ",
        r": line \d+, col \d+, (?:Error|Warning) - ",
        r"^(?:[A-Za-z]:)?[\w./\\@+ ()\[\]-]+\.(?:[cm]?[jt]sx?|vue|svelte)$",
        r"^\s*(?:\x{2716}|\x{d7}) \d+ problems? \(",
        r"^ERROR in \S",
        r"^webpack [\d.]+ compiled ",
        r"^(?:\x{2718}|\x{2717}|X) \[ERROR\] ",
        r"^error during build:",
        r"^Failed to compile\.?$",
        r"^(?:\[[^\]]*\] )?Found \d+ errors?",
    ),
    Web,
)
