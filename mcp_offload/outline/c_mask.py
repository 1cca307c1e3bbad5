"""C and C++ text with everything blanked that is not code, at true offsets: comments, strings, directives."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOISE = re.compile(
    rb"""//[^\n]*(?:(?<=\\)\n[^\n]*)*|/\*.*?\*/|R"([^()\\\s"]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*\""""
    rb"""|(?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)*'|(?<=[^0-9A-Za-z_][LuU])'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*([a-z_]*)([^\n]*(?:(?<=\\)\n[^\n]*|(?<=\\\r)\n[^\n]*)*)", re.MULTILINE
)
_MACRO = re.compile(rb"\s*([A-Za-z_]\w*)(\([^)]*\))?\s*")
_CONTINUED = re.compile(rb"(\\\r?\n)")
_CONDITIONS = frozenset((b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"))
_BLANKED = bytes(byte if byte == 0x0A else 0x20 for byte in range(256))


@dataclass(frozen=True, slots=True)
class Condition:
    """A line of conditional compilation; ``never`` where it is ``#if 0``."""

    start: int
    end: int
    word: bytes
    never: bool


@dataclass(frozen=True, slots=True)
class Macro:
    """A ``#define`` with a value."""

    name: str
    params: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Masked:
    """What is left of the text: same length, code only."""

    text: bytearray
    conditions: tuple[Condition, ...]
    macros: tuple[Macro, ...]
    defined: frozenset[bytes]


def blanked(text: bytes) -> bytes:
    """Spaces for every byte but LF."""
    return text.translate(_BLANKED)


def _quiet(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] == b"/":
        return blanked(text)
    # The quotes stay: extern "C" must remain one.
    opening = text.index(b'"') if b'"' in text[:2] else text.index(b"'")
    quote = text[opening : opening + 1]
    inner = b"".join(
        # A string continued on the next line may stand in a directive, which then goes on as well.
        part if part[:1] == b"\\" and part[-1:] == b"\n" else blanked(part)
        for part in _CONTINUED.split(text[opening + 1 : -1])
    )
    return blanked(text[:opening]) + quote + inner + quote


def mask(view: bytes) -> Masked:
    """Blank comments, string contents and preprocessor lines, and collect what the latter said."""
    text = bytearray(_NOISE.sub(_quiet, view))
    conditions: list[Condition] = []
    macros: list[Macro] = []
    defined: set[bytes] = set()
    for match in _DIRECTIVE.finditer(bytes(text)):
        word, rest = match[1], match[2]
        if word in _CONDITIONS:
            never = word == b"if" and rest.strip() in (b"0", b"(0)")
            conditions.append(Condition(match.start(), match.end(), word, never))
        elif word == b"define":
            macro = _macro(match)
            macros.extend((macro,) if macro else ())
            name = _MACRO.match(rest)
            defined.update((name[1],) if name else ())
        text[match.start() : match.end()] = blanked(match[0])
    return Masked(text, tuple(conditions), tuple(macros), frozenset(defined))


def _macro(match: re.Match[bytes]) -> Macro | None:
    """The macro a line defines; include guards and other names without a value are not worth listing."""
    head = _MACRO.match(match[2])
    if head is None or head.end() >= len(match[2].rstrip()):
        return None
    params = None if head[2] is None else head[2].decode("utf-8", "replace")
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    return Macro(head[1].decode("utf-8", "replace"), params, start, match.start() + len(match[0].rstrip()))
