"""Editing TOML in place: whole tables are put behind the rest or taken out, and nothing else is touched.

The text is cut into statements here and read by the standard library, which also checks the result. A
library that rewrites documents is not used: those at hand drop the comment above the table that follows
one which is taken out.

Source: TOML 1.0.0.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import MISSING, Data, child, get, in_the_way
from mcp_offload.install.model import Element, Path

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN: Final = re.compile(
    # strings of several lines and of one, comments, brackets, line breaks, and all else
    r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
    r'|#[^\n]*|[\[{]|[\]}]|\n|[^\s"\'#\[\]{}]+|.',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """One or several lines: ``head`` is the path of a table's header, None for all else."""

    start: int
    end: int
    head: tuple[str, ...] | None
    blank: bool


def load(text: str) -> Any:
    """The text's value.

    Raises:
        RegistrationError: not TOML; names the line.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise RegistrationError(f"it is not TOML: {exc}") from exc


def put(text: str, path: Path, value: object) -> str:
    """The text with the table ``path``, where an older one stood or behind everything else.

    Raises:
        RegistrationError: not TOML, or the table's place is taken by an inline table or another value.
    """
    data = load(text)
    keys = _keys(path)
    if get(data, path) == value:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    spans = list(_spans(text, keys))
    if get(data, path) is not MISSING and not spans:
        raise RegistrationError(f"{'.'.join(keys)} stands in an inline table; correct it by hand.")
    _must_be_open(data, keys)
    block = "".join(_tables(keys, cast("Data", value), newline))
    if spans:
        start, end = spans[0]
        for other_start, other_end in reversed(spans[1:]):
            text = text[:other_start] + text[other_end:]
        return text[:start] + block + text[end:]
    if text and not text.endswith("\n"):
        text += newline
    # One blank line always, so that taking the table out again with the one before it is exact.
    return text + (newline if text else "") + block


def drop(text: str, path: Path, prune: int) -> str:
    """The text without the table ``path`` and the blank line before it.

    Parents need no pruning: a table that holds nothing is not written.

    Raises:
        RegistrationError: not TOML, or what stands at ``path`` is part of an inline table.
    """
    data, keys = load(text), _keys(path)
    if get(data, path) is MISSING:
        return text
    spans = list(_spans(text, keys))
    if not spans:
        raise RegistrationError(f"{'.'.join(keys)} stands in an inline table; remove it by hand.")
    for start, end in reversed(spans):
        head = text[:start]
        if head.endswith(("\n\n", "\n\r\n")):
            head = head.removesuffix("\n").removesuffix("\r")
        text = head + text[end:]
    return text


def _keys(path: Path) -> tuple[str, ...]:
    return tuple(step.label if isinstance(step, Element) else step for step in path)


def _must_be_open(data: Data, keys: tuple[str, ...]) -> None:
    """Every parent that is there must be a table."""
    below: Any = data
    for place, key in enumerate(keys[:-1]):
        below = child(cast("object", below), key)
        if below is MISSING:
            return
        if not isinstance(below, dict):
            raise RegistrationError(in_the_way(keys[place:]))


def _spans(text: str, keys: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """From the header of each table at or below ``keys`` to the end of its last key."""
    start, end = -1, -1
    for statement in _statements(text):
        if statement.head is not None:
            inside = statement.head[: len(keys)] == keys
            if start >= 0 and not inside:
                yield start, end
                start = -1
            if inside and start < 0:
                start = statement.start
        if start >= 0 and not statement.blank:
            end = statement.end
    if start >= 0:
        yield start, end


def _statements(text: str) -> Iterator[_Statement]:
    """The text cut at the line breaks that end a statement, not at those within strings and brackets."""
    start = place = depth = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        assert token is not None
        place = token.end()
        sign = token[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif sign == "\n" and depth <= 0:
            yield _statement(text, start, place)
            start, depth = place, 0
    if start < len(text):
        yield _statement(text, start, len(text))


def _statement(text: str, start: int, end: int) -> _Statement:
    line = text[start:end].strip()
    head: tuple[str, ...] | None = None
    if line.startswith("["):
        head = tuple(_only_keys(tomllib.loads(line)))
    return _Statement(start, end, head, not line or line.startswith("#"))


def _only_keys(data: object) -> Iterator[str]:
    """The keys of a header, which holds one table within the other."""
    while isinstance(data, dict | list) and data:
        if isinstance(data, list):
            data = cast("list[object]", data)[0]
            continue
        key, data = next(iter(cast("Data", data).items()))
        yield key


def _tables(keys: tuple[str, ...], table: Mapping[str, object], newline: str) -> Iterator[str]:
    """A table and those below it as text."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    below = {key: cast("Data", value) for key, value in table.items() if isinstance(value, dict)}
    if plain or not below:
        yield f"[{'.'.join(map(_key, keys))}]{newline}"
        for key, value in plain.items():
            yield f"{_key(key)} = {_value(value)}{newline}"
    for place, (key, value) in enumerate(below.items()):
        if plain or place:
            yield newline
        yield from _tables((*keys, key), value, newline)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    """A value as JSON writes it, which TOML reads alike; DEL alone must be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
