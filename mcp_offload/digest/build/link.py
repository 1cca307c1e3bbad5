"""Linkers: GNU ld, gold, lld (ELF, COFF, Mach-O), mold, and Apple's ld."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from .collect import Collector, Draft, integer

_LD: Final = (
    r"(?:\S*/)?(?:ld(?:\.(?:bfd|gold|lld|mold))?|ld64\.lld|lld-link|wasm-ld|mold|gold|link)(?:\.exe)?"
)
_UNDEFINED: Final = re.compile(
    r"^(?:" + _LD + r": )?(?P<place>\S+?)?(?::(?P<line>\d+)|:?\([^()]*\+0x[0-9a-f]+\)|: in function [^:]+"
    r"|:function [^:]+): "
    r"(?:error: )?undefined reference to [`'‘](?P<symbol>.+)['’]$"
)
_DUPLICATE: Final = re.compile(
    r"^(?:" + _LD + r": )?(?P<place>\S+?)(?::(?P<line>\d+)|:?\([^()]*\+0x[0-9a-f]+\)): "
    r"(?:error: )?(?P<message>multiple definition of [`'‘](?P<symbol>[^'’]+)['’].*)$"
)
_MESSAGE: Final = re.compile(
    r"^(?P<tool>" + _LD + r"): (?:(?P<severity>error|fatal error): )?(?P<message>.*)$"
)
_SYMBOL: Final = re.compile(
    r"^(?:undefined (?:hidden |protected |reference to )?(?:symbol:? ?)?|duplicate symbol: )(?P<symbol>.+)$"
)
_GOLD: Final = re.compile(r"^\S+: multiple definition of '(?P<symbol>[^']+)'$")
_LIBRARY: Final = re.compile(
    r"^(?:cannot find|unable to find library|library not found for"
    r"|library:? ?)\s*(?P<library>-l[^\s:]+|\S+?)(?::|$| )"
)
_FATAL: Final = re.compile(
    r"^(?:cannot (?:find|open)|unable to find library|library not found"
    r"|symbol\(s\) not found|file not recognized"
    r"|final link failed|unrecognized option|duplicate symbol|undefined symbol|.*: relocation R_\S+ against"
    r"|.*: undefined reference|.*: file not recognized|.*: (?:file format not recognized"
    r"|No such file or directory)"
    r"|.*dangerous relocation|region .* overflowed|.* will not fit in region|.*DSO missing from command line)"
)
_QUIET: Final = re.compile(
    r"^(?:symbol\(s\) not found|final link failed|warning:|.*: warning:|.*: in function )"
)
_REFERENCE: Final = re.compile(
    r"^>>> (?:referenced by|defined at|defined in) (?P<file>[^\s():]+)(?::(?P<line>\d+))?"
)
_APPLE_HEAD: Final = re.compile(r"^Undefined symbols for architecture ")
_APPLE: Final = re.compile(r'^\s+"(?P<symbol>.+)", referenced from:')
_WRAPPER: Final = re.compile(
    r"^(?:\S*/)?(?:collect2|clang(?:\+\+)?(?:-\d+)?): (?:fatal )?error: (?:ld returned|linker command failed)"
)


class Linker:
    """Lists each undefined or doubled symbol and each missing library once."""

    def __init__(self) -> None:
        self._account = Collector()
        self._apple = False

    def feed(self, number: int, text: str) -> int:
        """Take a linker's message or a line that says where."""
        if _WRAPPER.match(text):
            self._account.close()
            self._account.tools.setdefault("ld")
            self._account.ended_badly = True
            return 0
        for form, what in ((_UNDEFINED, "undefined reference to `{}'"), (_DUPLICATE, "")):
            found = form.match(text)
            if found:
                symbol = found["symbol"]
                message = what.format(symbol) if what else found["message"]
                name = symbol if what else f"multiple definition of {symbol}"
                file = (found["place"] or "").split(":function")[0].rsplit(":", 1)[-1] or None
                return self._open(number, name, file, integer(found["line"]), message, (bool(what), symbol))
        if _APPLE_HEAD.match(text):
            self._account.close()
            self._apple = True
            return 60
        message = _MESSAGE.match(text)
        if message:
            return self._message(number, message)
        return self._explain(number, text)

    def _open(
        self, number: int, name: str, file: str | None, line: int | None, message: str, key: object
    ) -> int:
        self._account.open(Draft(name, "link", file, line, message, number, "ld", None, 0, number), key)
        return 8

    def _message(self, number: int, found: re.Match[str]) -> int:
        self._account.close()
        message = found["message"].strip()
        if _QUIET.match(message) or not (found["severity"] or _FATAL.match(message)):
            return 0
        if message.startswith("linker command failed"):
            return 0
        symbol = _SYMBOL.match(message)
        library = _LIBRARY.match(message)
        name = symbol["symbol"].rsplit(": ", 1)[-1] if symbol else library["library"] if library else message
        doubled = _GOLD.match(message)
        if doubled:
            name = f"multiple definition of {doubled['symbol']}"
        if "too many errors emitted" in message:
            self._account.notes.append("the linker stopped listing errors")
            return 0
        return self._open(number, name, None, None, message, (message,))

    def _explain(self, number: int, text: str) -> int:
        if self._apple:
            found = _APPLE.match(text)
            if found:
                self._open(number, found["symbol"], None, None, text.strip(), ("apple", found["symbol"]))
                return 60
            self._account.extend(number)
            self._apple = text.startswith(" ")
            return 60 if self._apple else 0
        draft = self._account.draft
        if draft is None or not text.startswith((">>>", "  ")):
            self._account.close()
            return 0
        found = _REFERENCE.match(text)
        if found and draft.file is None:
            draft.file, draft.line = found["file"], integer(found["line"])
        self._account.extend(number)
        return 8

    def finish(self, last: int) -> Findings:
        """Errors as counted, one for each symbol."""
        return self._account.findings()


FAMILY: Final = Family(
    "linker",
    Group.BUILD,
    (
        r": (?:error: )?(?:undefined reference to|multiple definition of) ",
        r"^(?:\S*/)?(?:ld(?:\.(?:bfd|gold|lld|mold))?|ld64\.lld|lld-link|wasm-ld|mold"
        r"|gold)(?:\.exe)?: (?:fatal )?error: ",
        r"^(?:\S*/)?ld(?:\.(?:bfd|gold|lld|mold))?: .*(?:cannot (?:find|open)"
        r"|library not found|symbol\(s\) not found|not recognized|relocation R_|DSO missing"
        r"|dangerous relocation|will not fit|overflowed|unrecognized option|unable to find)",
        r"^Undefined symbols for architecture ",
        r": (?:ld returned \d+ exit status|linker command failed)",
    ),
    Linker,
)
