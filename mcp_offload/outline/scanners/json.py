"""JSON by keys: a linear tokenizer that remembers where everything stands.

Also reads comments, trailing commas, unquoted keys, JSON lines and damaged documents. A member's span is
its key and value, ``sig`` the key, ``body`` the value. In a document of several values (JSON lines) the
first segment of a path is the value's index.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS, Sieve, clean_name, clean_text
from mcp_offload.outline.scanners.positions import Positions

# Elements of one array that get symbols of their own; the rest is read by lines or bytes.
MAX_ELEMENTS: Final = 200
# Values of a document of many (JSON lines) that do.
MAX_ROOTS: Final = 2000

_TOKEN: Final = re.compile(
    rb"""//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)"""
    rb"""|(?P<string>"(?:[^"\\\n]|\\(?s:.|\Z))*+(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\(?s:.|\Z))*+(?:'|(?=\n)|\Z))(?P<colon>\s*+:)?"""
    rb"""|(?P<open>[\[{])|(?P<close>[\]}])|(?P<literal>[^\s,:\[\]{}"'/]++|/)(?P<colon2>[ \t]*+:)?"""
)
_SIMPLE_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SETTLE_EVERY: Final = 4096


class Node:
    """A member of an object, an element of an array, or a whole value of the document."""

    __slots__ = ("depth", "end", "index", "key", "kind", "parent", "root", "start", "value_start")

    def __init__(
        self, parent: Node | None, key: Span | None, index: int, start: int, value_start: int
    ) -> None:
        self.parent = parent
        self.key = key
        self.index = index
        self.start = start
        self.value_start = value_start
        self.end = value_start
        self.kind = "object"
        self.depth = 0 if parent is None else parent.depth + 1
        self.root = index if parent is None else parent.root

    def name(self, view: bytes) -> str:
        """The segment of this node in a path."""
        return (
            str(self.index) if self.key is None else key_name(view[self.key.start_byte : self.key.end_byte])
        )


class Tree:
    """The nodes of a document, outer before inner, bounded in number and depth."""

    def __init__(self, view: bytes, *, max_elements: int = MAX_ELEMENTS) -> None:
        self.view = view
        self._max_elements = max_elements
        self.nodes: list[Node] = []
        self.roots: list[Node] = []
        self._sieve = Sieve()
        # Open containers: the node, or None below what is collected, and the count of values inside.
        self._open: list[list[Node | None]] = []
        self._counts: list[int] = []
        self._key: Span | None = None
        self._since_settled = 0
        self._read()

    def _read(self) -> None:
        for found in _TOKEN.finditer(self.view):
            kind = found.lastgroup
            if kind is None:
                continue
            if kind in ("colon", "colon2"):
                group = "string" if kind == "colon" else "literal"
                self._key = Span(*found.span(group))
            elif kind == "open":
                self._enter(found.start(), "object" if self.view[found.start()] == 0x7B else "array")
            elif kind == "close":
                self._leave(found.end())
            else:
                self._scalar(found.start(), found.end(), kind)
        while self._open:
            self._leave(len(self.view.rstrip()))
        self.nodes = self._sieve.settle(self.nodes, final=True)

    def _enter(self, start: int, kind: str) -> None:
        node = self._add(start, kind)
        self._open.append([node])
        self._counts.append(0)

    def _leave(self, end: int) -> None:
        self._key = None
        if not self._open:
            return
        node = self._open.pop()[0]
        self._counts.pop()
        if node is not None:
            node.end = end

    def _scalar(self, start: int, end: int, group: str) -> None:
        if not self._open:
            self._key = None
            return
        kind = "string" if group == "string" else _literal_kind(self.view[start : start + 1])
        node = self._add(start, kind)
        if node is not None:
            node.end = end

    def _add(self, start: int, kind: str) -> Node | None:
        key, self._key = self._key, None
        if not self._open:
            root = Node(None, None, len(self.roots), start, start)
            root.kind = kind
            self.roots.append(root)
            return root
        index = self._counts[-1]
        self._counts[-1] += 1
        parent = self._open[-1][0]
        wanted = parent is not None and self._sieve.allows(parent.depth + 1)
        if key is None and (kind not in ("object", "array") or index >= self._max_elements):
            wanted = False
        if not wanted or parent is None:
            return None
        node = Node(parent, key, index, start if key is None else key.start_byte, start)
        node.kind = kind
        self.nodes.append(node)
        self._since_settled += 1
        if self._since_settled >= _SETTLE_EVERY:
            self._since_settled = 0
            self.nodes = self._sieve.settle(self.nodes)
        return node


def scan(view: bytes) -> list[Symbol]:
    """Symbols of the members and structured elements of a JSON document."""
    tree = Tree(view)
    positions = Positions(view)
    several = len(tree.roots) > 1
    symbols: list[Symbol] = []
    paths: dict[int, tuple[str, ...]] = {}
    if several:
        for root in tree.roots[:MAX_ROOTS]:
            symbols.append(node_symbol(positions, (str(root.index),), root))
    for root in tree.roots:
        paths[id(root)] = (str(root.index),) if several else ()
    for node in tree.nodes:
        path = (*paths[id(node.parent)], node.name(view))
        paths[id(node)] = path
        symbols.append(node_symbol(positions, path, node))
    return symbols[:MAX_SYMBOLS]


def node_symbol(positions: Positions, path: tuple[str, ...], node: Node) -> Symbol:
    """The symbol of a node, from the start of its line where only white space stands before it."""
    start = positions.line_start_if_blank(node.start)
    return positions.symbol(
        path,
        node.kind,
        Span(start, max(start, node.end)),
        sig=node.key,
        body=Span(node.value_start, node.end),
    )


def key_name(raw: bytes) -> str:
    """The text of a key or string as written in the document, quotes and escapes resolved."""
    if raw[:1] in (b'"', b"'"):
        raw = raw[1:-1] if len(raw) > 1 and raw[-1:] == raw[:1] else raw[1:]
    if b"\\" not in raw:
        return clean_name(raw)
    return clean_text(unescape(raw[:4096].decode("utf-8", "replace")))


def unescape(text: str) -> str:
    """Resolve the escapes of a JSON string; pairs of surrogates become one character."""
    plain = _ESCAPE.sub(_replacement, text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _replacement(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _SIMPLE_ESCAPES.get(found[2], found[2])


def _literal_kind(first: bytes) -> str:
    if first in (b"t", b"f"):
        return "boolean"
    return "null" if first == b"n" else "number"
