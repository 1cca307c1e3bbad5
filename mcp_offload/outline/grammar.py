"""What a symbol table says about a language: which syntax nodes define something, and how to name it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Container = Literal["top", "class", "function"]
"""What a definition stands in; decides whether a variable is worth listing and what a function is called."""

Naming = Literal[
    "name",
    "targets",
    "variable",
    "pair",
    "assigned",
    "callback",
    "default",
    "member",
    "module",
    "names",
    "receiver",
    "impl",
    "new",
    "type",
    "typedef",
    "declarator",
    "record",
    "guessed",
]
"""How the name of a definition is found from its node; see the ``names_*`` modules."""

EVERYWHERE: frozenset[Container] = frozenset(("top", "class", "function"))
OUTSIDE_FUNCTIONS: frozenset[Container] = frozenset(("top", "class"))
TOP_ONLY: frozenset[Container] = frozenset(("top",))
CLASS_ONLY: frozenset[Container] = frozenset(("class",))


@dataclass(frozen=True, slots=True)
class Rule:
    """One node type that defines something.

    Attributes:
        kind: what the definition is called.
        member_kind: what it is called inside a class, where that differs.
        naming: how its name is found.
        inside: what its content stands in; None where there is nothing to look for in it.
        only: the containers in which it is listed; elsewhere it is only looked into.
        once: list the first of several with the same name in the same place (assignments).
    """

    kind: str
    naming: Naming = "name"
    inside: Container | None = None
    only: frozenset[Container] = EVERYWHERE
    member_kind: str | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Grammar:
    """The symbol table of one language.

    Attributes:
        package, function: where the compiled grammar comes from.
        rules: node types that define something.
        transparent: node types that are looked into without defining anything.
        wrappers: node types that belong to the one definition inside them (decorators, ``export``).
        attached: node types that stand before a definition as its siblings and belong to it.
        opaque: node types that are looked into as if they were function bodies.
        members: node types that are looked into inside a class only.
        doc_markers: what a line comment directly above a definition starts with to document it.
        doc_blocks: openings of block comments that document.
        docstrings: True where documentation is the first string of the body.
    """

    package: str
    function: str = "language"
    rules: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    transparent: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    doc_markers: tuple[bytes, ...] = ()
    doc_blocks: tuple[bytes, ...] = ()
    docstrings: bool = False
