"""Syntax errors of a tree: where they are and how much of the text they cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node, Tree

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.grammar import Grammar

_LIMIT = 20_000
"""Errors remembered; beyond it everything is near one."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Places of errors, and the bytes no rule of the language accounts for."""

    spans: tuple[Span, ...]
    lost_bytes: int


def errors_of(tree: Tree, grammar: Grammar) -> Errors:
    """Collect ERROR and MISSING nodes; only subtrees that hold one are walked."""
    if not tree.root_node.has_error:
        return Errors((), 0)
    cursor = tree.walk()
    spans: list[Span] = []
    lost = 0
    while len(spans) < _LIMIT:
        node = cursor.node
        if node is None:
            break
        if node.is_error or node.is_missing:
            at_root = node == tree.root_node
            lost += _lost(node, grammar)
            if not at_root:
                spans.append(Span(node.start_byte, node.end_byte))
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return Errors(tuple(spans), lost)
    return Errors(tuple(spans), lost)


def _lost(node: Node, grammar: Grammar) -> int:
    """Bytes of an ERROR node that none of its children makes sense of."""
    known = sum(
        child.end_byte - child.start_byte
        for child in node.children
        if child.is_extra
        or child.is_error
        or child.type in grammar.rules
        or child.type in grammar.transparent
    )
    return max(0, node.end_byte - node.start_byte - known)


def cut_at_errors(symbols: Iterable[Symbol], errors: Sequence[Span], view: bytes) -> Iterator[Symbol]:
    """End a variable at the ``;`` that ends a line inside an error: the rest was drawn in by mistake."""
    texts = [(error.start_byte, _text(error, view)) for error in errors]
    ends = [start + len(text) for start, text in texts if text.endswith(b";")]
    for symbol in symbols:
        span = symbol.span
        end = next((end for end in ends if span.start_byte < end < span.end_byte), None)
        if symbol.kind != "variable" or end is None or view[end : end + 2].strip():
            yield symbol
        else:
            sig = symbol.sig and Span(symbol.sig.start_byte, min(symbol.sig.end_byte, end))
            yield replace(symbol, span=Span(span.start_byte, end), sig=sig, body=None)


def _text(error: Span, view: bytes) -> bytes:
    return view[error.start_byte : min(error.end_byte, error.start_byte + 2000)].rstrip()
