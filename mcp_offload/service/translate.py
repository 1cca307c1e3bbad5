r"""Rewriting a pattern so that each engine gives it the meaning that :mod:`.pattern` states.

One pass yields four texts: for RE2 over UTF-8, for RE2 over single bytes, and both for ripgrep. What
has no certain counterpart there, or none we are sure of, makes the ripgrep texts unavailable; an
engine of our own then searches instead.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.errors import InvalidPatternError

_SPECIAL: Final = frozenset("\\.+*?()|[]{}^$")
_REPETITION: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED_GROUP: Final = re.compile(r"\(\?P?<[A-Za-z_][A-Za-z0-9_]*>")
_CODE_POINT: Final = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})")
_PROPERTY: Final = re.compile(r"\\[pP](?:\{[^}]*\}|.)", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?[a-z]*:\]|\\.|[^\]\\])*\]", re.DOTALL)
#: Bracket expressions that every engine reads alike: ASCII, no set operators, no nested brackets.
_PLAIN_CLASS: Final = re.compile(
    r"\[\^?(?:[^\[\]\\&~\-]|[A-Za-z0-9]-[A-Za-z0-9]|\\[dws.\\/\-\]\[^$*+?(){}|tr])+-?\]"
)
_CLASS_ESCAPES: Final = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": r"\t\f\r "}
#: RE2's Perl classes are ASCII, ripgrep's are not: spelled out. LF is left out, it is in no line.
_PERL_CLASSES: Final = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": r"[\t\f\r ]",
    "S": r"[^\t\f\r ]",
}
_SPANS_LINES: Final = (
    "A pattern is matched within one line and cannot contain a line break; search for one line."
)


class Translator:
    """One pass over one pattern.

    Attributes:
        utf8: the pattern for RE2 over UTF-8, after translation.
        bytewise: the pattern for RE2 over single bytes, or "" where it could find nothing more in a
            line that is not UTF-8, or cannot be written.
    """

    def __init__(self, pattern: str, *, folding: bool) -> None:
        self._pattern = pattern
        self._at = 0
        self._utf8: list[str] = []
        self._bytewise: list[str] = []
        self._rg: list[str] = []
        self._rg_bytewise: list[str] = []
        self._rg_certain = True
        self._ignore_case = folding
        self._folding = folding
        self._sees_stray_bytes = False
        self._bytewise_possible = True
        self._ascii = True

    @property
    def utf8(self) -> str:
        """The pattern for RE2 over UTF-8."""
        return "".join(self._utf8)

    @property
    def bytewise(self) -> str:
        """The pattern for RE2 over single bytes, or ""."""
        return "".join(self._bytewise) if self._sees_stray_bytes and self._bytewise_possible else ""

    def ripgrep(self) -> tuple[str, ...] | None:
        """Return expressions for ripgrep that together match what the others do and perhaps more lines."""
        if not self._rg_certain or (self._folding and not self._ascii):
            return None
        flags = "i" if self._ignore_case else ""
        expressions = [f"(?{flags}:{''.join(self._rg)})"]
        if self.bytewise:
            expressions.append(f"(?{flags}-u:{''.join(self._rg_bytewise)})")
        return tuple(expressions)

    def translate_literal(self) -> None:
        """Translate the pattern as plain text.

        Raises:
            InvalidPatternError: the text contains a line break or a lone surrogate.
        """
        for character in self._pattern:
            self._literal(character)

    def translate(self) -> None:
        """Translate the pattern as an expression; what is not well formed is left for RE2 to refuse.

        Raises:
            InvalidPatternError: the pattern contains a line break or a lone surrogate.
        """
        steps = {"\\": self._escape, "[": self._bracket, "(": self._group, "{": self._brace}
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            if step := steps.get(character):
                step()
                continue
            self._at += 1
            if character == ".":
                self._sees_stray_bytes = True
                self._emit(".")
            elif character == "$":
                self._emit(r"(?:\r?$)")
            elif character in "^*+?|)":
                self._emit(character)
            else:
                self._literal(character)

    def _emit(self, text: str, rg: str | None = None) -> None:
        self._utf8.append(text)
        self._bytewise.append(text)
        self._rg.append(text if rg is None else rg)
        self._rg_bytewise.append(text if rg is None else rg)

    def _emit_uncertain(self, text: str) -> None:
        """Emit what is for RE2 alone."""
        self._rg_certain = False
        self._emit(text)

    def _literal(self, character: str) -> None:
        code = ord(character)
        if character == "\n":
            raise InvalidPatternError(_SPANS_LINES)
        if 0xD800 <= code <= 0xDFFF:
            raise InvalidPatternError("The pattern contains half of a surrogate pair, which is in no text.")
        if code < 0x20:
            self._emit(f"\\x{{{code:x}}}")
        elif code < 0x80:
            self._emit(f"\\{character}" if character in _SPECIAL else character)
        else:
            self._wide_literal(character)

    def _wide_literal(self, character: str) -> None:
        """Emit a character beyond ASCII: among single bytes, its UTF-8 or the Latin-1 byte it would be."""
        self._ascii = False
        self._sees_stray_bytes = True
        encoded = "".join(f"\\x{byte:02x}" for byte in character.encode())
        narrow = f"|\\x{ord(character):02x}" if ord(character) < 0x100 else ""
        self._utf8.append(character)
        self._bytewise.append(f"(?:(?-i:{encoded}){narrow})")
        self._rg.append(character)
        self._rg_bytewise.append(f"(?:{encoded}{narrow})")

    def _escape(self) -> None:
        following = self._pattern[self._at + 1 : self._at + 2]
        if following == "Q":
            self._quoted()
        elif following in ("x", "p", "P"):
            self._code_point_or_property(following)
        else:
            self._at += 2
            self._simple_escape(following)

    def _simple_escape(self, following: str) -> None:
        if following in ("n", "\n"):
            raise InvalidPatternError(_SPANS_LINES)
        if following == "C":
            raise InvalidPatternError(r"\C is not supported; use . for any character.")
        if following == "A":
            self._emit("^")
        elif following == "z":
            self._emit(r"(?:\r?$)")
        elif following in ("b", "B"):
            self._emit(f"\\{following}", rg=f"(?-u:\\{following})")
        elif perl := _PERL_CLASSES.get(following):
            self._sees_stray_bytes |= following.isupper()
            self._emit(f"\\{following}", rg=perl)
        elif following in ("t", "f", "r", "v", "a"):
            self._emit(f"\\{following}")
        elif following and following.isascii() and not following.isalnum():
            self._literal(following)
        else:
            self._emit_uncertain(f"\\{following}")

    def _quoted(self) -> None:
        r"""Take ``\Q...\E`` as plain text."""
        start = self._at + 2
        end = self._pattern.find("\\E", start)
        stop = len(self._pattern) if end < 0 else end
        for character in self._pattern[start:stop]:
            self._literal(character)
        self._at = stop if end < 0 else stop + 2

    def _code_point_or_property(self, following: str) -> None:
        form = _CODE_POINT if following == "x" else _PROPERTY
        matched = form.match(self._pattern, self._at)
        self._at = matched.end() if matched else self._at + 2
        if matched is None:
            self._emit_uncertain(f"\\{following}")
        elif following == "x" and (code := int(matched[1] or matched[2], 16)) <= 0x10FFFF:
            self._literal(chr(code))
        else:
            self._sees_stray_bytes = True
            self._emit_uncertain(matched[0])

    def _bracket(self) -> None:
        matched = _CLASS.match(self._pattern, self._at)
        text = matched[0] if matched else self._pattern[self._at :]
        self._at += len(text)
        if "\n" in text:
            raise InvalidPatternError(_SPANS_LINES)
        self._sees_stray_bytes |= text.startswith("[^") or re.search(r"\\[DWSpP]", text) is not None
        if not text.isascii():
            # Ranges of wide characters have no meaning among single bytes.
            self._ascii = self._bytewise_possible = False
        if text.isascii() and _PLAIN_CLASS.fullmatch(text):
            self._emit(text, rg=re.sub(r"\\[dws]", lambda found: _CLASS_ESCAPES[found[0]], text))
        else:
            self._emit_uncertain(text)

    def _group(self) -> None:
        if matched := _FLAGS.match(self._pattern, self._at):
            self._at = matched.end()
            self._flags(matched[1], matched[2] or "", matched[3])
        elif matched := _NAMED_GROUP.match(self._pattern, self._at):
            self._at = matched.end()
            self._emit(matched[0], rg="(?:")
        else:
            self._at += 1
            if self._pattern[self._at : self._at + 1] == "?":
                self._at += 1
                self._emit_uncertain("(?")
            else:
                self._emit("(", rg="(?:")

    def _flags(self, on: str, off: str, closing: str) -> None:
        """Emit flags without ``m``: ``^`` and ``$`` hold at every line, whatever a pattern says."""
        on, off = on.replace("m", ""), off.replace("m", "")
        self._folding |= "i" in on
        self._rg_certain &= set(on + off) <= {"i"}
        flags = on + (f"-{off}" if off else "")
        self._emit(f"(?{flags}{closing}" if flags or closing == ":" else "(?:)")

    def _brace(self) -> None:
        if matched := _REPETITION.match(self._pattern, self._at):
            self._at = matched.end()
            self._emit(matched[0])
        else:
            self._at += 1
            self._literal("{")
