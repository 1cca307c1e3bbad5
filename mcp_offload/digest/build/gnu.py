"""Diagnostics in the GNU form ``file:line:column: error: text``: gcc, clang, javac, kotlinc, GnuCOBOL."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import Frame, is_library, whole
from .collect import Collector, Draft, integer, plain

# Source: GNU coding standards, 4.4 "Formatting Error Messages".
_DIAGNOSTIC: Final = re.compile(
    r"^\s{0,16}(?:psql:)?(?P<file>(?:[A-Za-z]:[\\/])?[^\s:()\[\]|][^:()"
    r"|]*?):(?P<line>\d+)(?::(?P<column>\d+))?(?:-\d+)?: ?"
    r"(?P<severity>(?:fatal |internal compiler |syntax )?[Ee]rror|ERROR|warning|note|remark"
    r"|info)(?:\[(?P<code>[A-Z]+\d+)\])?:? *(?P<message>.*)$"
)
_DRIVER: Final = re.compile(
    r"^(?P<tool>(?:\S*/)?(?:cc1(?:plus|obj)?|g?cc|g\+\+|c\+\+|clang(?:\+\+)?(?:-\d+)?|as"
    r"|cpp|cobc|gfortran|ghc|swiftc|f951)"
    r"(?:-[\d.]+)?): (?P<severity>(?:fatal )?error): (?P<message>.*)$"
)
_QUOTED: Final = re.compile(
    r"^\"(?P<file>[^\"]+)\",(?: line )?(?P<line>\d+)[:, ] *(?:[Ff]atal )?[Ee]rror(?:\[(?P<code>\w+)\])?"
    r":? *(?:#(?:\w+): )?(?P<message>.*)$"
)
_JAVAC6: Final = re.compile(
    r"^(?P<file>\S+\.java):(?P<line>\d+): (?!error:|warning:|note:|Note:)(?P<message>\S.*)$"
)
_REQUIRED: Final = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+)(?::(?P<column>\d+))?:\s+(?:recursively )?required (?:from|by)"
)
_ORIGIN: Final = re.compile(
    r"^(?:In file included from|\s+from )|: In (?:member |static member "
    r"|lambda )?(?:instantiation|function|substitution|constructor|destructor)"
    r"|: At (?:top level|global scope)"
)
_REQUESTED: Final = re.compile(
    r"in instantiation of .* requested here|required (?:from|by)|in evaluation of|while substituting"
)
_COUNT: Final = re.compile(
    r"^(?:(?P<warnings>\d+) warnings?)?(?: and )?(?:(?P<errors>\d+) errors?)? generated\.$"
    r"|^(?P<plain>\d+) errors?$"
    r"|^(?P<some>\d+) warnings?$"
)
_SYMBOL: Final = re.compile(r"^\s*symbol\s*:\s+(?P<symbol>.*)$")
_FOUND: Final = re.compile(r"^ (?:found   :|required:) ")
_TARGET: Final = re.compile(
    r"^(?:\S*/)?g?make(?:\[\d+\])?: \*\*\* \[(?:[^\]]*: )?(?P<target>[^\]:]+)\] (?!.*ignored)"
)
_NINJA: Final = re.compile(r"^FAILED: (?:\[code=\d+\] )?(?P<target>\S+)")
_CARET: Final = re.compile(
    r"^\s*(?:\d+ )?\||^\s*[~^*]|^\s+\S|^\s*$|^(?:cc1|compilation terminated|Please submit|See <)"
)
_PROBE: Final = re.compile(
    r"(?:^|/)(?:conftest|_?configtest|CheckSymbolExists|CheckFunctionExists"
    r"|testCX?XCompiler)\.c|CMakeTmp|CMakeScratch|TryCompile"
)
_WRAPPER: Final = re.compile(
    r"linker command failed|ld returned \d+ exit|all warnings being treated as errors"
    r"|unable to execute command|clang frontend command failed"
)

_TOOLS: Final = {
    "java": "javac",
    "kt": "kotlinc",
    "kts": "kotlinc",
    "scala": "scalac",
    "sc": "scalac",
    "swift": "swiftc",
    "cob": "cobc",
    "cbl": "cobc",
    "cpy": "cobc",
    "hs": "ghc",
    "rs": "rustc",
    "go": "go",
    "vala": "valac",
    "v": "iverilog",
    "sv": "verilator",
    "d": "dmd",
    "zig": "zig",
    "nim": "nim",
    "f": "gfortran",
    "f90": "gfortran",
    "proto": "protoc",
    "sql": "psql",
    "s": "as",
    "asm": "nasm",
}
_NOT_OURS: Final = frozenset(("py", "pyi", "ts", "tsx", "js", "jsx", "mjs", "cjs", "vue", "css", "scss"))


class Gnu:
    """Turns each error into a failure; the place is the user's own line where a header is blamed."""

    def __init__(self) -> None:
        self._account = Collector()
        self._origin: tuple[str, int, int | None] | None = None
        self._origin_start = 0
        self._unnamed: list[Draft] = []
        self._ninja: str | None = None
        self._clang = False
        self._foreign = False

    def feed(self, number: int, text: str) -> int:
        """Take a diagnostic, what leads up to it, or what explains it."""
        found = _DIAGNOSTIC.match(text)
        if found:
            return self._diagnostic(number, found)
        driver = _DRIVER.match(text)
        if driver:
            return self._driver(number, driver)
        other = _QUOTED.match(text) or _JAVAC6.match(text)
        if other:
            return self._other(number, other)
        required = _REQUIRED.match(text)
        if required:
            self._require(number, required)
            return 0
        if _ORIGIN.search(text):
            if not text.startswith((" ", "\t")):
                self._settle()
                self._origin, self._origin_start = None, self._origin_start or number
            return 0
        target = _TARGET.match(text) or _NINJA.match(text)
        if target:
            self._settle()
            self._name_target(target["target"].strip(), after=text.startswith("FAILED"))
            return 0
        count = _COUNT.match(text)
        if count:
            self._counted(count)
            return 0
        return self._explain(number, text)

    def _diagnostic(self, number: int, found: re.Match[str]) -> int:
        file, severity = found["file"], found["severity"].lower()
        extension = file.rsplit(".", 1)[-1].lower() if "." in file else ""
        if extension in _NOT_OURS or _PROBE.search(file):
            self._settle()
            self._foreign = True
            return 0
        self._foreign = False
        if "error" not in severity:
            return self._remark(number, found, severity)
        self._settle()
        line, column = whole(found["line"]), integer(found["column"])
        tool = _TOOLS.get(extension, "cc")
        message = found["message"].strip() or severity
        key = (file, line, column, message)
        code = found["code"] or ""
        draft = Draft(code, "compile", file, line, message, number, tool, column, self._origin_start, number)
        if self._origin is not None and is_library(Frame(file, line)):
            draft.file, draft.line, draft.column = self._origin
        self._account.open(draft, key)
        self._origin, self._origin_start = None, 0
        return self._account.room()

    def _other(self, number: int, found: re.Match[str]) -> int:
        """Compilers that quote the file (Arm, Sun, IAR), and javac before it said "error"."""
        self._settle()
        row = found.groupdict()
        tool, message, file = ("cc" if "code" in row else "javac"), row["message"].strip(), row["file"]
        line = whole(row["line"])
        draft = Draft(row.get("code") or "", "compile", file, line, message, number, tool, None, 0, number)
        self._account.open(draft, (file, line, None, message))
        return self._account.room()

    def _remark(self, number: int, found: re.Match[str], severity: str) -> int:
        """A note belongs to the error before it; a warning ends that error."""
        draft = self._account.draft
        if severity != "note" or draft is None:
            self._settle()
            self._origin, self._origin_start = None, 0
            return 0
        self._account.extend(number)
        place = Frame(found["file"], whole(found["line"]))
        blamed = draft.file and is_library(Frame(draft.file, draft.line)) and not is_library(place)
        if blamed and _REQUESTED.search(found["message"]):
            draft.file, draft.line, draft.column = place.file, place.line, integer(found["column"])
        return self._account.room()

    def _driver(self, number: int, found: re.Match[str]) -> int:
        """An error of the compiler driver; what only reports another failure is a wrapper's line."""
        self._settle()
        message, tool = found["message"], found["tool"].rsplit("/", 1)[-1]
        if _WRAPPER.search(message):
            self._account.tools.setdefault("cc")
            self._account.ended_badly = True
            return 0
        self._account.open(
            Draft(plain(message), "compile", None, None, message, number, tool, None, 0, number)
        )
        return 0

    def _require(self, number: int, found: re.Match[str]) -> None:
        self._settle()
        place = Frame(found["file"], whole(found["line"]))
        if self._origin is None and not is_library(place):
            self._origin = (place.file, whole(found["line"]), integer(found["column"]))
        self._origin_start = self._origin_start or number

    def _explain(self, number: int, text: str) -> int:
        """Take a code frame or a continuation of the open error."""
        draft = self._account.draft
        if draft is None:
            return 0
        symbol = _SYMBOL.match(text)
        if symbol and draft.tool == "javac" and draft.message.startswith("cannot find symbol"):
            draft.message = f"cannot find symbol: symbol:   {symbol['symbol']}"
            draft.name = f"cannot find symbol: {symbol['symbol']}"
            draft.number, draft.start = number, draft.start or draft.number
        elif draft.tool == "scalac" and draft.message.endswith(";") and _FOUND.match(text):
            draft.message = f"{draft.message} {' '.join(text.split())};"
        elif number != draft.number + 1 and not _CARET.match(text):
            self._settle()
            return 0
        if text.strip():
            self._account.extend(number)
        return self._account.room()

    def _settle(self) -> None:
        """Name the open draft and close it."""
        draft = self._account.draft
        if draft is None:
            return
        keep = draft.tool in ("javac", "kotlinc", "scalac")
        if keep and draft.column is None:
            draft.key = (draft.file, draft.line, draft.message)
        draft.name = draft.name or (draft.message if keep else plain(draft.message))
        draft.end = max(draft.end, draft.number)
        if self._ninja is not None and self._belongs(draft, self._ninja):
            draft.name = f"{self._ninja}: {draft.name}"
        elif len(self._unnamed) < 1000:
            self._unnamed.append(draft)
            self._account.draft = None
            return
        self._account.close()

    @staticmethod
    def _belongs(draft: Draft, target: str) -> bool:
        stem = target.split(".")[0]
        return bool(draft.file) and draft.file.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0] == stem

    def _name_target(self, target: str, *, after: bool) -> None:
        """Put a failed target's name before the errors that are its own."""
        target = target.rsplit("/", 1)[-1]
        if after:
            self._flush()
            self._ninja = target
            return
        named = [draft for draft in self._unnamed if self._belongs(draft, target)]
        for draft in named:
            draft.name = f"{target}: {draft.name}"

    def _counted(self, found: re.Match[str]) -> None:
        self._settle()
        errors = found["errors"] or found["plain"]
        if self._foreign or not (self._unnamed or len(self._account.failures)):
            return
        if errors:
            self._account.stated.append(whole(errors))
        warnings = found["warnings"] or found["some"]
        if warnings:
            self._account.warnings = (self._account.warnings or 0) + whole(warnings)

    def _flush(self) -> None:
        for draft in self._unnamed:
            self._account.failures.add(draft.failure(), draft.key)
        self._unnamed = []

    def finish(self, last: int) -> Findings:
        """Errors as counted, or as the compiler states them once."""
        self._settle()
        self._flush()
        return self._account.findings()


FAMILY: Final = Family(
    "compiler",
    Group.BUILD,
    (
        r":\d+(?::\d+)?(?:-\d+)?: ?(?:fatal |internal compiler |syntax )?[Ee]rror(?:\[E\d+\])?:? ",
        r":\d+: ERROR: ",
        r"\",(?: line )?\d+[:, ] ?(?:[Ff]atal )?[Ee]rror\b",
        r"\.java:\d+: \S",
        r":\s+(?:recursively )?required (?:from|by) ",
        r": In (?:instantiation|substitution) of ",
        r"^(?:\S*/)?(?:cc1(?:plus|obj)?|g?cc|g\+\+|c\+\+|clang(?:\+\+)?|cobc|gfortran|ghc"
        r"|swiftc|f951)(?:-[\d.]+)?: (?:fatal )?error: ",
        r"^(?:\S*/)?g?make(?:\[\d+\])?: \*\*\* \[",
        r"^FAILED: ",
        r"^\d+ (?:warnings?|errors?)(?: and \d+ errors?)? generated\.$",
        r"^\d+ errors?$",
    ),
    Gnu,
)
