"""Outlines of C and C++: the skeleton of the text goes to the grammar, macros are listed beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mcp_offload.models import Span, Symbol
from mcp_offload.outline import treesitter
from mcp_offload.outline.c_heads import clean
from mcp_offload.outline.c_mask import Macro, mask
from mcp_offload.outline.c_sieve import Sieve
from mcp_offload.outline.grammar import Grammar
from mcp_offload.outline.prototypes import without_repeated
from mcp_offload.outline.raw import raw
from mcp_offload.outline.syntax import errors_of


@dataclass(frozen=True, slots=True)
class Parsed:
    """Raw symbols, places of errors, and the bytes nothing accounts for."""

    symbols: list[Symbol]
    errors: tuple[Span, ...]
    lost_bytes: int


def parse(view: bytes, grammar: Grammar, *, cpp: bool, stop: Callable[[], bool]) -> Parsed:
    """Definitions, prototypes and macros.

    Raises:
        ParseStoppedError: ``stop`` answered True.
    """
    masked = mask(view)
    sieve = Sieve(masked, records_kept=cpp)
    sieve.run()
    starts = clean(sieve.text)
    text = bytes(sieve.text)
    tree = treesitter.parse(text, treesitter.load(grammar), stop)
    errors = errors_of(tree, grammar)
    found = [_started(symbol, starts) for symbol in treesitter.symbols(tree, text, grammar)]
    found.extend(_macros(masked.macros, found))
    return Parsed(without_repeated(found), (*errors.spans, *sieve.errors), errors.lost_bytes)


def _started(symbol: Symbol, starts: dict[int, int]) -> Symbol:
    start = starts.get(symbol.span.start_byte)
    if start is None:
        return symbol
    sig = symbol.sig and Span(min(start, symbol.sig.start_byte), symbol.sig.end_byte)
    return replace(symbol, span=Span(start, symbol.span.end_byte), sig=sig)


def _macros(macros: tuple[Macro, ...], found: list[Symbol]) -> Iterator[Symbol]:
    """Macros defined outside functions; those inside serve one function only."""
    bodies = sorted((each.body for each in found if each.body and each.params is not None), key=lambda s: s.start_byte)
    at = 0
    for macro in macros:
        while at < len(bodies) and bodies[at].end_byte <= macro.start:
            at += 1
        if at < len(bodies) and bodies[at].start_byte <= macro.start:
            continue
        yield raw((macro.name,), "macro", (macro.start, macro.end), params=macro.params)
