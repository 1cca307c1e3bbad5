"""What differs between two cards of one format: packages, members, sections, covered lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mcp_offload.cards.model import Card
from mcp_offload.cards.text import range_numbers, ranges_text
from mcp_offload.handle import Selector

#: Kinds that only illustrate; comparing them would report every shift as a change.
_SAMPLES: Final = frozenset(("row",))


class Change(NamedTuple):
    """One difference; ``before`` and ``after`` are what is compared, "" where it is not there.

    ``change`` is added, removed, changed, uncovered or covered; the last two name lines in ``after``
    and ``before``.
    """

    change: str
    kind: str
    name: str
    before: str
    after: str
    before_selector: Selector | None = None
    after_selector: Selector | None = None


class _Named(NamedTuple):
    values: tuple[str, ...]
    selector: Selector | None


def card_changes(before: Card, after: Card) -> list[Change]:
    """Changes in order of their kind (removed and added last) and name.

    Packages of one name are taken together; coverage is compared line by line.
    """
    old, new = _by_name(before), _by_name(after)
    found = [change for key in {**old, **new} for change in _changed(before, key, old.get(key), new.get(key))]
    ranks = ("uncovered", "changed", "added", "removed", "covered")
    return sorted(found, key=lambda change: (ranks.index(change.change), change.kind, change.name))


def _by_name(card: Card) -> dict[tuple[str, str], _Named]:
    named: dict[tuple[str, str], _Named] = {}
    for entry in card.entries:
        if entry.kind not in _SAMPLES:
            key = entry.kind, entry.name
            known = named.get(key)
            values = (*known.values, entry.value) if known else (entry.value,)
            named[key] = _Named(values, known.selector if known else entry.selector)
    return named


def _changed(card: Card, key: tuple[str, str], old: _Named | None, new: _Named | None) -> Iterator[Change]:
    kind, name = key
    if card.format == "coverage" and old and new:
        yield from _lines(name, old, new)
        return
    before, after = (" ".join(sorted(set(side.values))) if side else "" for side in (old, new))
    if old and new and before == after:
        return
    change = "changed" if old and new else "added" if new else "removed"
    yield Change(change, kind, name, before, after, old and old.selector, new and new.selector)


def _lines(name: str, old: _Named, new: _Named) -> Iterator[Change]:
    before, after = (set[int]().union(*map(range_numbers, side.values)) for side in (old, new))
    if after - before:
        lines = ranges_text(after - before)
        yield Change("uncovered", "file", name, "", lines, old.selector, new.selector)
    if before - after:
        lines = ranges_text(before - after)
        yield Change("covered", "file", name, lines, "", old.selector, new.selector)
