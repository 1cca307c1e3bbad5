"""Finding a symbol in a symbol table, and again in a later one. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_offload.handle import SymbolSelector, params_key
from mcp_offload.models import Outline, Status, Symbol

_CASELESS = frozenset({"cobol", "plsql", "sql"})
_DECLARATIONS = frozenset({"prototype", "declaration", "function declaration", "procedure declaration"})
NEAR_NAMES = 3
# A shorter body (pass, return x) is shared by unrelated functions too often to mean a rename.
SMALLEST_BODY_BYTES = 16


def find(outline: Outline, selector: SymbolSelector) -> list[Symbol]:
    """Every symbol the selector fits, best reading first.

    The whole qualified name is tried first; then, as in LSP name paths, its last segments, so that
    ``total`` finds ``Invoice.total`` where only one symbol ends so. A declaration gives way to the
    one definition of the same name.
    """
    fold = outline.language in _CASELESS
    wanted = _folded(selector.path, fold=fold)
    if fold:
        exact = [s for s in outline.symbols if _folded(s.path, fold=True) == wanted]
    else:
        exact = [s for s in outline.symbols if s.path == wanted]
    fitting = exact or [s for s in outline.symbols if _folded(s.path[-len(wanted) :], fold=fold) == wanted]
    if selector.params is not None:
        key = params_key(selector.params)
        fitting = [s for s in fitting if s.params is not None and params_key(s.params) == key]
        if selector.ordinal > 1 or len(fitting) > 1:
            fitting = [s for s in fitting if s.ordinal == selector.ordinal]
        return fitting
    if selector.ordinal > 1:
        return [s for s in fitting if s.ordinal == selector.ordinal]
    definitions = [s for s in fitting if s.kind not in _DECLARATIONS]
    return definitions if len(definitions) == 1 else fitting


def near(outline: Outline, selector: SymbolSelector) -> list[Symbol]:
    """Symbols with the most similar names, best first, for an error's hint."""
    last = selector.path[-1].casefold()
    by_name: dict[str, Symbol] = {}
    for symbol in outline.symbols:
        if symbol.kind not in ("chunk", "lines"):
            by_name.setdefault(symbol.path[-1].casefold(), symbol)
    inside = [name for name in by_name if last in name or (name in last and len(name) > 2)]
    close = difflib.get_close_matches(last, by_name, n=NEAR_NAMES, cutoff=0.6)
    names = list(dict.fromkeys([*close, *sorted(inside, key=len)]))[:NEAR_NAMES]
    return [by_name[name] for name in names]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One content and its symbol table."""

    outline: Outline
    view: bytes


@dataclass(frozen=True, slots=True)
class Relocated:
    """Where a symbol of one outline stands in a later one.

    ``symbols`` holds the one place for same, moved, changed and renamed?, the candidates for
    ambiguous, and nothing for gone.
    """

    status: Status
    symbols: tuple[Symbol, ...]


def relocate(symbol: Symbol, before: Snapshot, later: Snapshot) -> Relocated:
    """Find ``symbol`` of ``before`` in later content.

    Identity is the qualified name with its parameters; where the parameters changed, the name alone
    if it is unique. A new symbol with the same text, or of the same kind with the same body, is
    offered as a rename where there is exactly one.
    """
    symbols = later.outline.symbols
    named = [s for s in symbols if s.path == symbol.path and s.kind == symbol.kind]
    named = named or [s for s in symbols if s.path == symbol.path]
    alike = [s for s in named if s.params == symbol.params]
    ranked = [s for s in alike if s.ordinal == symbol.ordinal]
    if len(alike) == 1 or (len(ranked) == 1 and ranked[0].text_key == symbol.text_key):
        return _same_or_changed(symbol, (alike if len(alike) == 1 else ranked)[0])
    if len(named) == 1:
        return _same_or_changed(symbol, named[0])
    if named:
        return Relocated(Status.AMBIGUOUS, tuple(alike or named))
    old_paths = {s.path for s in before.outline.symbols}
    fresh = [s for s in symbols if s.path not in old_paths]
    twins = [s for s in fresh if s.text_key and s.text_key == symbol.text_key]
    twins = twins or _same_body(symbol, before.view, fresh, later.view)
    return Relocated(Status.RENAMED, (twins[0],)) if len(twins) == 1 else Relocated(Status.GONE, ())


def _same_or_changed(before: Symbol, after: Symbol) -> Relocated:
    if before.text_key != after.text_key:
        return Relocated(Status.CHANGED, (after,))
    moved = (before.start_line, before.end_line) != (after.start_line, after.end_line)
    return Relocated(Status.MOVED if moved else Status.SAME, (after,))


def _same_body(symbol: Symbol, view: bytes, fresh: Sequence[Symbol], later_view: bytes) -> list[Symbol]:
    body = _body(symbol, view)
    if len(body) < SMALLEST_BODY_BYTES:
        return []
    return [s for s in fresh if s.kind == symbol.kind and _body(s, later_view) == body]


def _body(symbol: Symbol, view: bytes) -> bytes:
    if symbol.body is None:
        return b""
    return b"".join(view[symbol.body.start_byte : symbol.body.end_byte].split())


def _folded(path: Sequence[str], *, fold: bool) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path) if fold else tuple(path)
