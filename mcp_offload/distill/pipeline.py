"""Queries over rows as they are written: a JSONPath and steps behind it. Pure.

::

    $.rows[?@.city == 'Rome'].name
    $.rows[*] | sort -size | limit 10
    $.rows[*] | group city sum(size) | where @.count > 3 | sort -count
    $.body | json | $.items[*] | count
    where @.size > 100 | fields id size

The path is RFC 9535's, as the library reads it. ``|`` inside quotes or brackets belongs to the path, ``||``
to an expression. Without a path, the steps are given the rows of the largest list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MOST_CHARS: Final = 2_000
PATH: Final = "$"
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


class QueryError(Exception):
    """A query that cannot be read or carried out, and what would be right."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name, ``$`` for a path, and what it is given; of ``where`` the expression."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A query; ``path`` is None where it begins with a step."""

    path: str | None
    steps: tuple[Step, ...]


USAGE: Final[Mapping[str, tuple[int, int, str]]] = {
    "where": (1, 1, "where @.size > 100 && @.city == 'Rome'"),
    "sort": (0, 8, "sort FIELD or sort -FIELD; several in the order of their weight"),
    "group": (1, 8, "group FIELD, with the count of each; sum(FIELD), avg, min, max beside it"),
    "fields": (1, 32, "fields FIELD FIELD or fields FIELD, FIELD"),
    "distinct": (0, 0, "distinct"),
    "limit": (1, 1, "limit N"),
    "skip": (1, 1, "skip N"),
    "count": (0, 0, "count"),
    "json": (0, 0, "json, for texts that hold JSON"),
}


_NAMING: Final = frozenset({"sort", "group", "fields"})
"""Steps that name fields, between which a comma may stand as well as a space."""


def is_pipeline(text: str) -> bool:
    """Whether a query is one of these, by how it begins."""
    return text.startswith(PATH) or text.partition("|")[0].split()[:1] in ([name] for name in USAGE)


def parse_pipeline(text: str) -> Pipeline:
    """Read a query.

    Raises:
        QueryError: a step is unknown, or is given too much or too little.
    """
    if len(text) > MOST_CHARS:
        raise QueryError(f"A query has at most {MOST_CHARS} characters.")
    parts = _split(text)
    path = parts.pop(0) if text.startswith(PATH) else None
    return Pipeline(path, tuple(_step(part) for part in parts))


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
        elif char == "|" and depth == 0 and text[at + 1 : at + 2] == "|":
            at += 1  # "or" in an expression
        elif char == "|" and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    return [*parts, text[start:].strip()]


def _step(text: str) -> Step:
    if text.startswith(PATH):
        return Step(PATH, (text,))
    name, *words = text.split() or [""]
    if name == "where":
        words = [text.removeprefix("where").strip()] if words else []
    elif name in _NAMING:
        words = [word for one in words for word in one.split(",") if word]
    if name not in USAGE:
        raise QueryError(f"Unknown step {name[:20]!r}; the steps are {', '.join(USAGE)}.")
    least, most, usage = USAGE[name]
    if not least <= len(words) <= most or (name in ("limit", "skip") and not words[0].isdecimal()):
        raise QueryError(f"The step is written: {usage}.")
    return Step(name, tuple(words))
