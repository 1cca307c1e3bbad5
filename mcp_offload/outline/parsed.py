"""A text parsed by its grammar: definitions, places of errors, and how much could not be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Language

from mcp_offload.models import Span, Symbol
from mcp_offload.outline import bash_lines, c_family, python_lines, treesitter
from mcp_offload.outline.grammar import Grammar
from mcp_offload.outline.syntax import cut_at_errors, errors_of

_CORRECTIONS = {"python": python_lines.corrected, "bash": bash_lines.corrected}


@dataclass(frozen=True, slots=True)
class Parsed:
    """Raw symbols, places of syntax errors, and the bytes nothing accounts for."""

    symbols: list[Symbol]
    errors: tuple[Span, ...]
    lost_bytes: int


def parse(text: bytes, language: str, grammar: Grammar, stop: Callable[[], bool]) -> Parsed:
    """Parse a text of a core language.

    Raises:
        ParseStoppedError: ``stop`` answered True.
    """
    compiled = treesitter.load(grammar)
    if language in ("c", "cpp"):
        skeleton = c_family.skeleton(text, cpp=language == "cpp")
        found = by_table(skeleton.text, grammar, compiled, stop)
        return Parsed(skeleton.symbols(found.symbols), (*found.errors, *skeleton.errors), found.lost_bytes)
    found = by_table(text, grammar, compiled, stop)
    correct = _CORRECTIONS.get(language)
    if correct is None or not found.errors:
        return found
    corrected = correct(found.symbols, text)
    return Parsed(corrected, found.errors, 0 if corrected else found.lost_bytes)


def by_table(text: bytes, grammar: Grammar, compiled: Language, stop: Callable[[], bool]) -> Parsed:
    """Parse a text and list what the grammar's table calls definitions.

    Raises:
        ParseStoppedError: ``stop`` answered True.
    """
    tree = treesitter.parse(text, compiled, stop)
    errors = errors_of(tree, grammar)
    found = cut_at_errors(treesitter.symbols(tree, text, grammar), errors.spans, text)
    return Parsed(list(found), errors.spans, errors.lost_bytes)
