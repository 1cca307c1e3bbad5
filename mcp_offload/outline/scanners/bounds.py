"""Keeping symbol tables small: names cut to length, deepest levels left out first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

MAX_SYMBOLS: Final = 20_000
MAX_DEPTH: Final = 12
MAX_NAME_CHARS: Final = 160


class HasDepth(Protocol):
    """Anything that stands at a depth; the outermost is 1."""

    @property
    def depth(self) -> int:
        """Levels from the outermost."""
        ...


_Item = TypeVar("_Item", bound=HasDepth)


class Sieve:
    """The depth down to which symbols are still collected; it falls when there are too many.

    Ask :meth:`allows` before building a record, and call :meth:`settle` once in a while with the
    records so far: what it gives back replaces them. Total work is linear in the records ever added.
    """

    __slots__ = ("_limit", "max_depth")

    def __init__(self, limit: int = MAX_SYMBOLS, max_depth: int = MAX_DEPTH) -> None:
        self._limit = limit
        self.max_depth = max_depth

    def allows(self, depth: int) -> bool:
        """True where a record at ``depth`` is still wanted."""
        return depth <= self.max_depth

    def settle(self, records: list[_Item], *, final: bool = False) -> list[_Item]:
        """``records`` as they are while they fit, else without their deepest levels.

        Of the first level that does not fit as a whole the first records stay.
        """
        if len(records) <= self._limit * (1 if final else 2):
            return records
        whole, room = _levels_that_fit(records, self._limit)
        self.max_depth = whole + 1
        kept: list[_Item] = []
        for record in records:
            if record.depth == whole + 1:
                room -= 1
            if record.depth <= whole or (record.depth == whole + 1 and room >= 0):
                kept.append(record)
        return kept


def _levels_that_fit(records: Sequence[HasDepth], limit: int) -> tuple[int, int]:
    """The deepest level that can be kept whole, and how many records there is room for below it."""
    counts: dict[int, int] = {}
    for record in records:
        counts[record.depth] = counts.get(record.depth, 0) + 1
    room = limit
    for depth in sorted(counts):
        if counts[depth] > room:
            return depth - 1, room
        room -= counts[depth]
    return max(counts, default=0), room


def clean_name(raw: bytes) -> str:
    """A name as it may stand in a handle: decoded, on one line, cut to length; else ``_``."""
    return clean_text(raw[: 8 * MAX_NAME_CHARS].decode("utf-8", "replace"))


def clean_text(text: str) -> str:
    """As :func:`clean_name`, from text."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    text = " ".join(text.split())
    if len(text) > MAX_NAME_CHARS:
        text = text[: MAX_NAME_CHARS - 1] + "\u2026"
    return text or "_"
