"""Symbol tables of C and C++."""

from __future__ import annotations

from mcp_offload.outline.grammar import OUTSIDE_FUNCTIONS, Grammar, Rule

_DECLARATION = Rule("variable", "declarator", only=OUTSIDE_FUNCTIONS)

_RULES = {
    "field_declaration": _DECLARATION,
    "function_definition": Rule("function", "declarator"),
    "declaration": _DECLARATION,
    "struct_specifier": Rule("struct", "record", inside="class"),
    "union_specifier": Rule("union", "record", inside="class"),
    "enum_specifier": Rule("enum", "record"),
    "type_definition": Rule("type", "typedef"),
}

_TRANSPARENT = frozenset(
    ("translation_unit", "declaration_list", "field_declaration_list", "linkage_specification")
)

C = Grammar(
    package="tree_sitter_c",
    rules=_RULES,
    transparent=_TRANSPARENT,
    doc_markers=(b"//",),
    doc_blocks=(b"/*",),
)

CPP = Grammar(
    package="tree_sitter_cpp",
    rules=_RULES
    | {
        "class_specifier": Rule("class", "record", inside="class"),
        "namespace_definition": Rule("namespace", "module", inside="top"),
        "alias_declaration": Rule("type"),
        "concept_definition": Rule("concept"),
    },
    transparent=_TRANSPARENT | {"friend_declaration"},
    wrappers=frozenset(("template_declaration",)),
    doc_markers=(b"//",),
    doc_blocks=(b"/*",),
)
