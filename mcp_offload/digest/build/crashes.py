"""Signals, aborts and assertions of native programs, debuggers, time-outs and exhausted memory."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer, plain

_SIGNAL: Final = re.compile(
    r"^(?:(?:\S*/)?(?:ba|da|z|k)?sh: )?(?:line \d+: "
    r"|\S+: line \d+: )?\s*(?:\d+ )?(?P<what>Segmentation fault|Aborted|Bus error"
    r"|Floating point exception"
    r"|Illegal instruction|Trace/breakpoint trap)(?P<core> \(core dumped\))?(?:\s+(?P<command>\S.*))?$"
)
_TERMINATE: Final = re.compile(
    r"^terminate called (?:after throwing an instance of '(?P<type>[^']+)'"
    r"|without an active exception|recursively)"
)
_LIBCXX: Final = re.compile(
    r"^(?:libc\+\+abi: |libc\+\+abi\.dylib: )(?P<message>.*(?:terminating|uncaught).*)$"
)
_WHAT: Final = re.compile(r"^\s*what\(\): +(?P<message>.*)$")
_ASSERT: Final = re.compile(
    r"^(?:\S+: )?(?P<file>[^\s:]+\.\w+):(?P<line>\d+): (?P<function>.*?): (?P<message>Asse"
    r"rtion [`'](?P<condition>.*)' failed\.?)$"
    r"|^Assertion failed: \((?P<mac>.*)\), function (?P<f2>\w+), file (?P<file2>[^,]+), li"
    r"ne (?P<line2>\d+)\.$"
)
_GLIBC: Final = re.compile(
    r"^(?P<message>\*\*\* stack smashing detected \*\*\*.*"
    r"|\*\*\* buffer overflow detected \*\*\*.*|double free or corruption.*"
    r"|free\(\): invalid .*|malloc\(\): .*"
    r"|malloc_consolidate\(\): .*|corrupted size vs\. prev_size.*|munmap_chunk\(\): .*|realloc\(\): .*)$"
)
_GDB: Final = re.compile(
    r"^(?:Program|Thread \d+ .*) received signal (?P<signal>SIG\w+), (?P<what>.*)\.$"
    r"|^Program terminated with signal (?P<core>SIG\w+), (?P<core_what>.*)\.$"
)
_GDB_FRAME: Final = re.compile(
    r"^(?:#\d+\s+)?(?:0x[0-9a-f]+ in )?(?P<function>\S+) \(.*\) at (?P<file>[^\s:]+):(?P<line>\d+)$"
)
_TIMEOUT: Final = re.compile(
    r"^(?P<message>Command took >\d+ ?\w+, returning \d+.*|(?:ERROR: |Error: )?(?:Job"
    r"|Command|Process|Build|Task|Step|Execution|The (?:job|action|operation|command"
    r"|build)\b.*?)"
    r" (?:has )?(?:timed out|exceeded the (?:maximum|time) .*)(?: after .*)?"
    r"|timeout: sending signal \w+ to command .*|TIMEOUT: .*"
    r"|Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!)$"
)
_MEMORY: Final = re.compile(
    r"^(?P<message>.*(?:CUDA out of memory|out of memory allocating"
    r"|Cannot allocate memory|JavaScript heap out of memory"
    r"|Out of memory: Kill(?:ed)? process"
    r"|virtual memory exhausted|fatal error: out of memory|std::bad_alloc"
    r"|No space left on device|java\.lang\.OutOfMemoryError|oom-kill).*)$"
)
# What talks of a failure that was met, or of a test of one.
_TALK: Final = re.compile(r"(?i)\b(?:passed|skipp\w+|ok|handled|ignor\w+|simulat\w+|retry\w*|again)\b")
_KILLED: Final = re.compile(
    r"^(?:(?:\S*/)?(?:ba|da|z)?sh: )?(?:line \d+: "
    r"|\S+: line \d+: )?\s*(?:\d+ )?Killed(?:\s+(?P<command>\S.*))?$"
)
_NAMES: Final = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
    "Trace/breakpoint trap": "SIGTRAP",
}


class Crashes:
    """The shell's word for a signal only counts where the program said nothing itself."""

    def __init__(self) -> None:
        self._account = Collector()
        self._aborted = False
        self._gdb: Draft | None = None

    def feed(self, number: int, text: str) -> int:
        """Take a crash's line."""
        if self._gdb is not None and (frame := _GDB_FRAME.match(text)):
            if self._gdb.file is None and not frame["file"].startswith(("../", "./")):
                self._gdb.file, self._gdb.line = frame["file"], whole(frame["line"])
            self._gdb.end = number
            return 20
        what = _WHAT.match(text)
        draft = self._account.draft
        if what and draft is not None:
            draft.message = f"{draft.name}: {what['message']}"
            draft.end = number
            return 0
        for form, take in (
            (_TERMINATE, self._terminate),
            (_LIBCXX, self._message),
            (_ASSERT, self._assertion),
            (_GLIBC, self._message),
            (_GDB, self._debugger),
            (_SIGNAL, self._signal),
            (_KILLED, self._killed),
            (_TIMEOUT, self._timeout),
            (_MEMORY, self._memory),
        ):
            found = form.match(text)
            if found:
                return take(number, found, text)
        return 20 if self._gdb is not None and number - self._gdb.number < 20 else 0

    def _open(self, number: int, name: str, kind: str, message: str) -> Draft:
        self._gdb = None
        draft = Draft(name, kind, None, None, message, number, "crash", None, number, number)
        self._account.open(draft, (name, message))
        return draft

    def _terminate(self, number: int, found: re.Match[str], text: str) -> int:
        self._open(number, found["type"] or "terminate", "crash", text)
        self._aborted = True
        return 2

    def _message(self, number: int, found: re.Match[str], text: str) -> int:
        self._open(number, plain(found["message"]), "crash", found["message"])
        self._aborted = True
        return 0

    def _assertion(self, number: int, found: re.Match[str], text: str) -> int:
        message = found["message"] or text
        draft = self._open(number, plain(message), "crash", message)
        draft.file, draft.line = found["file"] or found["file2"], integer(found["line"] or found["line2"])
        self._aborted = True
        return 0

    def _debugger(self, number: int, found: re.Match[str], text: str) -> int:
        self._gdb = self._open(number, found["signal"] or found["core"], "crash", text)
        draft = self._gdb
        self._aborted = True
        self._gdb = draft
        return 20

    def _signal(self, number: int, found: re.Match[str], text: str) -> int:
        """What the shell says of a program that said why itself is no second failure."""
        if found["what"] == "Aborted" and self._aborted:
            self._account.extend(number)
            return 0
        if not found["core"] and not found["command"] and ":" not in text and text.strip() != found["what"]:
            return 0
        draft = self._open(number, _NAMES[found["what"]], "crash", text.strip())
        if found["what"] == "Aborted":
            draft.kind = "target"  # the reason, if any family knows it, stands before
        return 0

    def _killed(self, number: int, found: re.Match[str], text: str) -> int:
        self._open(number, "SIGKILL", "crash", text.strip())
        return 0

    def _timeout(self, number: int, found: re.Match[str], text: str) -> int:
        if _TALK.search(text):
            return 0
        self._open(number, "timeout", "timeout", found["message"])
        return 0

    def _memory(self, number: int, found: re.Match[str], text: str) -> int:
        if _TALK.search(text):
            return 0
        name = "disk full" if "No space left" in text else "oom"
        self._account.open(
            Draft(name, "resource", None, None, text.strip(), number, "crash", None, number, number), name
        )
        return 0

    def finish(self, last: int) -> Findings:
        """Crashes as counted."""
        return self._account.findings()


FAMILY: Final = Family(
    "crashes",
    Group.CRASH,
    (
        r"(?:^|[: \d])(?:Segmentation fault|Aborted|Bus error|Floating point exception"
        r"|Illegal instruction|Trace/breakpoint trap)(?: \(core dumped\)| {2,}\S|$)",
        r"^terminate called ",
        r"^libc\+\+abi",
        r": Assertion [`'].* failed",
        r"^Assertion failed: \(",
        r"^\*\*\* (?:stack smashing|buffer overflow) detected",
        r"^(?:double free or corruption|free\(\): invalid|malloc\(\): |malloc_consolidate"
        r"|corrupted size vs|munmap_chunk|realloc\(\): )",
        r" received signal SIG\w+, ",
        r"^Program terminated with signal SIG",
        r"(?:^|\d |: )Killed(?:$|  +\S)",
        r"^Command took >\d+",
        r"(?:timed out after|has timed out|exceeded the (?:maximum|time))",
        r"^timeout: sending signal",
        r"^Timeout \(\d+:\d\d:",
        r"CUDA out of memory|heap out of memory|Cannot allocate memory"
        r"|virtual memory exhausted|No space left on device|Out of memory: Kill"
        r"|OutOfMemoryError",
    ),
    Crashes,
)
