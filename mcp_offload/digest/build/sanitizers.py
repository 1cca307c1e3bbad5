"""AddressSanitizer and its family, UBSan, ThreadSanitizer, LeakSanitizer, and valgrind."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import Frame, choose, whole
from ..model import Lines
from .collect import Collector, Draft, integer

_REPORT: Final = re.compile(
    r"^(?:.*?)==(?P<pid>\d+)==\s?(?P<severity>ERROR|WARNING): (?P<tool>\w*Sanitizer): (?P<message>.*)$"
)
_THREAD: Final = re.compile(r"^WARNING: (?P<tool>ThreadSanitizer): (?P<message>.*?)(?: \(pid=\d+\))?$")
_RUNTIME: Final = re.compile(
    r"^\s*(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+): runtime error: (?P<message>.*)$"
)
_FRAME: Final = re.compile(
    r"^\s*#\d+\s+(?:0x[0-9a-f]+\s+)?(?:in )?(?P<function>.*?)\s+\(?(?P<file>[^\s()]*[^\s()"
    r":\d][^\s():]*):(?P<line>\d+)(?::\d+)?\)?(?:\s|$)"
)
_ANY_FRAME: Final = re.compile(r"^\s*#\d+\s")
_SUMMARY: Final = re.compile(r"^SUMMARY: (?P<tool>\w*Sanitizer): ")
_END: Final = re.compile(r"^(?:=+$|==\d+==ABORTING|SUMMARY: )")
_WORD: Final = re.compile(
    r"^(?P<name>attempting (?:double-free|free on address which was not malloc\(\)-ed)|[\w-]+(?: leaks)?)"
)
_SECTION: Final = re.compile(
    r"^(?:freed by|previously allocated|allocated by|Previous |  Previous |Indirect leak"
    r"|0x[0-9a-f]+ is located|Thread T|  Thread T|  Mutex |  Location is|Address 0x"
    r"|This frame has)"
)
_LEAK: Final = re.compile(r"^(?:Direct|Indirect) leak of \d+ byte")
_LINES: Final = 150


class Sanitizers:
    """One failure for each report, placed at the first frame of the user's own code."""

    def __init__(self) -> None:
        self._account = Collector()
        self._frames: list[Frame] = []
        self._first_stack = True
        self._leak = False

    def feed(self, number: int, text: str) -> int:
        """Take a report's head, its stack, or a runtime error."""
        report = _REPORT.match(text) or _THREAD.match(text)
        if report:
            self._settle()
            return self._begin(number, report, text)
        runtime = _RUNTIME.match(text)
        if runtime:
            self._settle()
            message = runtime["message"]
            draft = Draft(message, "crash", runtime["file"], whole(runtime["line"]), message, number, "ubsan")
            draft.column, draft.end = whole(runtime["column"]), number
            self._account.open(draft, (draft.file, draft.line, draft.column, message))
            return 3
        draft = self._account.draft
        if draft is None:
            return 0
        if draft.tool == "ubsan":
            if ": note: " in text or re.match(r"^\s", text):
                self._account.extend(number)
                return 1
            self._settle()
            return 0
        return self._below(number, text, draft)

    def _begin(self, number: int, report: re.Match[str], text: str) -> int:
        tool, message = report["tool"], report["message"]
        word = _WORD.match(message)
        name = word["name"].removeprefix("attempting ") if word else message
        if message.startswith("data race"):
            name = "data race"
        shown = text[text.index("ERROR: ") :] if "ERROR: " in text else text[text.index("WARNING: ") :]
        self._frames, self._first_stack = [], True
        self._leak = tool == "LeakSanitizer" or "detected memory leaks" in message
        draft = Draft(
            "memory leak" if self._leak else name,
            "crash",
            None,
            None,
            shown,
            number,
            tool,
            None,
            number,
            number,
        )
        self._account.open(draft, (number,))
        return _LINES

    def _below(self, number: int, text: str, draft: Draft) -> int:
        if _END.match(text) and number > draft.start + 1:
            if not _SUMMARY.match(text) and draft.tool != "ThreadSanitizer":
                self._settle()
                return 0
            self._account.extend(number)
            self._settle()
            return 0
        if _SECTION.match(text) or (self._leak and _LEAK.match(text) and self._frames):
            self._first_stack = False
        frame = _FRAME.match(text)
        if frame:
            if self._first_stack and len(self._frames) < 100:
                self._frames.append(Frame(frame["file"], integer(frame["line"]), frame["function"]))
                if draft.traceback is None:
                    draft.traceback = Lines(number, number)
            if self._first_stack and draft.traceback is not None:
                draft.traceback = Lines(draft.traceback.start, number)
        elif not text.strip() and self._frames:
            self._first_stack = False
        self._account.extend(number)
        left = _LINES - (number - draft.start)
        if left <= 0:
            self._settle()
        return max(0, left)

    def _settle(self) -> None:
        draft = self._account.draft
        if draft is not None and draft.tool != "ubsan":
            place = choose(self._frames)
            if place is not None:
                draft.file, draft.line = place.file, place.line
        self._account.close()

    def finish(self, last: int) -> Findings:
        """Reports as counted."""
        self._settle()
        return self._account.findings()


_VALGRIND: Final = re.compile(r"^==(?P<pid>\d+)==\s?(?P<body>.*)$")
_KINDS: Final = re.compile(
    r"^(?:(?P<invalid>Invalid (?:read|write|free\(\)|jump).*)"
    r"|(?P<uninit>Conditional jump or move depends on uninitialised.*"
    r"|Use of uninitialised value.*|Syscall param .*|Source and destination overlap.*"
    r"|Mismatched free\(\).*|Argument '.*' of function .*)"
    r"|(?P<leak>[\d,]+ (?:\([^)]*\) )?bytes in [\d,]+ blocks are (?:definitely|indirectly|possibly) lost .*)"
    r"|(?P<signal>Process terminating with default action of signal \d+ \((?P<signame>\w+)\).*)"
    r"|(?P<race>Possible data race .*|Thread #\d+: .*|Thread #\d+ .*lock order.*))$"
)
_VG_FRAME: Final = re.compile(
    r"^\s+(?:at|by) 0x[0-9A-F]+: (?P<function>.+?) \((?:in )?(?P<file>[^():]+)(?::(?P<line>\d+))?\)$"
)
_VG_SUMMARY: Final = re.compile(
    r"^ERROR SUMMARY: (?P<errors>[\d,]+) errors? from (?P<contexts>\d+) contexts?"
)
_POSSIBLE: Final = re.compile(r"possibly lost|indirectly lost|still reachable")


class Valgrind:
    """Each error context is one failure; ``ERROR SUMMARY`` states how many errors there were."""

    def __init__(self) -> None:
        self._account = Collector()
        self._frames: list[Frame] = []
        self._aside = False
        self._summary: int | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a line of the report."""
        found = _VALGRIND.match(text)
        if not found:
            return 1 if self._account.draft is not None else 0
        body = found["body"]
        kind = _KINDS.match(body)
        if kind:
            self._settle()
            return self._begin(number, kind, body)
        summary = _VG_SUMMARY.match(body)
        if summary:
            self._settle()
            self._account.tools.setdefault("valgrind")
            errors = whole(summary["errors"].replace(",", ""))
            self._summary = (self._summary or 0) + errors
            return 0
        draft = self._account.draft
        if draft is None:
            return 0
        if not body.strip():
            self._settle()
            return 0
        frame = _VG_FRAME.match(body)
        if frame is None:
            self._aside = True
        elif not self._aside and len(self._frames) < 60:
            self._frames.append(Frame(frame["file"], integer(frame["line"]), frame["function"]))
            draft.traceback = Lines(draft.traceback.start if draft.traceback else number, number)
        self._account.extend(number)
        return 60

    def _begin(self, number: int, kind: re.Match[str], body: str) -> int:
        self._frames, self._aside = [], False
        if kind["leak"] and _POSSIBLE.search(body):
            return 0
        name = kind["signame"] or body
        draft = Draft(name, "crash", None, None, body, number, "valgrind", None, number, number)
        self._account.open(draft, (number,))
        return 60

    def _settle(self) -> None:
        draft = self._account.draft
        if draft is not None:
            placed = [frame for frame in self._frames if frame.line is not None]
            own = [frame for frame in placed if "/" not in frame.file and not self._libc(frame)]
            # What leaked was asked for by the caller of the function that allocates.
            leak = "lost in loss record" in draft.message and len(own) > 1
            place = choose(own[1:] if leak else own) or choose(placed)
            if place is not None:
                draft.file, draft.line = place.file, place.line
        self._account.close()

    @staticmethod
    def _libc(frame: Frame) -> bool:
        """Valgrind prints the base names of the C library's sources, such as ``ioputs.c``."""
        return bool(_LIBC.match(frame.function)) or frame.function.startswith(
            ("_IO_", "__", "vgPlain", "_dl_")
        )

    def finish(self, last: int) -> Findings:
        """Errors as the summary states them."""
        self._settle()
        found = self._account.findings()
        if found.tools and self._summary is not None:
            found.totals["errors"] = self._summary
        return found


_LIBC: Final = re.compile(
    r"^(?:"
    r"puts|printf|fprintf|sprintf|snprintf|vprintf|fputs|fwrite|fread|strlen|strcpy|strcmp|"
    r"strncpy|strcat|strdup|memcpy|memmove|memset|memcmp|malloc|calloc|realloc|free|write|"
    r"read|qsort|bsearch|atoi|strtol|abort|raise|exit|vfprintf|printf_positional|perror"
    r")$"
)

FAMILY: Final = Family(
    "sanitizers",
    Group.CRASH,
    (
        r"==\d+==\s?(?:ERROR|WARNING): \w*Sanitizer: ",
        r"^WARNING: ThreadSanitizer: ",
        r":\d+:\d+: runtime error: ",
    ),
    Sanitizers,
)
VALGRIND: Final = Family(
    "valgrind",
    Group.CRASH,
    (
        r"^==\d+== (?:Invalid|Conditional jump|Use of uninit|Syscall param|Source and dest"
        r"|Mismatched|Argument '|Process termin|Possible data|Thread #)",
        r"^==\d+== [\d,]+ (?:\(.*\) )?bytes in [\d,]+ blocks are ",
        r"^==\d+== ERROR SUMMARY: ",
    ),
    Valgrind,
)
