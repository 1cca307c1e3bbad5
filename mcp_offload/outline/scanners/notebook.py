"""Jupyter notebooks by cell: ``cell0``, ``cell1``, ... and, inside them, what the cells define.

The index is the position in the list of cells, from 0. Source: nbformat 3 and 4. Spans lie in the bytes
of the notebook itself, so that a definition covers the JSON strings of its source lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS, clean_text
from mcp_offload.outline.scanners.json import Node, Tree, key_name, node_symbol, unescape
from mcp_offload.outline.scanners.positions import Positions

_STRING: Final = re.compile(rb'"((?:[^"\\\n]|\\(?s:.))*+)"')
# One line of a cell's source inside a JSON string: up to an escaped line feed.
_SOURCE_LINE: Final = re.compile(rb"((?:[^\\]|\\[^n])*+)(\\n|\\?\Z)")
_DEFINITION: Final = re.compile(r"(class|def|async[ \t]+def)[ \t]+(\w+)")
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_DECORATOR: Final = re.compile(r"@\w")
# Continuations of a definition that stand in the first column.
_CONTINUES: Final = re.compile(r"[\s)\]}#]|$")


@dataclass(frozen=True, slots=True)
class _SourceLine:
    text: str
    span: Span


def scan(view: bytes) -> list[Symbol]:
    """Symbols of the cells, of the definitions and headings in them, and of the other top-level members."""
    tree = _NotebookTree(view)
    positions = Positions(view)
    symbols: list[Symbol] = []
    for node in tree.top_level():
        if node.name(view) not in ("cells", "worksheets"):
            symbols.append(node_symbol(positions, (node.name(view),), node))
    for index, cell in enumerate(tree.cells()):
        members = tree.members(cell)
        kind = tree.cell_type(members)
        path = (f"cell{index}",)
        source = members.get("source") or members.get("input")
        symbol = node_symbol(positions, path, cell)
        symbols.append(
            positions.symbol(
                path,
                f"{kind} cell",
                symbol.span,
                body=None if source is None else Span(source.value_start, source.end),
            )
        )
        if source is not None:
            lines = list(_source_lines(view, source))
            symbols.extend(_inside(positions, path, kind, lines))
    return symbols[:MAX_SYMBOLS]


class _NotebookTree:
    """The cells of a notebook and their members."""

    def __init__(self, view: bytes) -> None:
        self._view = view
        self._children: dict[int, list[Node]] = {}
        tree = Tree(view, max_elements=MAX_SYMBOLS)
        for node in tree.nodes:
            self._children.setdefault(id(node.parent), []).append(node)
        self._tree = tree

    def top_level(self) -> list[Node]:
        """Members of the document."""
        return self._children.get(id(self._tree.roots[0]), []) if self._tree.roots else []

    def members(self, node: Node) -> dict[str, Node]:
        """Members of an object by key."""
        return {child.name(self._view): child for child in self._children.get(id(node), [])}

    def cells(self) -> Iterator[Node]:
        """All cells in order; those of nbformat 3 stand in worksheets."""
        for node in self.top_level():
            name = node.name(self._view)
            if name == "cells":
                yield from self._children.get(id(node), [])
            elif name == "worksheets":
                for sheet in self._children.get(id(node), []):
                    cells = self.members(sheet).get("cells")
                    yield from [] if cells is None else self._children.get(id(cells), [])

    def cell_type(self, members: dict[str, Node]) -> str:
        """``code``, ``markdown``, ``raw`` or ``heading``."""
        node = members.get("cell_type")
        return "raw" if node is None else key_name(self._view[node.value_start : node.end])


def _source_lines(view: bytes, source: Node) -> Iterator[_SourceLine]:
    for found in _STRING.finditer(view, source.value_start, source.end):
        start = found.start(1)
        for piece in _SOURCE_LINE.finditer(found[1]):
            if piece.end() > piece.start():
                text = unescape(piece[1].decode("utf-8", "replace"))
                yield _SourceLine(text, Span(start + piece.start(), start + piece.end()))


def _inside(
    positions: Positions, path: tuple[str, ...], kind: str, lines: list[_SourceLine]
) -> Iterator[Symbol]:
    """Definitions at the left edge of a code cell, headings of a markdown cell."""
    if kind == "code":
        for first, last, word, name in _definitions([line.text for line in lines]):
            span = _string_span(positions, lines[first].span, lines[last].span)
            yield positions.symbol((*path, name), "class" if word == "class" else "function", span)
    elif kind == "markdown":
        for line in lines:
            if (found := _HEADING.match(line.text)) is not None:
                yield positions.symbol((*path, clean_text(found[2])), "heading", line.span)


def _definitions(texts: list[str]) -> Iterator[tuple[int, int, str, str]]:
    """First line, last line, keyword and name of the definitions that are not indented."""
    decorated: int | None = None
    index = 0
    while index < len(texts):
        found = _DEFINITION.match(texts[index])
        if found is None:
            if _DECORATOR.match(texts[index]):
                decorated = index if decorated is None else decorated
            elif not _CONTINUES.match(texts[index]):
                decorated = None
            index += 1
            continue
        first = index if decorated is None else decorated
        last = index
        index += 1
        while index < len(texts) and _CONTINUES.match(texts[index]):
            if texts[index].strip() and not texts[index].startswith("#"):
                last = index
            index += 1
        yield first, last, found[1].split()[0], found[2]
        decorated = None


def _string_span(positions: Positions, first: Span, last: Span) -> Span:
    """From the first to the last source line, with the quotes where they stand on lines of their own."""
    start = positions.line_start_if_blank(first.start_byte - 1)
    if start == first.start_byte - 1:
        start = first.start_byte
    view = positions.view
    end = (
        last.end_byte + 1
        if view[last.end_byte : last.end_byte + 1] == b'"' and start < first.start_byte
        else last.end_byte
    )
    return Span(start, end)
