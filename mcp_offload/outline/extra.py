"""Languages beyond the core: a symbol table guessed from the names of a grammar's node types.

The grammars come with an optional package. Only the parsing process uses them: they unpack
themselves into a folder, and nobody here has tried them on every input.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from tree_sitter import Language

from mcp_offload.outline.grammar import EVERYWHERE, OUTSIDE_FUNCTIONS, Container, Grammar, Rule

_PACKAGE: Final = "semble_grammars"
_DEFINES: Final = ("definition", "declaration", "_item", "_method", "_constructor")
_WHOLE: Final = frozenset(("method", "class", "module", "function"))
_NEVER: Final = frozenset((
    "import", "using", "use", "variable", "parameter", "superclass", "catch", "accessor", "argument",
    "capture", "static", "local", "multi", "implicit", "anonymous", "precedence", "generic", "enumerator",
    "member",
))  # fmt: skip
_KINDS: Final[Mapping[str, tuple[str, Container | None]]] = {
    "class": ("class", "class"),
    "interface": ("interface", "class"),
    "protocol": ("interface", "class"),
    "struct": ("struct", "class"),
    "enum": ("enum", "class"),
    "union": ("union", "class"),
    "record": ("record", "class"),
    "trait": ("trait", "class"),
    "object": ("class", "class"),
    "mixin": ("class", "class"),
    "extension": ("extension", "class"),
    "module": ("module", "top"),
    "namespace": ("namespace", "top"),
    "function": ("function", "function"),
    "method": ("method", "function"),
    "constructor": ("constructor", "function"),
    "init": ("constructor", "function"),
    "destructor": ("destructor", "function"),
    "macro": ("macro", None),
    "property": ("property", None),
    "typealias": ("type", None),
    "delegate": ("type", None),
    "test": ("function", None),
}
_LEAVES: Final = (
    "_expression",
    "_literal",
    "string",
    "comment",
    "parameters",
    "arguments",
    "_type",
    "identifier",
)


def load(language: str) -> tuple[Grammar, Language] | None:
    """The grammar of a language and a table made for it, or None where the optional package has none."""
    try:
        package = importlib.import_module(_PACKAGE)
    except ImportError:
        return None
    if language not in package.available_languages():
        return None
    compiled: Language = package.get_language(language)
    return guessed_table(compiled), compiled


def guessed_table(compiled: Language) -> Grammar:
    """A symbol table from what the grammar calls its node types."""
    rules: dict[str, Rule] = {}
    transparent: set[str] = set()
    for number in range(compiled.node_kind_count):
        name = compiled.node_kind_for_id(number)
        if not name or not compiled.node_kind_is_named(number):
            continue
        rule = _rule(name)
        if rule is not None:
            rules[name] = rule
        elif not name.endswith(_LEAVES):
            transparent.add(name)
    return Grammar(
        package=_PACKAGE,
        rules=rules,
        transparent=frozenset(transparent),
        doc_markers=(b"///",),
        doc_blocks=(b"/**",),
    )


def _rule(name: str) -> Rule | None:
    words = name.split("_")
    if _NEVER & set(words) or not (name in _WHOLE or name.endswith(_DEFINES)):
        return None
    for word in reversed(words):
        if word in _KINDS:
            kind, inside = _KINDS[word]
            only = OUTSIDE_FUNCTIONS if kind == "property" else EVERYWHERE
            member = "method" if kind == "function" else None
            return Rule(kind, "guessed", inside, only, member)
    return None
