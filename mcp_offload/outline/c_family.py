"""Outlines of C and C++: the skeleton of the text goes to the grammar, macros are listed beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.c_heads import clean
from mcp_offload.outline.c_mask import Macro, mask
from mcp_offload.outline.c_sieve import Sieve
from mcp_offload.outline.prototypes import without_repeated
from mcp_offload.outline.raw import raw

_FUNCTIONS = frozenset(("function", "method", "constructor", "destructor"))


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What the grammar gets to see, at true offsets, and what it does not."""

    text: bytes
    errors: tuple[Span, ...]
    starts: Mapping[int, int]
    blocks: Sequence[Symbol]
    macros: tuple[Macro, ...]

    def symbols(self, found: list[Symbol]) -> list[Symbol]:
        """The definitions found in the skeleton, with their macros, and the macros defined beside them."""
        started = [*(_started(symbol, self.starts) for symbol in found), *self.blocks]
        return without_repeated([*started, *_macros(self.macros, started)])


def skeleton(view: bytes, *, cpp: bool) -> Skeleton:
    """The text without comments, preprocessor lines, function bodies and macros before declarations."""
    masked = mask(view)
    sieve = Sieve(masked, records_kept=True)
    sieve.run()
    cleaned = clean(sieve.text, masked.defined, cpp=cpp)
    return Skeleton(bytes(sieve.text), tuple(sieve.errors), cleaned.starts, cleaned.blocks, masked.macros)


def _started(symbol: Symbol, starts: Mapping[int, int]) -> Symbol:
    start = starts.get(symbol.span.start_byte)
    if start is None:
        return symbol
    sig = symbol.sig and Span(min(start, symbol.sig.start_byte), symbol.sig.end_byte)
    return replace(symbol, span=Span(start, symbol.span.end_byte), sig=sig)


def _macros(macros: tuple[Macro, ...], found: list[Symbol]) -> Iterator[Symbol]:
    """Macros defined outside functions; those inside serve one function only."""
    bodies = sorted(
        (each.body for each in found if each.body and each.kind in _FUNCTIONS), key=lambda s: s.start_byte
    )
    at = 0
    for macro in macros:
        while at < len(bodies) and bodies[at].end_byte <= macro.start:
            at += 1
        if at < len(bodies) and bodies[at].start_byte <= macro.start:
            continue
        yield raw((macro.name,), "macro", (macro.start, macro.end), params=macro.params)
