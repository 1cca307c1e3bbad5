"""Editing JSON in place: every character that the edit does not concern stays as it is."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import in_the_way
from mcp_offload.install.jsonc import Member, Node, parse
from mcp_offload.install.model import Element, Path

_INDENT: Final = "  "


def load(text: str) -> Any:
    """The text's value; an empty text is an empty object, as in a file that was only touched.

    Raises:
        RegistrationError: not JSON, even with comments and trailing commas.
    """
    return parse(text).value if text.strip() else {}


def put(text: str, path: Path, value: object) -> str:
    """The text with ``value`` at ``path``, which replaces what stands there or comes last.

    Raises:
        RegistrationError: not JSON, or something else than an object or array stands in the way.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return _pretty(_nested(path, value), "", _INDENT, newline) + newline
    root = parse(text)
    node, depth = root, 0
    while depth < len(path):
        _must_hold(node, path[depth:])
        member = _find(node, path[depth])
        if member is None:
            return _insert(text, root, node, path[depth], _nested(path[depth + 1 :], value))
        if member.node.value is None and depth + 1 < len(path):
            return _replace(text, root, member.node, _nested(path[depth + 1 :], value))
        node, depth = member.node, depth + 1
    return text if node.value == value else _replace(text, root, node, value)


def drop(text: str, path: Path, prune: int) -> str:
    """The text without what stands at ``path``, nor up to ``prune`` parents that this empties.

    A parent in which a comment stands is not empty.

    Raises:
        RegistrationError: not JSON.
    """
    if not text.strip():
        return text
    trail = [parse(text)]
    for step in path:
        member = _find(trail[-1], step)
        if member is None:
            return text
        trail.append(member.node)
    level = len(path) - 1
    while level > max(0, len(path) - 1 - prune) and _holds_nothing_else(text, trail[level]):
        level -= 1
    return _remove(text, trail[level], path[level])


def _find(node: Node, step: str | Element) -> Member | None:
    """The last member of that key, since that is the one which counts; the first such element."""
    if isinstance(step, Element):
        members = node.members if node.kind == "[" else []
        return next((member for member in members if step.fits(member.node.value)), None)
    members = node.members if node.kind == "{" else []
    return next((member for member in reversed(members) if member.key == step), None)


def _must_hold(node: Node, path: Path) -> None:
    if node.kind != ("[" if isinstance(path[0], Element) else "{"):
        raise RegistrationError(in_the_way(path))


def _nested(path: Path, value: object) -> object:
    for step in reversed(path):
        value = [value] if isinstance(step, Element) else {step: value}
    return value


def _replace(text: str, root: Node, node: Node, value: object) -> str:
    style = _Style(text, root)
    return text[: node.start] + style.rendered(value, _margin(text, node.start)) + text[node.end :]


def _insert(text: str, root: Node, node: Node, step: str | Element, value: object) -> str:
    """Put a member behind the last one and its comments."""
    style = _Style(text, root)
    key = "" if isinstance(step, Element) else json.dumps(step, ensure_ascii=False) + ": "
    last = node.members[-1] if node.members else None
    if "\n" not in text[node.start : node.end] and last is not None:
        member = key + json.dumps(value, ensure_ascii=False)
        return text[: last.node.end] + ", " + member + text[last.node.end :]
    margin = _margin(text, node.start)
    inner = margin + style.indent
    if last is not None and _first_in_line(text, last.start):
        inner = _margin(text, last.start)
    member = style.newline + inner + key + style.rendered(value, inner)
    content_end = _content_end(text, node)
    tail = text[content_end:]
    if last is None:
        closing = text[content_end : node.end - 1]
        if "\n" not in closing:
            tail = style.newline + margin + text[node.end - 1 :]
        return text[:content_end] + member + tail
    if last.comma is not None:
        return text[:content_end] + member + "," + tail
    return text[: last.node.end] + "," + text[last.node.end : content_end] + member + tail


def _content_end(text: str, node: Node) -> int:
    """Behind the last thing before the closing bracket that is not blank: a comment counts."""
    start = node.start + 1
    if node.members:
        last = node.members[-1]
        start = last.node.end if last.comma is None else last.comma + 1
    end = node.end - 1
    while end > start and text[end - 1] in " \t\r\n":
        end -= 1
    return end


def _remove(text: str, node: Node, step: str | Element) -> str:
    """Take a member out with the blanks before it and one comma; comments around it stay."""
    member = _find(node, step)
    assert member is not None
    place = node.members.index(member)
    start = _before(text, member.start)
    end = member.node.end if member.comma is None else member.comma + 1
    around = text[node.start + 1 : start] + text[end : node.end - 1]
    if not around.strip():
        return text[: node.start + 1] + text[node.end - 1 :]
    head = text[:start]
    if member.comma is None and place > 0:
        comma = node.members[place - 1].comma
        assert comma is not None
        head = text[:comma] + text[comma + 1 : start]
    if _hides(head, text[end:]):
        head += text[text.rfind("\n", 0, member.start) : member.start]
    return head + text[end:]


def _holds_nothing_else(text: str, node: Node) -> bool:
    """True where a container is empty but for its only member: no other, and no comment."""
    member = node.members[0]
    around = text[node.start + 1 : member.start] + text[member.node.end : node.end - 1]
    return len(node.members) == 1 and not around.strip(" \t\r\n,")


def _before(text: str, place: int) -> int:
    while place > 0 and text[place - 1] in " \t\r\n":
        place -= 1
    return place


def _hides(head: str, tail: str) -> bool:
    """True where what follows would become part of a comment in the last line of ``head``."""
    return "//" in head[head.rfind("\n") + 1 :] and bool(tail.split("\n", 1)[0].strip())


def _margin(text: str, place: int) -> str:
    """The blanks at the start of the line of ``place``."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _first_in_line(text: str, place: int) -> bool:
    return not text[text.rfind("\n", 0, place) + 1 : place].strip(" \t")


class _Style:
    """How a text is laid out: its line breaks, and the indentation of the first member of its root."""

    def __init__(self, text: str, root: Node) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.indent = _INDENT
        for member in root.members[:1]:
            margin = _margin(text, member.start)
            if _first_in_line(text, member.start) and margin:
                self.indent = margin

    def rendered(self, value: object, margin: str) -> str:
        return _pretty(value, margin, self.indent, self.newline)


def _pretty(value: object, margin: str, indent: str, newline: str) -> str:
    """JSON with short lists of plain values on one line."""
    if isinstance(value, dict) and value:
        table = cast("dict[str, object]", value)
        inner = margin + indent
        members = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_pretty(item, inner, indent, newline)}"
            for key, item in table.items()
        ]
        return "{" + newline + f",{newline}".join(members) + newline + margin + "}"
    return json.dumps(value, ensure_ascii=False)
