"""Rows of CSV as JSON has them: numbers where all of a column are, null where a cell is empty. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Final

from mcp_offload.distill.pipeline import QueryError

DELIMITERS: Final = ",;\t|"
MOST_CELL_CHARS: Final = 16 << 20
#: Numbers that survive a way through a float; a zero in front tells a code, as of a town.
_NUMBER: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,2})?\Z")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+\Z")


class Delimited:
    """A table whose first row names its columns.

    Made by a first pass over its lines, which tells the columns' types; :meth:`rows` is given the same lines
    again.

    Raises:
        QueryError: a cell is too long, or not quoted as CSV is.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        rows = _cells(lines)
        first, self._delimiter = next(rows, (list[str](), ","))
        self.columns = _named(first)
        seen, texts = set[int](), set[int]()
        for cells, _ in rows:
            for at, cell in enumerate(cells):
                if cell and at not in texts:
                    seen.add(at)
                    if not _NUMBER.match(cell.strip()):
                        texts.add(at)
        self._numbers = seen - texts

    def rows(self, lines: Iterable[str]) -> Iterator[dict[str, object]]:
        """Each row as an object; a cell beyond the columns is named by its place."""
        rows = _cells(lines)
        next(rows, None)
        for cells, _ in rows:
            names = self.columns if len(cells) <= len(self.columns) else _named(self.columns, len(cells))
            yield {names[at]: self._value(at, cell) for at, cell in enumerate(cells)}

    def _value(self, at: int, cell: str) -> object:
        if cell == "":
            return None
        if at not in self._numbers:
            return cell
        text = cell.strip()
        return int(text) if _WHOLE.match(text) else float(text)


def _cells(lines: Iterable[str]) -> Iterator[tuple[list[str], str]]:
    """The rows that are not empty, and by what their cells are divided."""
    csv.field_size_limit(MOST_CELL_CHARS)
    remaining = iter(lines)
    head = next(remaining, "")
    delimiter = max(DELIMITERS, key=head.count)
    reader = csv.reader(_with(head, remaining), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield cells, delimiter
    except csv.Error as exc:
        raise QueryError(f"Line {reader.line_num} is not CSV: {exc}.") from None


def _with(head: str, lines: Iterable[str]) -> Iterator[str]:
    yield head.removeprefix("\ufeff")
    yield from lines


def _named(names: list[str], count: int = 0) -> list[str]:
    """The columns, each with a name of its own."""
    found: list[str] = []
    for at in range(max(len(names), count)):
        name = names[at].strip() if at < len(names) else ""
        name = name or f"column {at + 1}"
        found.append(name if name not in found else f"{name} {at + 1}")
    return found
