"""Finding the line of what a JSON parser returned, and ranges of line numbers as text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

#: Strings written with unusual escapes are not found; each costs a look through all that is left.
MAX_MISSES: Final = 50


class KeyLines:
    """Lines of a JSON document's strings, asked for in the order in which they stand there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._line = 1
        self._misses_left = MAX_MISSES

    def of(self, key: str) -> int:
        """The line of the next such key; the line of the last one found where there is none."""
        return self._next(key, b":")

    def of_value(self, text: str) -> int:
        """The line of the next such string, key or not; the last one found where there is none."""
        return self._next(text, b"")

    def _next(self, text: str, follows: bytes) -> int:
        for ascii_only in (False, True):
            if self._misses_left > 0 and self._found(json.dumps(text, ensure_ascii=ascii_only), follows):
                return self._line
        self._misses_left -= 1
        return self._line

    def _found(self, literal: str, follows: bytes) -> bool:
        wanted = literal.encode("utf-8", "surrogatepass")
        at = self._data.find(wanted, self._at)
        while at >= 0 and not self._data[at + len(wanted) : at + len(wanted) + 8].lstrip().startswith(
            follows
        ):
            at = self._data.find(wanted, at + 1)
        if at < 0:
            return False
        self._line += self._data.count(b"\n", self._at, at)
        self._at = at
        return True


def ranges_text(numbers: Iterable[int]) -> str:
    """``3,7-9`` for 3, 7, 8, 9."""
    parts: list[str] = []
    first = last = -1
    for number in sorted(set(numbers)):
        if number != last + 1:
            if first >= 0:
                parts.append(f"{first}-{last}" if last > first else str(first))
            first = number
        last = number
    if first >= 0:
        parts.append(f"{first}-{last}" if last > first else str(first))
    return ",".join(parts)


def range_numbers(text: str) -> set[int]:
    """The inverse of :func:`ranges_text`."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers
