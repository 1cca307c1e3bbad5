"""Symbol table of Rust."""

from __future__ import annotations

from mcp_offload.models import MEMBER
from mcp_offload.outline.grammar import CLASS_ONLY, OUTSIDE_FUNCTIONS, Grammar, Rule

GRAMMAR = Grammar(
    package="tree_sitter_rust",
    rules={
        "function_item": Rule("function", inside="function", member_kind="method"),
        "function_signature_item": Rule("function", member_kind="method"),
        "struct_item": Rule("struct", inside="class"),
        "field_declaration": Rule(MEMBER, only=CLASS_ONLY),
        "enum_item": Rule("enum"),
        "union_item": Rule("union", inside="class"),
        "trait_item": Rule("trait", inside="class"),
        "impl_item": Rule("impl", "impl", inside="class"),
        "mod_item": Rule("module", inside="top"),
        "macro_definition": Rule("macro"),
        "const_item": Rule("constant", only=OUTSIDE_FUNCTIONS),
        "static_item": Rule("variable", only=OUTSIDE_FUNCTIONS),
        "type_item": Rule("type", only=OUTSIDE_FUNCTIONS),
        "associated_type": Rule("type", only=OUTSIDE_FUNCTIONS),
    },
    transparent=frozenset(
        (
            "source_file",
            "declaration_list",
            "field_declaration_list",
            "block",
            "foreign_mod_item",
            "unsafe_block",
            "expression_statement",
        )
    ),
    attached=frozenset(("attribute_item",)),
    doc_markers=(b"///",),
    doc_blocks=(b"/**",),
)
