"""Queries over JSON: a JSONPath and steps behind it. Pure.

::

    $.rows[?@.city == 'Rome'].name
    $.rows[*] | sort -size | limit 10
    $.rows[*] | group city | sort -count
    $..name | count

The path is RFC 9535's, as the library reads it. ``|`` inside quotes or brackets belongs to the path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

MOST_CHARS: Final = 2_000
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


class QueryError(Exception):
    """A query that cannot be read, and how it is written."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name and what it is given."""

    name: str
    words: tuple[str, ...]


def parse_pipeline(text: str) -> tuple[str, tuple[Step, ...]]:
    """The path of a query and its steps.

    Raises:
        QueryError: a step is unknown, or is given too much or too little.
    """
    if len(text) > MOST_CHARS:
        raise QueryError(f"A query has at most {MOST_CHARS} characters.")
    path, *steps = _split(text)
    return path, tuple(_step(step) for step in steps)


def run_steps(values: Sequence[object], steps: Sequence[Step]) -> list[object]:
    """The values after each step in turn."""
    found = list(values)
    for step in steps:
        found = _STEPS[step.name](found, step.words)
    return found


def _split(text: str) -> list[str]:
    """The parts between the bars that stand outside of quotes and brackets."""
    parts, start, depth, quote = list[str](), 0, 0, ""
    at = 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        elif char == "|" and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    return [*parts, text[start:].strip()]


def _step(text: str) -> Step:
    name, *words = text.split() or [""]
    if name not in _STEPS:
        raise QueryError(f"Unknown step {name[:20]!r}; the steps are {', '.join(_STEPS)}.")
    least, most, usage = _USAGE[name]
    if not least <= len(words) <= most or (name in ("limit", "skip") and not words[0].isdecimal()):
        raise QueryError(f"The step is written: {usage}.")
    return Step(name, tuple(words))


def _field(value: object, path: str) -> object:
    """A field of a row, nested ones by dots; None where it has none."""
    for key in path.split("."):
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(cast("list[object]", value)):
            value = cast("list[object]", value)[int(key)]
        else:
            return None
    return value


def _rank(value: object) -> tuple[int, float, str]:
    """An order of all JSON values: null, flags and numbers, texts, the rest by their JSON."""
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, bool | int | float):
        return 1, float(value), ""
    return (2, 0.0, value) if isinstance(value, str) else (3, 0.0, json.dumps(value, sort_keys=True))


def _sort(values: list[object], words: Sequence[str]) -> list[object]:
    for word in reversed(words or (".",)):
        path = word.removeprefix("-")
        down = word.startswith("-") and bool(path)

        def key(value: object, path: str = path) -> tuple[int, float, str]:
            return _rank(value if path in (".", "") else _field(value, path))

        values = sorted(values, key=key, reverse=down)
    return values


def _group(values: list[object], words: Sequence[str]) -> list[object]:
    groups: dict[str, dict[str, object]] = {}
    for value in values:
        fields = {word: _field(value, word) for word in words}
        row = groups.setdefault(json.dumps(fields, sort_keys=True), {**fields, "count": 0})
        row["count"] = cast("int", row["count"]) + 1
    return list(groups.values())


def _fields(values: list[object], words: Sequence[str]) -> list[object]:
    return [{word: _field(value, word) for word in words} for value in values]


def _distinct(values: list[object], words: Sequence[str]) -> list[object]:
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())


_STEPS: Final[Mapping[str, Callable[[list[object], Sequence[str]], list[object]]]] = {
    "sort": _sort,
    "group": _group,
    "fields": _fields,
    "distinct": _distinct,
    "limit": lambda values, words: values[: int(words[0])],
    "skip": lambda values, words: values[int(words[0]) :],
    "count": lambda values, words: [len(values)],
}
_USAGE: Final[Mapping[str, tuple[int, int, str]]] = {
    "sort": (0, 8, "sort FIELD or sort -FIELD; several in the order of their weight"),
    "group": (1, 8, "group FIELD, with the count of each"),
    "fields": (1, 32, "fields FIELD FIELD"),
    "distinct": (0, 0, "distinct"),
    "limit": (1, 1, "limit N"),
    "skip": (1, 1, "skip N"),
    "count": (0, 0, "count"),
}
