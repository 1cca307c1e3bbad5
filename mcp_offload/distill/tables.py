"""Where a JSON value holds rows: lists of objects, by their JSONPath, largest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

Row = dict[str, object]

LEAST_ROWS: Final = 3
MOST_DEPTH: Final = 8
MOST_TABLES: Final = 3
#: Values looked at while looking for tables.
MOST_LOOKED_AT: Final = 100_000
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Table:
    """A list that is mostly objects; ``path`` is its JSONPath, as ``$.data.items``."""

    path: str
    rows: Sequence[object]

    @property
    def objects(self) -> list[Row]:
        """The rows that are objects."""
        return [cast("Row", row) for row in self.rows if isinstance(row, dict)]


def tables_in(value: object) -> list[Table]:
    """The largest tables, outside one another; a list within a row belongs to that row."""
    found = list(_walk(value, "$", 0, [MOST_LOOKED_AT]))
    return sorted(found, key=lambda table: -len(table.rows))[:MOST_TABLES]


def member_path(path: str, key: str) -> str:
    """The JSONPath of a member."""
    if _PLAIN.match(key):
        return f"{path}.{key}"
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{quoted}']"


def _walk(value: object, path: str, depth: int, left: list[int]) -> Iterator[Table]:
    left[0] -= 1
    if depth > MOST_DEPTH or left[0] < 0:
        return
    if isinstance(value, list):
        rows = cast("list[object]", value)
        objects = sum(isinstance(row, dict) for row in rows)
        if len(rows) >= LEAST_ROWS and objects * 2 > len(rows):
            yield Table(path, rows)
        return
    if isinstance(value, dict):
        for key, item in cast("Row", value).items():
            yield from _walk(item, member_path(path, key), depth + 1, left)
