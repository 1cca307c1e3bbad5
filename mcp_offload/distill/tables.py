"""Where a JSON value holds rows: lists of objects, by their JSONPath, largest first."""

from __future__ import annotations

import json
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
#: A text within JSON that may be JSON itself, and of more use as such.
LEAST_JSON_CHARS: Final = 200
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Table:
    """A list that is mostly objects.

    Attributes:
        path: the query that gives the list, as ``$.data.items`` or, within a text, ``$.body|json|$.items``.
        within: what of each element is the row: ``.node`` for the edges of a GraphQL connection.
    """

    path: str
    rows: Sequence[object]
    within: str = ""

    @property
    def objects(self) -> list[Row]:
        """The rows that are objects."""
        return [cast("Row", row) for row in self.rows if isinstance(row, dict)]

    def row_path(self, at: int | str = "*") -> str:
        """The query that gives one row, or all of them."""
        return f"{self.path}[{at}]{self.within}"


def tables_in(value: object) -> list[Table]:
    """The tables, outside one another, largest first; a list within a row belongs to that row."""
    found = list(_walk(value, "$", 0, [MOST_LOOKED_AT]))
    return sorted(found, key=lambda table: -len(table.rows))


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
            yield _table(path, rows)
        elif len(rows) < LEAST_ROWS:
            for at, row in enumerate(rows):
                yield from _walk(row, f"{path}[{at}]", depth + 1, left)
    elif isinstance(value, dict):
        for key, item in cast("Row", value).items():
            yield from _walk(item, member_path(path, key), depth + 1, left)
    elif isinstance(value, str) and (inner := _json_in(value)) is not None:
        yield from _walk(inner, f"{path}|json|$", depth + 1, left)


def _table(path: str, rows: Sequence[object]) -> Table:
    """The table that a list is; of a GraphQL connection's edges the nodes are what was asked for.

    Source: GraphQL Cursor Connections Specification, https://relay.dev/graphql/connections.htm
    """
    nodes = [cast("Row", row).get("node") if isinstance(row, dict) else None for row in rows]
    if path.endswith(".edges") and all(isinstance(node, dict) for node in nodes):
        return Table(path, nodes, ".node")
    return Table(path, rows)


def _json_in(text: str) -> object | None:
    if len(text) < LEAST_JSON_CHARS or text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
