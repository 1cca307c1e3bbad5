"""rustc and cargo: diagnostics in rustc's own form, link failures, and what cargo itself complains of."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer

# Source: rustc's human-readable emitter (rustc_errors::emitter).
_ERROR: Final = re.compile(r"^error(?:\[(?P<code>[A-Z]+\d+)\])?: (?P<message>.*)$")
_WARNING: Final = re.compile(r"^warning(?:\[\w+\])?: ")
_ARROW: Final = re.compile(r"^\s*--> (?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?$")
_COMPILE: Final = re.compile(
    r"^could not compile `(?P<crate>[^`]+)`(?: \((?P<unit>[^)]*)\))?(?:.*?due to (?P<count"
    r">\d+|one) previous errors?)?"
)
_ABORT: Final = re.compile(
    r"^aborting due to (?P<count>\d+ )?previous error|^aborting due to \d+ previous errors?"
)
_LINKING: Final = re.compile(r"^linking with `(?P<linker>[^`]+)` failed")
_LINKER_SAYS: Final = re.compile(
    r"^\s*(?:= note: )?(?P<message>(?:\S*/)?(?:ld|ld\.lld|lld-link|rust-lld|mold|collect2"
    r"|clang|cc)\S*: (?:error: |fatal error: )?\S.*"
    r"|.*undefined reference to .*|.*error LNK\d+:.*)$"
)
_REFERENCE: Final = re.compile(r"^\s*>>> referenced by (?P<file>[^\s():]+):(?P<line>\d+)")
_UNDEFINED: Final = re.compile(
    r"undefined (?:symbol|reference)|cannot find|unable to find|duplicate symbol|multiple definition|LNK\d+"
)
_DONE: Final = re.compile(r"^\s*Finished (?:`?[\w-]+`? (?:profile )?|\w+ )?.*(?:target\(s\)|\[)")
_TEST_BUILD: Final = re.compile(r"^\s*Finished `?(?:test|bench)\b")
_RUNNING: Final = re.compile(r"^\s+Running (?:`\S*target/|unittests |tests/|benches/)|^\s+Doc-tests ")
_WRAPPER: Final = re.compile(
    r"^(?:test failed, to rerun|\d+ targets? failed|doctest failed|build failed, waiting"
    r"|process didn't exit|aborting)"
)
_CARGO: Final = re.compile(
    r"^(?:failed to|no matching package|could not find|package|manifest|the lock file"
    r"|unexpected argument|unable to"
    r"|no such (?:command|subcommand)|toolchain|rustup|invalid|cannot|could not|`"
    r"|component|linker|edition|feature|target)"
)
_PLACE: Final = re.compile(
    r"^\s+(?:-->|\|)|^\s*\d+ ?[|+-]|^\s+= |^\s+\.\.\.|^\.\.\.|^\s*$|^\s{3,}|^note: |^help: |^Caused by:|^\s+"
)
_LINES: Final = 200


class Rust:
    """An error is a failure once its place is known; cargo's closing line is a wrapper."""

    def __init__(self) -> None:
        self._account = Collector()
        self._link: Draft | None = None
        self._building = False
        self._crate_errors = 0

    def feed(self, number: int, text: str) -> int:
        """Take an error's head or one of the lines below it."""
        found = _ERROR.match(text)
        if found:
            return self._error(number, found)
        if _WARNING.match(text) or _DONE.match(text) or _RUNNING.match(text):
            self._settle()
            if not _WARNING.match(text):
                # What cargo then runs, or the tests that a test build is for, is not over yet.
                self._account.tools.setdefault("cargo")
                self._account.well(number if _DONE.match(text) and not _TEST_BUILD.match(text) else 0)
            return 0
        if self._account.draft is None:
            if "panicked at" not in text and text.startswith("error: internal compiler error"):
                self._account.ended_badly = True
            return 0
        return self._below(number, text)

    def _error(self, number: int, found: re.Match[str]) -> int:
        self._settle()
        message, code = found["message"].strip(), found["code"]
        compile_end = _COMPILE.match(message)
        if compile_end:
            return self._compile_end(number, compile_end, message)
        if _ABORT.match(message) or _WRAPPER.match(message):
            return 0
        linking = _LINKING.match(message)
        kind = "link" if linking else "compile"
        name = code or message
        shown = f"error[{code}]: {message}" if code else message
        draft = Draft(name, kind, None, None, shown, number, "rustc", None, number, number)
        self._account.draft = draft
        if linking:
            draft.name = f"linking with {linking['linker']} failed"
            self._link = draft
        return _LINES

    def _compile_end(self, number: int, found: re.Match[str], message: str) -> int:
        self._account.tools.setdefault("cargo")
        self._account.ended_badly = True
        crate = found["crate"]
        if self._link is not None:
            self._rename_link(crate)
        draft = Draft(crate, "target", None, None, message, number, "cargo", None, 0, number)
        self._account.open(draft, ("target", crate, found["unit"]))
        self._account.close()
        return 0

    def _rename_link(self, crate: str) -> None:
        """A link failure is known by the crate that cargo names after it."""
        items = self._account.failures.items
        for at in range(len(items) - 1, -1, -1):
            if items[at].kind == "link":
                assert self._link is not None
                self._link.name = f"{crate} link"
                items[at] = self._link.failure()
                break
        self._link = None

    def _below(self, number: int, text: str) -> int:
        draft = self._account.draft
        assert draft is not None
        if not _PLACE.match(text):
            self._settle()
            return 0
        if draft.kind == "link":
            self._linker(number, text, draft)
        place = _ARROW.match(text)
        if place and draft.file is None:
            draft.file, draft.line, draft.column = (
                place["file"],
                whole(place["line"]),
                integer(place["column"]),
            )
        if text.strip():
            self._account.extend(number)
        elif draft.end < number - 2:
            self._settle()
            return 0
        return max(0, _LINES - (number - draft.start))

    @staticmethod
    def _linker(number: int, text: str, draft: Draft) -> None:
        """The linker's own words say more than rustc's."""
        said = _LINKER_SAYS.match(text)
        if said and draft.message.startswith("linking with") and _UNDEFINED.search(said["message"]):
            draft.message, draft.number = said["message"].strip(), number
        place = _REFERENCE.match(text)
        if place and draft.file is None:
            draft.file, draft.line = place["file"], whole(place["line"])

    def _settle(self) -> None:
        """Keep the open draft if it has a place, a code, or is one of cargo's own complaints."""
        draft = self._account.draft
        if draft is None:
            return
        self._account.draft = None
        own = draft.file is not None or draft.name != draft.message or draft.kind == "link"
        if not own:
            if not _CARGO.match(draft.message):
                return
            draft.kind, draft.tool = "config", "cargo"
        self._account.tools.setdefault(draft.tool)
        key = None if draft.kind == "link" else (draft.file, draft.line, draft.column, draft.message)
        self._account.failures.add(draft.failure(), key)

    def finish(self, last: int) -> Findings:
        """Errors as counted; ``Finished`` is a good end."""
        self._settle()
        return self._account.findings()


FAMILY: Final = Family(
    "rust",
    Group.BUILD,
    (
        r"^error\[E\d+\]: ",
        r"^error: ",
        r"^\s+Finished (?:`[\w-]+` profile|dev|release|test|bench)",
        r"^\s+Running `target/",
        r"^\s+Running `/\S*target/",
        r"^\s+Running (?:unittests|tests/|benches/)",
    ),
    Rust,
)
