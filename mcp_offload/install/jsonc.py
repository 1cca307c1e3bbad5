"""Reading JSON as clients write it, with comments and trailing commas, and where each part stands.

Source: RFC 8259 for the values; comments and commas as Microsoft's "JSON with Comments" has them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp_offload.errors import RegistrationError

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DEEPEST: Final = 200


@dataclass(slots=True)
class Node:
    """A value and where it stands, in characters.

    Attributes:
        kind: how it begins; ``.`` for all but objects and arrays.
        members: of an object or array, in their order; a key given twice counts by its last value.
    """

    kind: Literal["{", "[", "."]
    start: int
    end: int
    value: Any
    members: list[Member] = field(default_factory=list["Member"])


@dataclass(slots=True)
class Member:
    """A member of an object, or an element of an array, whose key is then None.

    Attributes:
        start: of its key, or of the element.
        comma: where the comma after it stands, or None.
    """

    key: str | None
    start: int
    node: Node
    comma: int | None = None


def parse(text: str) -> Node:
    """The tree of a text.

    Raises:
        RegistrationError: it is not JSON even with comments and trailing commas; names the line.
    """
    return _Reader(text).whole()


def skip(text: str, place: int) -> int:
    """Behind the blanks and comments that begin at ``place``."""
    while True:
        place = _end(_SPACE, text, place)
        comment = _COMMENT.match(text, place)
        if comment is None:
            return place
        place = comment.end()


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def whole(self) -> Node:
        self._blank()
        node = self._value(0)
        self._blank()
        if self._place != len(self._text):
            raise self._wrong("there is more after its end")
        return node

    def _value(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self._wrong("it is nested too deeply")
        sign = self._text[self._place : self._place + 1]
        if sign == "{":
            return self._members("{", "}", depth)
        if sign == "[":
            return self._members("[", "]", depth)
        start = self._place
        value = self._string() if sign == '"' else self._scalar()
        return Node(".", start, self._place, value)

    def _members(self, opening: Literal["{", "["], closing: str, depth: int) -> Node:
        node = Node(opening, self._place, self._place, None)
        self._place += 1
        self._blank()
        while not self._at(closing):
            if node.members and node.members[-1].comma is None:
                raise self._wrong(f"a comma or {closing} is missing")
            node.members.append(self._member(opening, depth))
            self._blank()
            if self._at(","):
                node.members[-1].comma = self._place
                self._place += 1
                self._blank()
        self._place += 1
        node.end = self._place
        if opening == "{":
            node.value = {member.key: member.node.value for member in node.members}
        else:
            node.value = [member.node.value for member in node.members]
        return node

    def _member(self, opening: str, depth: int) -> Member:
        start, key = self._place, None
        if opening == "{":
            if not self._at('"'):
                raise self._wrong("a name in double quotes is missing")
            key = self._string()
            self._blank()
            if not self._at(":"):
                raise self._wrong("a colon is missing")
            self._place += 1
            self._blank()
        return Member(key, start, self._value(depth + 1))

    def _string(self) -> str:
        found = _STRING.match(self._text, self._place)
        if found is None:
            raise self._wrong("a string is malformed or not closed")
        try:
            value: str = json.loads(found[0])
        except ValueError:
            raise self._wrong("a string holds a malformed escape") from None
        self._place = found.end()
        return value

    def _scalar(self) -> Any:
        found = _SCALAR.match(self._text, self._place)
        if found is None:
            raise self._wrong("a value is missing")
        self._place = found.end()
        return json.loads(found[0])

    def _at(self, sign: str) -> bool:
        return self._text.startswith(sign, self._place)

    def _blank(self) -> None:
        self._place = skip(self._text, self._place)

    def _wrong(self, what: str) -> RegistrationError:
        line = self._text.count("\n", 0, self._place) + 1
        return RegistrationError(f"line {line} is not JSON: {what}")
