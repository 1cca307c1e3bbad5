"""Where the members of a JSON object stand in its text, so that each can be kept as it came. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its key, and where its value stands, in characters."""

    key: str
    start: int
    end: int


def members(text: str, start: int = 0) -> Iterator[Member]:
    """The members of the object whose brace is the first character from ``start`` on that is no space.

    Raises:
        ValueError: no object stands there.
    """
    at = _space(text, start)
    if text[at : at + 1] != "{":
        raise ValueError("not an object")
    at = _space(text, at + 1)
    while text[at : at + 1] == '"':
        key, at = cast("tuple[str, int]", _DECODER.raw_decode(text, at))
        value = _space(text, _space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield Member(key, value, end)
        at = _space(text, end)
        if text[at : at + 1] == ",":
            at = _space(text, at + 1)


def find(text: str, *path: str) -> str | None:
    """The text of the value at ``path``, or None where it is not there.

    Of members that share a name the last counts, as for the parser.
    """
    start, end = 0, len(text)
    for key in path:
        try:
            found = [member for member in members(text, start) if member.key == key]
        except ValueError:
            return None
        if not found:
            return None
        start, end = found[-1].start, found[-1].end
    return text[start:end]


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
