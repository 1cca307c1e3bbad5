"""What naming a syntax node yields, and the small questions all languages ask of nodes."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from mcp_offload.outline.grammar import Container

FIELD_LIMIT_BYTES = 4096
"""Names longer than this are not names; they are cut."""


@dataclass(frozen=True, slots=True)
class Found:
    """A definition found at a node: its name relative to where it stands, and what it consists of."""

    path: tuple[str, ...]
    kind: str
    inside: Container | None = None
    params: Node | None = None
    body: Node | None = None
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: the names around it and the kind of thing they name."""

    path: tuple[str, ...]
    container: Container


def text_of(node: Node | None, view: bytes) -> str:
    """The node's source text; invalid sequences become U+FFFD."""
    if node is None:
        return ""
    end = min(node.end_byte, node.start_byte + FIELD_LIMIT_BYTES)
    return view[node.start_byte : end].decode("utf-8", "replace")


def unquoted(text: str) -> str:
    """The text without the quotes around it."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'`":
        return text[1:-1]
    return text


def squeezed(text: str, limit: int = 80) -> str:
    """The text with runs of white space as one space, cut to ``limit`` characters."""
    return " ".join(text.split())[:limit]


def first_child_of(node: Node, types: frozenset[str]) -> Node | None:
    """The first named child of one of the types."""
    for child in node.named_children:
        if child.type in types:
            return child
    return None
