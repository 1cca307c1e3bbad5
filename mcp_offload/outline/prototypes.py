"""Prototypes of functions that are also defined in the same text."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_offload.models import Symbol

_DEFINED = frozenset(("function", "method", "constructor", "destructor"))


def without_repeated(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Leave out prototypes whose definition is here: two symbols of one name make both ambiguous."""
    defined = {_key(symbol) for symbol in symbols if symbol.kind in _DEFINED}
    return [symbol for symbol in symbols if symbol.kind != "prototype" or _key(symbol) not in defined]


def _key(symbol: Symbol) -> tuple[tuple[str, ...], int]:
    """The name and how many parameters there are; ``void`` is none."""
    params = (symbol.params or "").strip("() \t\r\n")
    count = 0 if params in ("", "void") else params.count(",") + 1
    return symbol.path, count
