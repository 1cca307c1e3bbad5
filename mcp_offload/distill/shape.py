"""The shape of a JSON value in a few lines: the schema of its rows, counts, a few rows. Pure.

::

    $.rows[*] 400 objects: id int, name str, city str, note str? (12)
    city: city 0 58, city 1 57, city 2 57, 4 more
    $.rows[0] {"id":0,"name":"row number 0","city":"city 0"}
    $.rows[399] {"id":399,"name":"row number 399","city":"city 0"}
    $.total 400
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from mcp_offload.distill.tables import MOST_TABLES, Row, Table, member_path, tables_in

MOST_FIELDS: Final = 24
MOST_NESTED: Final = 6
MOST_VALUES: Final = 4
#: A text field with no more different values than this is counted by them.
FEW_VALUES: Final = 12
VALUE_CHARS: Final = 40
ROW_CHARS: Final = 200
MOST_MEMBERS: Final = 8
#: Lists named beyond those that are told.
MOST_NAMED: Final = 6
MOST_NODES: Final = 1_000_000
_TYPES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "list",
    dict: "object",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a JSON value is.

    Attributes:
        rows: of the largest table.
        path: the query that gives the rows of the largest table.
        lines: as shown, most telling first.
    """

    rows: int
    path: str
    lines: tuple[str, ...]


def shape_of(value: object) -> Shape | None:
    """The shape of a value that holds a table; None for any other, which its outline tells better."""
    tables = tables_in(value)
    if not tables:
        return None
    lines: list[str] = []
    for table in tables[:MOST_TABLES]:
        lines += _table_lines(table)
    lines += _member_lines(value, tables[:MOST_TABLES])
    if more := tables[MOST_TABLES:]:
        named = ", ".join(f"{table.row_path()} {len(table.rows):,}" for table in more[:MOST_NAMED])
        lines.append(f"{len(more):,} more lists: {named}" + (", …" if len(more) > MOST_NAMED else ""))
    return Shape(len(tables[0].rows), tables[0].row_path(), tuple(lines))


def _table_lines(table: Table) -> Iterator[str]:
    objects = table.objects
    others = len(table.rows) - len(objects)
    also = f", {others:,} others" if others else ""
    yield f"{table.row_path()} {len(objects):,} objects{also}: {_schema(objects)}"
    nodes, label = objects, ""
    branch = _branch(objects)
    if branch is not None:
        nodes, deepest = _nodes(objects, branch)
        yield f"tree by {branch}: {len(nodes):,} nodes, {deepest} deep"
        label = "in all nodes "
    for key, counts in _few_valued(nodes):
        yield f"{label}{_clip(key)}: {_counts(counts)}"
    last = len(table.rows) - 1
    for at in dict.fromkeys((0, 1, last)):
        yield f"{table.row_path(at)} {_row(table.rows[at])}"


def _schema(rows: Sequence[Row]) -> str:
    """``id int, note str? (12)``: types by field; ``?`` and the rows that have it where not all do."""
    types: dict[str, Counter[str]] = {}
    examples: dict[str, object] = {}
    for row in rows:
        for key, value in row.items():
            types.setdefault(key, Counter())[_TYPES[type(value)]] += 1
            if value not in (None, [], {}):
                examples.setdefault(key, value)
    shown = [
        _field(key, seen, len(rows), examples.get(key)) for key, seen in list(types.items())[:MOST_FIELDS]
    ]
    more = len(types) - MOST_FIELDS
    return ", ".join([*shown, *([f"{more} more fields"] if more > 0 else [])])


def _field(key: str, seen: Counter[str], rows: int, example: object) -> str:
    names = [_inner(example) if name in ("list", "object") else name for name in seen]
    have = sum(seen.values())
    return f"{_clip(key)} {'|'.join(names)}" + (f"? ({have:,})" if have < rows else "")


def _inner(example: object) -> str:
    """A nested type by an example: ``[str]``, ``{login, id}``."""
    if isinstance(example, list):
        first = cast("list[object]", example)[0] if example else None
        return f"[{_inner(first)}]"
    if isinstance(example, dict):
        keys = [_clip(key) for key in cast("Row", example)]
        return "{" + ", ".join([*keys[:MOST_NESTED], *(["…"] if len(keys) > MOST_NESTED else [])]) + "}"
    return _TYPES[type(example)]


def _branch(rows: Sequence[Row]) -> str | None:
    """The field by which rows hold rows of their own kind, where they form a tree."""
    for row in rows:
        for key, value in row.items():
            below = cast("list[object]", value) if isinstance(value, list) else []
            first = below[0] if below else None
            if isinstance(first, dict) and len(cast("Row", first).keys() & row.keys()) * 2 >= len(row):
                return key
    return None


def _nodes(rows: Sequence[Row], branch: str) -> tuple[list[Row], int]:
    """All nodes of a tree, and how deep it goes; no more than a million."""
    nodes: list[Row] = []
    level, depth = list(rows), 0
    while level and len(nodes) < MOST_NODES:
        nodes += level
        depth += 1
        below = (row.get(branch) for row in level)
        lists = (cast("list[object]", one) for one in below if isinstance(one, list))
        level = [cast("Row", node) for one in lists for node in one if isinstance(node, dict)]
    return nodes, depth


def _few_valued(rows: Sequence[Row]) -> Iterator[tuple[str, Counter[str]]]:
    """Fields of text or flags that have few different values."""
    counts: dict[str, Counter[str]] = {}
    many: set[str] = set()
    for row in rows:
        for key, value in row.items():
            if key in many:
                continue
            if not isinstance(value, str | bool):
                continue
            seen = counts.setdefault(key, Counter())
            seen[value if isinstance(value, str) else json.dumps(value)] += 1
            if len(seen) > FEW_VALUES:
                many.add(key)
    for key, seen in list(counts.items())[:MOST_FIELDS]:
        if key not in many and len(seen) * 2 <= sum(seen.values()):
            yield key, seen


def _counts(counts: Counter[str]) -> str:
    top = [f"{_clip(value)} {number:,}" for value, number in counts.most_common(MOST_VALUES)]
    more = len(counts) - MOST_VALUES
    return ", ".join([*top, *([f"{more} more"] if more > 0 else [])])


def _member_lines(value: object, tables: Sequence[Table]) -> Iterator[str]:
    """The plain members beside and above the tables: totals, cursors, flags."""
    told = 0
    seen: set[str] = set()
    for path, members in _beside(value, tables):
        for key, item in members.items():
            place = member_path(path, key)
            if isinstance(item, dict | list) or item is None or place in seen:
                continue
            seen.add(place)
            told += 1
            if told <= MOST_MEMBERS:
                yield f"{place} {_clip(json.dumps(item, ensure_ascii=False))}"
    if told > MOST_MEMBERS:
        yield f"{told - MOST_MEMBERS:,} more plain members"


def _beside(value: object, tables: Sequence[Table]) -> Iterator[tuple[str, Row]]:
    """The objects on the way to each table, and those one step off it."""
    for table in tables:
        path, at = "$", value
        while isinstance(at, dict):
            members = cast("Row", at)
            yield path, members
            onward: tuple[str, object] | None = None
            for key, item in members.items():
                place = member_path(path, key)
                if table.path == place or table.path.startswith((f"{place}.", f"{place}[")):
                    onward = place, item
                elif isinstance(item, dict):
                    yield place, cast("Row", item)
            if onward is None:
                break
            path, at = onward


def _row(row: object) -> str:
    return _clip(json.dumps(row, ensure_ascii=False, separators=(",", ":")), ROW_CHARS)


def _clip(text: str, most: int = VALUE_CHARS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
