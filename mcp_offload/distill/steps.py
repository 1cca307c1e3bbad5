"""Carries out the steps of a query, row by row as far as they allow. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, cast

from mcp_offload.distill.pipeline import PATH, USAGE, QueryError, Step

#: Makes of a JSONPath what finds its values in a document.
CompilePath = Callable[[str], Callable[[object], Iterable[object]]]
Values = Iterable[object]
_Run = Callable[[Values], Values]

#: Rows looked at before the first goes on, to say at once that none has a field.
LOOKED_AHEAD: Final = 1_000
NAMED_FIELDS: Final = 24
_AGGREGATE: Final = re.compile(r"(sum|avg|min|max)\((.+)\)\Z")


def run_steps(values: Values, steps: Sequence[Step], compile_path: CompilePath) -> Values:
    """The values after each step in turn, as they are asked for.

    Raises:
        QueryError: at once where a step's path cannot be read; while values are taken where no row has a
            field that a step names, or a text is no JSON.
    """
    for run in [_prepared(step, compile_path) for step in steps]:
        values = run(values)
    return values


def field_names(rows: Values) -> list[str]:
    """The names of the fields that rows have, in the order of their first row."""
    names: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict):
            names.update(dict.fromkeys(cast("dict[str, object]", row)))
    return list(names)


def _prepared(step: Step, compile_path: CompilePath) -> _Run:
    if step.name == PATH:
        find = compile_path(step.words[0])
        return lambda values: chain.from_iterable(map(find, values))
    if step.name == "where":
        try:
            matching = compile_path(f"$[?{step.words[0]}]")
        except QueryError as exc:
            raise QueryError(f"{exc} The step is written: {USAGE['where'][2]}.") from None
        return lambda values: chain.from_iterable(matching([value]) for value in values)
    run = _STEPS[step.name]
    return lambda values: run(values, step.words)


# --- fields -------------------------------------------------------------------------------------


def _field(value: object, path: str) -> object:
    """A field of a row, nested ones by dots; None where it has none."""
    return None if (found := _found(value, path)) is _NOTHING else found


_NOTHING: Final = object()


def _found(value: object, path: str) -> object:
    if path in (".", ""):
        return value
    keys = [path] if path in _members(value) else path.split(".")
    for key in keys:
        elements = _elements(value)
        if key.isdecimal() and int(key) < len(elements):
            value = elements[int(key)]
        else:
            value = _members(value).get(key, _NOTHING)
    return value


def _elements(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


def _members(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _having(values: Values, fields: Iterable[str]) -> Iterator[object]:
    """The values; an error where not one of them has a field."""
    remaining = iter(values)
    ahead = list(islice(remaining, LOOKED_AHEAD))
    missing = _missing(fields, ahead)
    if ahead and missing and len(ahead) < LOOKED_AHEAD:
        raise _no_field(missing[0], ahead)
    yield from ahead
    for value in remaining:
        missing = _missing(missing, [value]) if missing else missing
        yield value
    if ahead and missing:
        raise _no_field(missing[0], ahead)


def _missing(fields: Iterable[str], values: Sequence[object]) -> list[str]:
    return [field for field in fields if all(_found(value, field) is _NOTHING for value in values)]


def _no_field(field: str, rows: Sequence[object]) -> QueryError:
    names = field_names(rows)
    if not names:
        return QueryError(f"No row has the field {field!r}: the rows are no objects.")
    more = f" and {len(names) - NAMED_FIELDS} more" if len(names) > NAMED_FIELDS else ""
    return QueryError(f"No row has the field {field!r}; there are {', '.join(names[:NAMED_FIELDS])}{more}.")


# --- steps --------------------------------------------------------------------------------------


def _rank(value: object) -> tuple[int, float, str]:
    """An order of all JSON values: null, flags and numbers, texts, the rest by their JSON."""
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, bool | int | float):
        return 1, float(value), ""
    return (2, 0.0, value) if isinstance(value, str) else (3, 0.0, json.dumps(value, sort_keys=True))


def _sort(values: Values, words: Sequence[str]) -> Values:
    keys = [(word.removeprefix("-"), word.startswith("-")) for word in words or (".",)]
    rows = list(_having(values, [path for path, _ in keys]))
    for path, down in reversed(keys):
        rows.sort(key=lambda row, path=path: _rank(_field(row, path)), reverse=down)
    return rows


def _group(values: Values, words: Sequence[str]) -> Values:
    aggregates = {word: (match[1], match[2]) for word in words if (match := _AGGREGATE.match(word))}
    by = [word for word in words if word not in aggregates]
    groups: dict[str, dict[str, object]] = {}
    for value in _having(values, [*by, *(field for _, field in aggregates.values())]):
        key = {word: _field(value, word) for word in by}
        row = groups.setdefault(json.dumps(key, sort_keys=True), {**key, "count": 0})
        row["count"] = cast("int", row["count"]) + 1
        for word, (kind, field) in aggregates.items():
            _aggregate(row, word, kind, _field(value, field))
    for row in groups.values():
        for word, (kind, _) in aggregates.items():
            held = row.setdefault(word, None)
            if kind == "avg" and held is not None:
                total, number = cast("tuple[float, int]", held)
                row[word] = total / number
    return groups.values()


def _aggregate(row: dict[str, object], word: str, kind: str, value: object) -> None:
    """Take one value into a row's sum, mean, least or greatest; sum and mean pass over what is no number."""
    held = row.get(word)
    if kind in ("min", "max"):
        if value is not None and (held is None or (_rank(value) < _rank(held)) == (kind == "min")):
            row[word] = value
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if kind == "sum":
        row[word] = value if held is None else cast("float", held) + value
    else:
        total, number = (0, 0) if held is None else cast("tuple[float, int]", held)
        row[word] = total + value, number + 1


def _fields(values: Values, words: Sequence[str]) -> Values:
    return ({word: _field(value, word) for word in words} for value in _having(values, words))


def _distinct(values: Values, words: Sequence[str]) -> Values:
    del words
    seen: set[str] = set()
    for value in values:
        key = json.dumps(value, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield value


def _count(values: Values, words: Sequence[str]) -> Values:
    del words
    yield sum(1 for _ in values)


def _json(values: Values, words: Sequence[str]) -> Values:
    """Texts as the JSON that they hold; what is no text stays as it is."""
    del words
    for value in values:
        try:
            yield json.loads(value) if isinstance(value, str) else value
        except ValueError:
            raise QueryError(f"This text is no JSON: {cast('str', value)[:40]!r}.") from None


def _limit(values: Values, words: Sequence[str]) -> Values:
    return islice(values, int(words[0]))


def _skip(values: Values, words: Sequence[str]) -> Values:
    return islice(values, int(words[0]), None)


_STEPS: Final[Mapping[str, Callable[[Values, Sequence[str]], Values]]] = {
    "sort": _sort,
    "group": _group,
    "fields": _fields,
    "distinct": _distinct,
    "limit": _limit,
    "skip": _skip,
    "count": _count,
    "json": _json,
}
