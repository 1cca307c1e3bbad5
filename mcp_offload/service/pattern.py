r"""Search patterns: RE2's syntax, applied to one line at a time.

The rules, the same whichever engine runs:

- A line is what stands between two LF; ``^`` and ``\A`` hold at its start, ``$`` and ``\z`` at its end
  and also before a CR that ends it. No pattern spans lines.
- ``\d \w \s \b`` and POSIX classes are ASCII; case is ignored by Unicode's simple folding.
- A line matches if it does as UTF-8, or, where it is not valid UTF-8, if it does with each stray byte
  read as the Latin-1 character it would be.

Nothing a client sends is ever given to a backtracking engine. Source: the syntax accepted is that of
https://github.com/google/re2/wiki/Syntax less ``\C``; what ripgrep is given is a subset of
https://docs.rs/regex/latest/regex/#syntax written so that it means the same, or nothing at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol, cast

from mcp_offload.errors import InvalidPatternError
from mcp_offload.service.translate import Translator

MAX_PATTERN_CHARS: Final = 10_000
#: What one compiled pattern may use for its program and its lazily built automata.
MAX_MEMORY_BYTES: Final = 16 * 1024 * 1024
#: How much of a pattern a refusal quotes.
_SAID_CHARS: Final = 100

_HINTS: Final = (
    (r"invalid perl operator: \(\?<?[=!]", "look-ahead and look-behind are not supported"),
    (r"invalid perl operator: \(\?>", "atomic groups are not supported"),
    (r"bad repetition operator: .\+", "possessive repetition is not supported"),
    (r"invalid escape sequence: \\[1-9]", "back-references are not supported"),
    (r"invalid repetition size", "a repetition count, nested ones multiplied, is at most 1000"),
    (r"pattern too large", "the pattern is too large once its repetitions are written out"),
)


class _Found(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    def search(self, text: bytes, pos: int, endpos: int) -> _Found | None: ...


@dataclass(frozen=True, slots=True)
class Query:
    """What a client searches for, as it said it."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False

    def compile(self) -> Matcher:
        """Compile it; see :func:`compile_pattern`."""
        return compile_pattern(self.pattern, literal=self.literal, ignore_case=self.ignore_case)


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern; may be shared by threads, and lets them run while it searches.

    Attributes:
        ripgrep: expressions for ripgrep of which at least one matches every line that this matches,
            or None where that cannot be promised.
        ripgrep_exact: True where they match no other line.
    """

    _utf8: _Compiled
    _bytes: _Compiled | None
    ripgrep: tuple[str, ...] | None
    ripgrep_exact: bool

    def over(self, data: bytes) -> Searcher:
        """Prepare to search ``data``, which holds whole lines or a part of one line."""
        if self._bytes is None or data.isascii() or _is_utf8(data):
            return Searcher(data, self._utf8, None)
        return Searcher(data, self._utf8, self._bytes)


@dataclass(frozen=True, slots=True)
class Searcher:
    """A pattern over one block of bytes."""

    _data: bytes
    _utf8: _Compiled
    _bytes: _Compiled | None

    def find(self, start: int, end: int) -> tuple[int, int] | None:
        """Return a match in the first matching line between ``start`` and ``end``, or None.

        What stands before ``start`` and after ``end`` is seen by ``^``, ``$`` and word boundaries; both
        should lie at line boundaries, ``end`` before the LF.
        """
        found = self._utf8.search(self._data, start, end)
        match = found.span() if found else None
        if self._bytes is None:
            return match
        before = self._data.rfind(b"\n", start, match[0]) + 1 if match else end + 1
        return self._stray(start, before, end) or match

    def _stray(self, start: int, before: int, end: int) -> tuple[int, int] | None:
        """Return the first match, in a line that is not UTF-8, of a line that starts before ``before``."""
        assert self._bytes is not None
        while start < before and (found := self._bytes.search(self._data, start, end)):
            match = found.span()
            line_start = max(start, self._data.rfind(b"\n", start, match[0]) + 1)
            line_end = self._data.find(b"\n", match[1], end)
            line_end = end if line_end < 0 else line_end
            if line_start >= before:
                return None
            if not _is_utf8(self._data[line_start:line_end]):
                return match
            start = line_end + 1
            if start > end:
                return None
        return None


def compile_pattern(pattern: str, *, literal: bool = False, ignore_case: bool = False) -> Matcher:
    """Compile what a client searches for.

    Raises:
        InvalidPatternError: it is empty, too long, spans lines, or is not RE2's syntax.
    """
    if not pattern:
        raise InvalidPatternError("The pattern is empty and would match every line; read the handle instead.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidPatternError(f"The pattern has {len(pattern)} characters; at most {MAX_PATTERN_CHARS}.")
    written = Translator(pattern, folding=ignore_case)
    written.translate_literal() if literal else written.translate()
    utf8 = _compile(written.utf8, ignore_case=ignore_case, latin1=False)
    stray = _compile(written.bytewise, ignore_case=ignore_case, latin1=True) if written.bytewise else None
    return Matcher(utf8, stray, written.ripgrep(), ripgrep_exact=stray is None)


def _compile(pattern: str, *, ignore_case: bool, latin1: bool) -> _Compiled:
    # Loaded on first use, like all that start-up does not need; the package carries no types.
    re2: Any = import_module("re2")
    options: Any = re2.Options()
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    options.case_sensitive = not ignore_case
    if latin1:
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        compiled = re2.compile(f"(?m){pattern}".encode("latin-1" if latin1 else "utf-8"), options)
    except re2.error as error:
        raise InvalidPatternError(_explain(error)) from None
    finally:
        # The module keeps the last 128 patterns, each with automata of up to the limit above.
        re2.purge()
    return cast(_Compiled, compiled)


def _explain(error: Exception) -> str:
    detail = error.args[0] if error.args else ""
    said = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    said = said.replace("(?m)", "", 1)
    why = next((hint for form, hint in _HINTS if re.match(form, said)), None)
    said = said if len(said) <= _SAID_CHARS else f"{said[:_SAID_CHARS]}…"
    because = f"{said} ({why})" if why else said
    return (
        f"The pattern does not compile: {because}. Syntax is RE2's; literal=true searches for the text as is."
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
