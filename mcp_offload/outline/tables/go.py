"""Symbol table of Go."""

from __future__ import annotations

from mcp_offload.models import MEMBER
from mcp_offload.outline.grammar import CLASS_ONLY, OUTSIDE_FUNCTIONS, TOP_ONLY, Grammar, Rule

GRAMMAR = Grammar(
    package="tree_sitter_go",
    rules={
        "function_declaration": Rule("function"),
        "method_declaration": Rule("method", "receiver"),
        "type_spec": Rule("type", "type", inside="class"),
        "type_alias": Rule("type", "type"),
        "method_elem": Rule("method", only=OUTSIDE_FUNCTIONS),
        "method_spec": Rule("method", only=OUTSIDE_FUNCTIONS),
        "field_declaration": Rule(MEMBER, "names", only=CLASS_ONLY),
        "const_spec": Rule("constant", "names", only=TOP_ONLY),
        "var_spec": Rule("variable", "names", only=TOP_ONLY),
    },
    transparent=frozenset(
        ("source_file", "interface_type", "struct_type", "field_declaration_list", "var_spec_list")
    ),
    wrappers=frozenset(("type_declaration", "const_declaration", "var_declaration")),
    doc_markers=(b"//",),
    doc_blocks=(b"/*",),
)
