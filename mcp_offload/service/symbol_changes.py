"""What became of the symbols between two outlines. Pure.

Only what stands out is told: members of a class that was added or removed go with it, a class whose
members alone changed is not itself called changed, and a symbol counts as moved only where its order
among the others changed, not where lines above it did.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from mcp_offload.models import Outline, Span, Symbol


@dataclass(frozen=True, slots=True)
class SymbolDelta:
    """One change: ``added``, ``removed``, ``changed``, ``moved`` or ``renamed?``, the last only offered.

    ``before`` is None for what was added, ``after`` for what was removed.
    """

    change: str
    before: Symbol | None
    after: Symbol | None


@dataclass(frozen=True, slots=True)
class Side:
    """An outline and the view it was made of."""

    outline: Outline
    view: bytes


@dataclass(frozen=True, slots=True)
class _Pair:
    """A symbol on both sides; ``before`` and ``after`` are places in the outlines."""

    before: int
    after: int


def symbol_changes(before: Side, after: Side) -> tuple[SymbolDelta, ...]:
    """Return what changed, in the order of ``after``, then what was removed, in the order of ``before``."""
    old, new = before.outline.symbols, after.outline.symbols
    pairs = _pairs(old, new)
    only_old = set(range(len(old))) - {pair.before for pair in pairs}
    only_new = set(range(len(new))) - {pair.after for pair in pairs}
    renamed = {pair.after: pair.before for pair in _renamed(before, after, only_old, only_new)}
    deltas: dict[int, SymbolDelta] = {}
    for at in _outermost(new, only_new):
        origin = renamed.get(at)
        deltas[at] = SymbolDelta(
            "added" if origin is None else "renamed?", None if origin is None else old[origin], new[at]
        )
    moved = set(_outermost(new, {pair.after for pair in _out_of_order(pairs)}))
    for pair in pairs:
        if old[pair.before].text_key != new[pair.after].text_key:
            if _own_text(before, pair.before) != _own_text(after, pair.after):
                deltas[pair.after] = SymbolDelta("changed", old[pair.before], new[pair.after])
        elif pair.after in moved:
            deltas[pair.after] = SymbolDelta("moved", old[pair.before], new[pair.after])
    kept = set(renamed.values())
    gone = (SymbolDelta("removed", old[at], None) for at in _outermost(old, only_old) if at not in kept)
    return (*(deltas[at] for at in sorted(deltas)), *gone)


def _pairs(old: Sequence[Symbol], new: Sequence[Symbol]) -> list[_Pair]:
    """Pair symbols of one name: those with equal parameters first, then a last one left on each side."""
    pairs: list[_Pair] = []
    old_named, new_named = _grouped(old), _grouped(new)
    for path, olds in old_named.items():
        news = new_named.get(path, [])
        exact = {_identity(new[at]): at for at in news}
        left: list[int] = []
        for at in olds:
            match = exact.pop(_identity(old[at]), None)
            if match is None:
                left.append(at)
            else:
                pairs.append(_Pair(at, match))
        if len(left) == 1 == len(exact):
            pairs.append(_Pair(left[0], next(iter(exact.values()))))
    return pairs


def _grouped(symbols: Sequence[Symbol]) -> dict[tuple[str, ...], list[int]]:
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, symbol in enumerate(symbols):
        groups[symbol.path].append(at)
    return groups


def _identity(symbol: Symbol) -> Hashable:
    return symbol.kind, symbol.params, symbol.ordinal


def _renamed(before: Side, after: Side, only_old: Iterable[int], only_new: Iterable[int]) -> list[_Pair]:
    """Pair symbols without a counterpart whose text but for the name stands once on either side."""
    news = _by_text(after, only_new)
    return [
        _Pair(places[0], news[text][0])
        for text, places in _by_text(before, only_old).items()
        if len(places) == 1 == len(news.get(text, ()))
    ]


def _by_text(side: Side, places: Iterable[int]) -> dict[bytes, list[int]]:
    groups: dict[bytes, list[int]] = defaultdict(list)
    for at in places:
        symbol = side.outline.symbols[at]
        text = side.view[symbol.span.start_byte : symbol.span.end_byte]
        name = re.escape(symbol.path[-1].encode("utf-8", "surrogateescape"))
        groups[_folded(re.sub(rb"(?<!\w)" + name + rb"(?!\w)", b"\0", text))].append(at)
    return groups


def _folded(text: bytes) -> bytes:
    return b" ".join(text.split())


def _outermost(symbols: Sequence[Symbol], places: set[int]) -> list[int]:
    """Return the places of symbols that do not lie within another of them."""
    kept: list[int] = []
    end = -1
    for at in sorted(places):
        if symbols[at].span.end_byte > end:
            kept.append(at)
            end = symbols[at].span.end_byte
    return kept


def _out_of_order(pairs: Sequence[_Pair]) -> set[_Pair]:
    """Return the pairs to move so that the others are in one order on both sides; as few as possible."""
    ordered = sorted(pairs, key=lambda pair: pair.before)
    tops: list[int] = []
    top_pairs: list[int] = []
    previous: list[int] = []
    for index, pair in enumerate(ordered):
        pile = bisect_left(tops, pair.after)
        previous.append(top_pairs[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [pair.after]
        top_pairs[pile : pile + 1] = [index]
    moved = set(ordered)
    index = top_pairs[-1] if top_pairs else -1
    while index >= 0:
        moved.discard(ordered[index])
        index = previous[index]
    return moved


def _own_text(side: Side, place: int) -> bytes:
    """Return a symbol's text without that of the symbols inside it, white space folded."""
    symbols = side.outline.symbols
    span = symbols[place].span
    parts: list[bytes] = []
    at = span.start_byte
    for inner in _inside(symbols, place):
        parts.append(side.view[at : inner.start_byte])
        at = max(at, inner.end_byte)
    parts.append(side.view[at : span.end_byte])
    return _folded(b" ".join(parts))


def _inside(symbols: Sequence[Symbol], place: int) -> Iterable[Span]:
    """Yield the spans of the symbols within one, which follow it; outer before inner."""
    end = symbols[place].span.end_byte
    for symbol in symbols[place + 1 :]:
        if symbol.span.start_byte >= end:
            return
        if symbol.span.end_byte <= end:
            yield symbol.span
