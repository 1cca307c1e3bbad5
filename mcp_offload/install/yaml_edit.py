"""Editing YAML in place, at the places that its parser names; nothing is written anew but the entry.

Source: YAML 1.2; JSON is a part of it, so values are written as JSON writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import in_the_way
from mcp_offload.install.model import Element, Path

_INDENT: Final = 2


def load(text: str) -> Any:
    """The text's value; an empty text is an empty mapping.

    Raises:
        RegistrationError: not YAML, or several documents; names the line.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    parser: Any = YAML(typ="safe", pure=True)
    try:
        value: Any = parser.load(text)
    except (YAMLError, ValueError) as exc:
        raise RegistrationError(f"it is not YAML: {' '.join(str(exc).split())}") from exc
    return {} if value is None else value


def put(text: str, path: Path, value: object) -> str:
    """The text with ``value`` at ``path``, of one or two steps, where an older one stood or comes last.

    Raises:
        RegistrationError: not YAML, or something else than a collection stands in the way.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    load(text)
    root = _compose(text)
    if root is not None and not _is_block(root, "mapping"):
        raise RegistrationError("its outermost value is not a mapping of one key a line")
    parent = None if root is None else _find(root, path[0])
    if parent is None:
        head = text if not text or text.endswith("\n") else text + newline
        lines = [f"{_key(path[0])}: {_value(value)}"] if len(path) == 1 else [f"{_key(path[0])}:"]
        if len(path) == 2:
            lines += _lines(path[1], value, _INDENT)
        return head + _joined(lines, newline)
    if len(path) == 1:
        raise RegistrationError(in_the_way(path))
    return _put_below(text, parent[1], path, value, newline)


def drop(text: str, path: Path, prune: int) -> str:
    """The text without what stands at ``path`` of two steps, nor its parent if that is emptied by it and
    ``prune`` is not 0; a parent in which a comment stands is not empty.

    Raises:
        RegistrationError: not YAML.
    """
    load(text)
    root = _compose(text)
    parent = None if root is None else _find(root, path[0])
    found = None if parent is None else _find(parent[1], path[1])
    if parent is None or found is None:
        return text
    key, holder = parent
    between = text[key.end_mark.index : found[0].start_mark.index]
    if len(holder.value) == 1 and prune and "#" not in between:
        return text[: _line_start(text, key.start_mark.index)] + text[_line_end(text, found[1]) :]
    if holder.flow_style:
        start, end = _flow_span(holder, found)
        return text[:start] + text[end:]
    start, end = _line_start(text, found[0].start_mark.index), _line_end(text, found[1])
    if len(holder.value) > 1:
        return text[:start] + text[end:]
    empty = "[]" if isinstance(path[1], Element) else "{}"
    after_key = text.index(":", key.end_mark.index) + 1
    return text[:after_key] + " " + empty + text[after_key:start] + text[end:]


def _compose(text: str) -> Any:
    """The tree of nodes with their places; None for an empty document."""
    from ruamel.yaml import YAML

    parser: Any = YAML(typ="rt", pure=True)
    return parser.compose(text)


def _is_block(node: Any, kind: str) -> bool:
    return node.id == kind and not node.flow_style


def _find(node: Any, step: str | Element) -> tuple[Any, Any] | None:
    """The nodes of a member: its key, or the item itself, and its value."""
    if isinstance(step, Element):
        items: list[Any] = node.value if node.id == "sequence" else []
        return next(((item, item) for item in items if _named(item, step)), None)
    members: list[Any] = node.value if node.id == "mapping" else []
    return next(((key, value) for key, value in members if key.value == step), None)


def _named(item: Any, step: Element) -> bool:
    if item.id == "scalar":
        return bool(item.value == step.label)
    name = _find(item, "name")
    return name is not None and name[1].value == step.label


def _put_below(text: str, holder: Any, path: Path, value: object, newline: str) -> str:
    step = path[1]
    kind = "sequence" if isinstance(step, Element) else "mapping"
    if holder.id == "scalar" and (holder.value == "" or holder.tag.endswith(":null")):
        head = text[: holder.start_mark.index].rstrip() if holder.value else text[: holder.start_mark.index]
        if not holder.value:
            # An empty value is said to stand where the next token does; it belongs behind its key.
            start = _key_line_end(text, path[0])
            return text[:start] + _block(text[:start], _lines(step, value, _INDENT), newline) + text[start:]
        return _put_below_null(head, text[holder.end_mark.index :], _lines(step, value, _INDENT), newline)
    if holder.id != kind:
        raise RegistrationError(in_the_way(path))
    found = _find(holder, step)
    if holder.flow_style:
        return _put_in_flow(text, holder, found, step, value)
    column = holder.start_mark.column
    lines = _lines(step, value, column)
    if found is None:
        place = _line_end(text, holder)
        return text[:place] + _block(text[:place], lines, newline) + text[place:]
    start, end = _line_start(text, found[0].start_mark.index), _line_end(text, found[1])
    return text[:start] + _joined(lines, newline) + text[end:]


def _put_below_null(head: str, tail: str, lines: list[str], newline: str) -> str:
    """Behind a key whose value was written as null: the word goes, what follows in its line stays."""
    rest, line_break, after = tail.partition("\n")
    return head + rest + (line_break or newline) + _joined(lines, newline) + after


def _put_in_flow(
    text: str, holder: Any, found: tuple[Any, Any] | None, step: str | Element, value: object
) -> str:
    if found is not None:
        return text[: found[1].start_mark.index] + _value(value) + text[found[1].end_mark.index :]
    item = _value(value) if isinstance(step, Element) else f"{_value(step)}: {_value(value)}"
    comma = ", " if holder.value else ""
    place = holder.end_mark.index - 1
    return text[:place] + comma + item + text[place:]


def _flow_span(holder: Any, found: tuple[Any, Any]) -> tuple[int, int]:
    """A member of a flow collection with the comma that separates it."""
    ends = [_pair(member) for member in holder.value]
    place = next(index for index, pair in enumerate(ends) if pair[0] is found[0])
    start, end = found[0].start_mark.index, found[1].end_mark.index
    if place > 0:
        return ends[place - 1][1].end_mark.index, end
    if len(ends) > 1:
        return start, ends[1][0].start_mark.index
    return start, end


def _pair(member: Any) -> tuple[Any, Any]:
    return cast("tuple[Any, Any]", member) if isinstance(member, tuple) else (member, member)


def _key_line_end(text: str, key: str | Element) -> int:
    root = _compose(text)
    found = _find(root, key)
    assert found is not None
    line_break = text.find("\n", found[0].end_mark.index)
    return len(text) if line_break < 0 else line_break + 1


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _line_end(text: str, node: Any) -> int:
    """Behind the line in which a node's last leaf ends; a block's own end lies behind later comments."""
    while node.id in {"mapping", "sequence"} and not node.flow_style and node.value:
        node = _pair(node.value[-1])[1]
    end: int = node.end_mark.index
    if end == 0 or text[end - 1] == "\n":
        return end
    line_break = text.find("\n", end)
    return len(text) if line_break < 0 else line_break + 1


def _lines(step: str | Element, value: object, column: int) -> list[str]:
    """A member as lines: one for each key of its value."""
    return list(_member(step, cast("Mapping[str, object]", value), " " * column))


def _member(step: str | Element, value: Mapping[str, object], pad: str) -> Iterator[str]:
    if isinstance(step, Element):
        for place, (key, item) in enumerate(value.items()):
            yield f"{pad}{'  ' if place else '- '}{_key(key)}: {_value(item)}"
        return
    yield f"{pad}{_key(step)}:"
    for key, item in value.items():
        yield f"{pad}{' ' * _INDENT}{_key(key)}: {_value(item)}"


def _block(head: str, lines: list[str], newline: str) -> str:
    """Lines to be put behind ``head``, which may lack its last line break."""
    missing = newline if head and not head.endswith("\n") else ""
    return missing + _joined(lines, newline)


def _joined(lines: list[str], newline: str) -> str:
    return "".join(line + newline for line in lines)


def _key(step: str | Element) -> str:
    return step.label if isinstance(step, Element) else step


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
