"""Symbols from a syntax tree: one walk with a cursor, no recursion, guided by the language's table."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Language, Node, Parser, Point, Tree

from mcp_offload.models import Symbol
from mcp_offload.outline import names
from mcp_offload.outline.found import Found, Place
from mcp_offload.outline.grammar import Container, Grammar
from mcp_offload.outline.raw import raw

_READ_BYTES = 1 << 16


class ParseStoppedError(Exception):
    """The parser was stopped by its deadline; never leaves this package."""


@dataclass(slots=True)
class _Frame:
    """What the children of one node stand in."""

    place: Place
    start: int | None = None
    end: int | None = None
    attached: int | None = None


def load(grammar: Grammar) -> Language:
    """The compiled grammar; imported on first use, because each takes milliseconds."""
    module = importlib.import_module(grammar.package)
    compiled: object = getattr(module, grammar.function)()
    return Language(compiled)


def parse(view: bytes, language: Language, stop: Callable[[], bool]) -> Tree:
    """Parse with a parser of its own (a shared one crashes), asking ``stop`` now and then.

    Raises:
        ParseStoppedError: ``stop`` answered True, or the parser gave up.
    """

    def read(offset: int, _point: Point) -> bytes:
        return view[offset : offset + _READ_BYTES]

    def progress(_offset: int, _has_error: bool) -> bool:
        return stop()

    try:
        return Parser(language).parse(read, encoding="utf8", progress_callback=progress)
    except ValueError as exc:
        raise ParseStoppedError from exc


def symbols(tree: Tree, view: bytes, grammar: Grammar) -> Iterator[Symbol]:
    """The definitions of the tree in the order the walk meets them, outer before inner."""
    cursor = tree.walk()
    seen: set[tuple[str, ...]] = set()
    stack = [_Frame(Place((), "top"))]
    while True:
        node = cursor.node
        if node is None:
            return
        inner, found = _visit(node, stack[-1], grammar, view)
        for symbol, once in found:
            if once:
                if symbol.path in seen:
                    continue
                seen.add(symbol.path)
            yield symbol
        if inner is not None and cursor.goto_first_child():
            stack.append(inner)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            stack.pop()


def _visit(
    node: Node, frame: _Frame, grammar: Grammar, view: bytes
) -> tuple[_Frame | None, list[tuple[Symbol, bool]]]:
    """What to look for inside the node (None: nothing), and what it defines."""
    kind = node.type
    if kind in grammar.attached:
        frame.attached = node.start_byte if frame.attached is None else frame.attached
        return None, []
    attached, place = frame.attached, frame.place
    if node.is_named and not node.is_extra:
        frame.attached = None
    rule = grammar.rules.get(kind)
    found = names.find(node, rule, place, view) if rule is not None and node.is_named else []
    # A name the parser made up to go on is empty.
    found = [each for each in found if all(each.path) and (each.path or not each.listed)]
    if rule is None or not found:
        return _between(node, frame, grammar, attached), []
    start = frame.start if frame.start is not None else node.start_byte
    end = max(frame.end or 0, node.end_byte)
    if grammar.docstrings:
        end = _before_comments(node, end, view)
    span = (start if attached is None else min(start, attached), end)
    listed = [(_symbol(each, node, place, span, view), rule.once) for each in found if each.listed]
    last = found[-1]
    if last.inside is None:
        return None, listed
    return _Frame(Place(place.path + last.path, last.inside)), listed


def _before_comments(node: Node, end: int, view: bytes) -> int:
    """A Python block's end without the comments that trail it; they belong to what follows."""
    while True:
        opening = view.rfind(b"\n", 0, end) + 1
        text = view[opening:end].lstrip()
        if not text.startswith(b"#"):
            return end
        last = node.descendant_for_byte_range(end - 1, end)
        if last is None or last.type != "comment":
            return end
        end = last.start_byte
        while end > node.start_byte and view[end - 1] in b" \t\r\n\f\v":
            end -= 1


def _between(node: Node, frame: _Frame, grammar: Grammar, attached: int | None) -> _Frame | None:
    """The frame for the children of a node that defines nothing itself."""
    kind, place = node.type, frame.place
    if kind in grammar.wrappers:
        if _definitions_in(node, grammar) > 1:
            return _Frame(place)
        start = node.start_byte if frame.start is None else frame.start
        start = start if attached is None else min(start, attached)
        return _Frame(place, start, max(frame.end or 0, node.end_byte))
    if kind in grammar.opaque:
        return _Frame(Place(place.path, "function"))
    members = kind in grammar.members and place.container == "class"
    return _Frame(place) if members or node.is_error or kind in grammar.transparent else None


def _definitions_in(node: Node, grammar: Grammar) -> int:
    return sum(
        child.type in grammar.rules or child.type in grammar.wrappers or child.type == "("
        for child in node.children
    )


def _symbol(found: Found, node: Node, place: Place, span: tuple[int, int], view: bytes) -> Symbol:
    body = found.body
    if body is None:
        sig, inner = (node.start_byte, node.end_byte), None
    else:
        sig = (node.start_byte, max(node.start_byte, min(body.start_byte, node.end_byte)))
        inner = (body.start_byte, body.end_byte)
    params = found.params
    text = None if params is None else view[params.start_byte : params.end_byte].decode("utf-8", "replace")
    return raw(place.path + found.path, found.kind, span, params=text, sig=sig, body=inner)


__all__ = ["Container", "ParseStoppedError", "load", "parse", "symbols"]
