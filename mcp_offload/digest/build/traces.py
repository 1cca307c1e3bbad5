"""Tracebacks of other languages outside test runs: Java, .NET, Go, Rust, Node, Ruby, PHP, Perl."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import Frame, choose, frames, whole
from ..model import Lines, Verdict
from .collect import Collector, Draft

_JAVA: Final = re.compile(
    r'^(?:Exception in thread "(?P<thread>[^"]*)" )(?P<type>[\w.$]+)(?:: (?P<message>.*))?$'
)
_CAUSED: Final = re.compile(r"^\s*Caused by: (?P<type>[\w.$]+)(?:: (?P<message>.*))?$")
_DOTNET: Final = re.compile(r"^Unhandled [Ee]xception[.:] (?P<type>[\w.`]+): (?P<message>.*)$")
_GO: Final = re.compile(r"^(?P<message>(?:panic|fatal error): .*|SIG[A-Z]+: .*)$")
_GO_ROUTINE: Final = re.compile(r"^goroutine \d+ .*\[.*\]:$")
_GO_NOISE: Final = re.compile(r"/src/(?:runtime|testing|internal|reflect|net|sync)/")
_RUST: Final = re.compile(
    r"^thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at (?:'(?P<old>.*)', )?(?P<file>[^"
    r"\s:]+):(?P<line>\d+):(?P<column>\d+):?$"
)
_NODE_HEAD: Final = re.compile(r"^(?:file://)?(?P<file>(?:/|[A-Za-z]:[\\/]|node:)\S*?):(?P<line>\d+)$")
_NODE_ERROR: Final = re.compile(
    r"^(?:Uncaught:? )?(?P<type>(?:[A-Z]\w*)?(?:Error|Exception"
    r"|Rejection)\w*)(?: \[(?P<code>\w+)\])?(?:: (?P<message>.*))?$"
    r"|^\[?(?P<other>UnhandledPromiseRejection\w*): (?P<text>.*)$"
)
_NODE_END: Final = re.compile(r"^Node\.js v\d+|^Bun v\d|^error: Uncaught")
_RUBY: Final = re.compile(
    r"^(?P<file>[^\s:]+\.rb"
    r"|bin/\w+):(?P<line>\d+):in [`'](?P<function>[^']*)': (?P<message>.*) \((?P<type>[A-Z"
    r"]\w*(?:::\w+)*)\)$"
)
_PHP: Final = re.compile(
    r"^(?:PHP )?(?P<what>Fatal"
    r"|Parse) error: +(?:Uncaught )?(?P<message>.*?) in (?P<file>/?\S+?)(?::"
    r"| on line )(?P<line>\d+)$"
)
_PERL: Final = re.compile(r"^(?P<message>.*\S) at (?P<file>\S+\.p[lm]) line (?P<line>\d+)\.$")
_NODE_FROM: Final = re.compile(r"^- (?P<file>/\S+|[A-Za-z]:\\\S+)$|imported from (?P<importer>\S+)$")
_FRAME_LINE: Final = re.compile(
    r"^\s+(?:at |\.\.\. )|^\s*from |^\s+\S|^#\d+ |^Stack trace|^Require stack|^- /|^\s*$"
    r"|^goroutine |^\S+\(.*\)$|^created by |^exit status \d+|^\[signal "
)
_LINES: Final = 120


class Traces:
    """Each unhandled exception is one failure, placed where the user's code is deepest."""

    def __init__(self) -> None:
        self._account = Collector()
        self._frames: list[Frame] = []
        self._outer: list[Frame] = []
        self._mode = ""

    def feed(self, number: int, text: str) -> int:
        """Take the head of a trace or one of its lines."""
        for form, begin in (
            (_JAVA, self._java),
            (_DOTNET, self._java),
            (_GO, self._go),
            (_RUST, self._rust),
            (_RUBY, self._script),
            (_PHP, self._script),
        ):
            found = form.match(text)
            if found:
                self._settle()
                return begin(number, found, text)
        if self._mode:
            return self._below(number, text)
        head = _NODE_HEAD.match(text)
        if head:
            self._settle()
            self._mode = "node head"
            draft = Draft(
                "", "crash", head["file"], whole(head["line"]), "", number, "node", None, number, number
            )
            self._account.draft = draft
            return 30
        perl = _PERL.match(text)
        if perl:
            return self._script(number, perl, text)
        return 0

    def _open(self, mode: str, draft: Draft) -> int:
        self._mode, self._frames, self._outer = mode, [], []
        self._account.open(draft, (draft.name, draft.message, draft.number))
        return _LINES

    def _java(self, number: int, found: re.Match[str], text: str) -> int:
        tool = "java" if "thread" in found.groupdict() else "dotnet"
        return self._open(
            tool, Draft(found["type"], "crash", None, None, text.strip(), number, tool, None, number, number)
        )

    def _go(self, number: int, found: re.Match[str], text: str) -> int:
        message = found["message"]
        return self._open(
            "go head", Draft(message, "crash", None, None, message, number, "go", None, number, number)
        )

    def _rust(self, number: int, found: re.Match[str], text: str) -> int:
        message = found["old"] or ""
        draft = Draft(
            message,
            "crash",
            found["file"],
            whole(found["line"]),
            message,
            number,
            "rust",
            whole(found["column"]),
        )
        draft.start = draft.end = number
        self._open("rust" if message else "rust head", draft)
        return 3

    def _script(self, number: int, found: re.Match[str], text: str) -> int:
        row = found.groupdict()
        tool = "ruby" if "type" in row else "php" if "what" in row else "perl"
        name = row.get("type") or row["message"]
        message = f"{row['message']} ({row['type']})" if row.get("type") else row["message"]
        place = (row["file"], whole(row["line"]))
        self._open(tool, Draft(name, "crash", *place, message, number, tool, None, number, number))
        if tool == "perl":
            self._settle()
            return 0
        return 20

    def _below(self, number: int, text: str) -> int:
        draft = self._account.draft
        if draft is None:
            self._mode = ""
            return 0
        if self._mode == "node head":
            return self._node(number, text, draft)
        if self._mode == "rust head":
            draft.message = draft.name = text.strip() or "panic"
            draft.number, self._mode = number, "rust"
            draft.key = (draft.message, draft.file, draft.line)
            return 2
        if self._mode == "go head" and _GO_ROUTINE.match(text):
            self._mode = "go"
        caused = _CAUSED.match(text)
        if caused and self._mode == "java":
            draft.name = f"{caused['type']} (root cause)"
            draft.message, draft.number = text.strip(), number
            draft.key = (draft.name, draft.message, number)
            self._outer, self._frames = self._frames or self._outer, []
        elif not _FRAME_LINE.match(text) and not _NODE_END.match(text):
            self._settle()
            return 0
        elif len(self._frames) < 100:
            self._frames.extend(frames((text,)))
        self._importer(text, draft)
        if text.strip():
            self._account.extend(number)
            draft.traceback = Lines(draft.start, number)
        left = _LINES - (number - draft.start)
        if left <= 0:
            self._settle()
        return max(0, left)

    @staticmethod
    def _importer(text: str, draft: Draft) -> None:
        """A module that is not found is blamed on the file that asked for it."""
        if draft.tool == "node" and draft.file and draft.file.startswith("node:"):
            found = _NODE_FROM.search(text)
            if found:
                draft.file, draft.line = found["file"] or found["importer"], None

    def _node(self, number: int, text: str, draft: Draft) -> int:
        """Between node's head and its exception stand a line of code and a caret."""
        found = _NODE_ERROR.match(text)
        if found:
            draft.name = found["type"] or found["other"]
            draft.message, draft.number = text.strip(), number
            draft.key = (draft.name, draft.message, number)
            self._mode = "node"
            self._frames = []
            self._importer(text, draft)
            self._account.tools.setdefault("node")
            return _LINES
        if number - draft.start > 12 or _HEAD_ONLY.match(text):
            self._account.draft, self._mode = None, ""
            return 0
        return 12

    def _settle(self) -> None:
        """Place the open failure; what never became a trace is dropped."""
        draft = self._account.draft
        mode, self._mode = self._mode, ""
        if draft is None:
            return
        if mode in ("node head", "go head") or (mode == "rust head" and not draft.message):
            # "panic:" without a goroutine, or a path with a number, is no trace.
            self._account.draft = None
            if not len(self._account.failures) and self._account.tools:
                self._account.tools.pop(draft.tool, None)
            return
        # Of a cause, the frames that it shares with the exception around it are not repeated.
        place = choose(frame for frame in self._frames if not _GO_NOISE.search(frame.file)) or choose(
            self._outer
        )
        if place is not None and draft.tool in ("java", "dotnet", "go", "node"):
            draft.file, draft.line = place.file, place.line
        elif draft.tool == "node" and draft.file and draft.file.startswith("node:"):
            draft.file = draft.line = None
        self._account.close()

    def finish(self, last: int) -> Findings:
        """Unhandled exceptions are failures."""
        self._settle()
        found = self._account.findings()
        if not found.failures:
            return Findings()
        found.verdict = Verdict.FAILED
        return found


_HEAD_ONLY: Final = re.compile(r"^(?:\[|\$ |> |\d{4}-)")

FAMILY: Final = Family(
    "traces",
    Group.CRASH,
    (
        r'^Exception in thread "',
        r"^Unhandled [Ee]xception[.:] [\w.`]+: ",
        r"^(?:panic|fatal error): ",
        r"^SIG[A-Z]+: ",
        r"^thread '.*panicked at ",
        r"^(?:file://)?(?:/|[A-Za-z]:[\\/])\S*\.[cm]?[jt]sx?:\d+$",
        r"^node:[\w/]+:\d+$",
        r"^\S+\.rb:\d+:in [`'].*\([A-Z]\w*(?:::\w+)*\)$",
        r"^(?:PHP )?(?:Fatal|Parse) error: ",
        r" at \S+\.p[lm] line \d+\.$",
    ),
    Traces,
)
