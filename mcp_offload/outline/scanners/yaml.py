"""YAML by keys and list items, from indentation.

An item of a list is named by its ``name`` or ``id`` where it has one, else by its index; a document of
several by ``Kind/name`` where it looks like a Kubernetes object, else by its index. Block scalars, flow
collections and quoted text hold no keys. Source: YAML 1.2.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import Sieve, clean_name
from mcp_offload.outline.scanners.json import key_name
from mcp_offload.outline.scanners.positions import Positions

_KEY: Final = re.compile(
    rb"(\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\n]|'')*+'|[^\s#\[\]{},&*!|>'\"%@`:-](?:[^:#\n]|:(?=\S)|(?<=\S)#)*+"
    rb"|[-?:](?=[^\s])(?:[^:#\n]|:(?=\S)|(?<=\S)#)*+)[ \t]*+:(?=[ \t\r]|\Z)",
    re.DOTALL,
)
_BLOCK_SCALAR: Final = re.compile(
    rb"[ \t]*(?:[&!][^\s]*[ \t]+){0,3}[|>][-+0-9]{0,2}[ \t]*(?:#.*)?\r?\Z", re.DOTALL
)
_DASH: Final = re.compile(rb"-(?:[ \t]+|(?=\r?\Z))")
_FLOW: Final = re.compile(
    rb"\"(?:[^\"\\\n]|\\.)*+\"?|'[^'\n]*+'?|(?:(?<=\s)|\A)#[^\n]*|[\[{]|[\]}]", re.DOTALL
)
_FLOW_START: Final = re.compile(rb"[ \t]*(?:[&!][^\s]*[ \t]+){0,3}[\[{]")
_NAME_KEYS: Final = ("name", "id")
_MAX_LINE_BYTES: Final = 4096
_MAX_HINT_BYTES: Final = 80
_MAX_OPEN: Final = 64


class _Node:
    """A key, an item, or a document; open while more indented lines follow."""

    __slots__ = (
        "depth",
        "first",
        "hints",
        "indent",
        "index",
        "items",
        "kind",
        "last",
        "name",
        "parent",
        "start",
    )

    def __init__(self, parent: _Node | None, kind: str, indent: int, first: int, start: int) -> None:
        self.parent = parent
        self.kind = kind
        self.indent = indent
        self.first = first
        self.start = start
        self.last = first
        self.depth = 0 if parent is None else parent.depth + 1
        self.name = ""
        self.index = 0
        self.items = 0
        self.hints: dict[str, str] = {}

    def segment(self) -> str:
        """The name in a path."""
        if self.kind != "item":
            return self.name
        for key in _NAME_KEYS:
            if self.hints.get(key):
                return self.hints[key]
        return str(self.index)


def scan(view: bytes) -> list[Symbol]:
    """Symbols of the keys, items and documents."""
    return _Scanner(view).scan()


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._positions = Positions(view)
        self._sieve = Sieve()
        self._nodes: list[_Node] = []
        self._documents = [_Node(None, "document", -1, 1, 0)]
        self._stack = [self._documents[0]]
        self._comments_from = 0
        self._comments_indent = 0
        # Lines indented deeper than this belong to a block scalar; -2 while there is none.
        self._scalar_indent = -2
        self._flow_depth = 0
        # The quote that ends a text begun on an earlier line; a line indented less ends it too.
        self._quote = b""
        self._quote_indent = 0

    def scan(self) -> list[Symbol]:
        for number in range(1, len(self._positions) + 1):
            text = self._positions.text(number)
            if number == 1:
                text = text.removeprefix(b"\xef\xbb\xbf")
            self._line(number, text)
        self._nodes = self._sieve.settle(self._nodes, final=True)
        return self._collected()

    # --- reading -----------------------------------------------------------------------------------

    def _line(self, number: int, text: bytes) -> None:
        head = text[:_MAX_LINE_BYTES]
        stripped = head.strip()
        if not stripped:
            self._comments_from = 0
            return
        indent = len(head) - len(head.lstrip(b" "))
        if self._scalar_indent > -2:
            if indent > self._scalar_indent:
                self._touch(number)
                return
            self._scalar_indent = -2
        if self._inside_value(number, text, indent):
            return
        if stripped.startswith(b"#"):
            if not self._comments_from or self._comments_indent != indent:
                self._comments_from, self._comments_indent = number, indent
            return
        if indent == 0 and (stripped in (b"---", b"...") or stripped.startswith((b"--- ", b"%"))):
            self._separator(number, stripped)
            return
        self._content(number, head, indent)

    def _inside_value(self, number: int, text: bytes, indent: int) -> bool:
        """True inside a flow collection or a quoted text of several lines."""
        if self._flow_depth > 0:
            self._flow_depth = _flow_depth(text, self._flow_depth)
        elif self._quote and indent > self._quote_indent:
            self._quote = b"" if _closes(text, self._quote) else self._quote
        else:
            self._quote = b""
            return False
        self._touch(number)
        return True

    def _separator(self, number: int, stripped: bytes) -> None:
        self._comments_from = 0
        if not stripped.startswith(b"---"):
            return
        while len(self._stack) > 1:
            self._leave()
        current = self._documents[-1]
        if current.items or current.hints:
            document = _Node(None, "document", -1, number + 1, self._positions.start_of(number + 1))
            document.index = len(self._documents)
            self._documents.append(document)
        else:
            current.first = number + 1
            current.start = self._positions.start_of(number + 1)
        self._stack = [self._documents[-1]]

    def _content(self, number: int, head: bytes, indent: int) -> None:
        # Comments at the top of the file are its own.
        first = self._comments_from if self._comments_from > 1 and self._comments_indent == indent else number
        self._comments_from = 0
        column = indent
        while (dash := _DASH.match(head, column)) is not None and len(self._stack) < _MAX_OPEN:
            self._open("item", column, first if column == indent else number, number, column)
            column = dash.end()
        found = _KEY.match(head, column)
        if found is None:
            self._close_to(indent + 1 if column == indent else column + 1)
            self._touch(number)
            self._value(head, column, indent)
            return
        node = self._open("key", column, first if column == indent else number, number, column)
        node.name = key_name(found[1].strip())
        value = head[found.end() :]
        self._hint(node, value)
        self._value(head, found.end(), column)

    def _open(self, kind: str, column: int, first: int, number: int, offset: int) -> _Node:
        self._close_to(column, keep_key=kind == "item")
        parent = self._stack[-1]
        line_start = self._positions.start_of(first)
        start = line_start if first < number else self._positions.line_start_if_blank(line_start + offset)
        node = _Node(parent, kind, column, first, start)
        node.last = number
        node.index = parent.items
        parent.items += 1
        if parent.kind == "key":
            parent.hints["kind"] = "sequence" if kind == "item" else "mapping"
        self._stack.append(node)
        if self._sieve.allows(node.depth):
            self._nodes.append(node)
            if not len(self._nodes) % 4096:
                self._nodes = self._sieve.settle(self._nodes)
        self._touch(number)
        return node

    def _close_to(self, column: int, *, keep_key: bool = False) -> None:
        """Close what is not less indented; a list may stand at the indentation of its key."""
        while len(self._stack) > 1:
            top = self._stack[-1]
            if top.indent < column or (keep_key and top.indent == column and top.kind == "key"):
                return
            self._leave()

    def _leave(self) -> None:
        node = self._stack.pop()
        parent = self._stack[-1]
        parent.last = max(parent.last, node.last)

    def _touch(self, number: int) -> None:
        self._stack[-1].last = number

    def _hint(self, node: _Node, value: bytes) -> None:
        text = value.strip()
        parent = node.parent
        if parent is None or not text or len(text) > _MAX_HINT_BYTES or text[:1] in b"|>[{&*!#":
            return
        if node.name in _NAME_KEYS and parent.kind == "item":
            parent.hints.setdefault(node.name, _plain(text))
        elif node.name == "kind" and parent.kind == "document":
            parent.hints.setdefault("kind", _plain(text))
        elif node.name == "name" and parent.name == "metadata" and parent.parent is self._documents[-1]:
            self._documents[-1].hints.setdefault("name", _plain(text))

    def _value(self, head: bytes, start: int, indent: int) -> None:
        if _BLOCK_SCALAR.match(head, start):
            self._scalar_indent = indent
        elif _FLOW_START.match(head, start):
            self._flow_depth = _flow_depth(head[start:], 0)
        else:
            value = head[start:].strip()
            if value[:1] in (b'"', b"'") and not _closes(value[1:], value[:1]):
                self._quote, self._quote_indent = value[:1], indent

    # --- symbols -----------------------------------------------------------------------------------

    def _collected(self) -> list[Symbol]:
        while len(self._stack) > 1:
            self._leave()
        symbols: list[Symbol] = []
        paths: dict[int, tuple[str, ...]] = {}
        several = len(self._documents) > 1
        for document in self._documents:
            paths[id(document)] = (_document_name(document),) if several else ()
            if several and document.items:
                symbols.append(self._symbol(document, paths[id(document)]))
        taken: set[tuple[str, ...]] = set()
        for node in self._nodes:
            path = (*paths.get(id(node.parent), ()), node.segment())
            if node.kind == "item" and path in taken:
                path = (*path[:-1], str(node.index))
            taken.add(path)
            paths[id(node)] = path
            symbols.append(self._symbol(node, path))
        return symbols

    def _symbol(self, node: _Node, path: tuple[str, ...]) -> Symbol:
        kind = node.hints.get("kind", "key") if node.kind == "key" else node.kind
        span = Span(node.start, max(node.start, self._positions.end_of(node.last)))
        return self._positions.symbol(path, kind, span)


def _document_name(document: _Node) -> str:
    kind, name = document.hints.get("kind"), document.hints.get("name")
    return f"{kind}/{name}" if kind and name else str(document.index)


def _plain(text: bytes) -> str:
    if text[:1] in b"\"'":
        return key_name(text)
    return clean_name(text.partition(b" #")[0])


def _closes(text: bytes, quote: bytes) -> bool:
    """True where an unescaped ``quote`` stands in ``text``."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"") if quote == b'"' else text.replace(b"''", b"")
    return quote in plain


def _flow_depth(text: bytes, depth: int) -> int:
    """How many flow collections are open behind ``text``."""
    for found in _FLOW.finditer(text):
        if found[0] in (b"[", b"{"):
            depth += 1
        elif found[0] in (b"]", b"}"):
            depth -= 1
    return max(0, depth)
