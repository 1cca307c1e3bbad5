"""Symbol tables of JavaScript, TypeScript and TSX."""

from __future__ import annotations

from mcp_offload.models import MEMBER
from mcp_offload.outline.grammar import OUTSIDE_FUNCTIONS, Grammar, Rule

_FUNCTION = Rule("function", inside="function")
_CLASS = Rule("class", inside="class")
_MODULE = Rule("namespace", "module", inside="top")

_RULES = {
    "function_declaration": _FUNCTION,
    "generator_function_declaration": _FUNCTION,
    "class_declaration": _CLASS,
    "method_definition": Rule("method", "member", inside="function"),
    "field_definition": Rule("property", "variable", inside="function"),
    "variable_declarator": Rule("variable", "variable", inside="function", only=OUTSIDE_FUNCTIONS),
    "pair": Rule("property", "pair", inside="function"),
    "assignment_expression": Rule("function", "assigned", inside="function"),
    "call_expression": Rule("function", "callback", inside="function"),
    "export_statement": Rule("function", "default", inside="function"),
}

_TYPES = {
    "abstract_class_declaration": _CLASS,
    "interface_declaration": Rule("interface", inside="class"),
    "type_alias_declaration": Rule("type", inside="class"),
    "enum_declaration": Rule("enum"),
    "internal_module": _MODULE,
    "module": _MODULE,
    "function_signature": Rule("function"),
    "method_signature": Rule("method", "member"),
    "property_signature": Rule(MEMBER, "member"),
    "abstract_method_signature": Rule("method", "member"),
    "public_field_definition": Rule("property", "variable", inside="function"),
}

_TRANSPARENT = frozenset(
    (
        "program",
        "statement_block",
        "class",
        "class_body",
        "interface_body",
        "object_type",
        "parenthesized_expression",
        "sequence_expression",
        "unary_expression",
        "arguments",
        "call_expression",
        "assignment_expression",
        "if_statement",
        "else_clause",
        "for_statement",
        "for_in_statement",
        "while_statement",
        "do_statement",
        "try_statement",
        "catch_clause",
        "finally_clause",
        "switch_statement",
        "switch_body",
        "switch_case",
        "switch_default",
        "labeled_statement",
        "return_statement",
        "await_expression",
    )
)

JAVASCRIPT = Grammar(
    package="tree_sitter_javascript",
    rules=_RULES,
    transparent=_TRANSPARENT,
    wrappers=frozenset(
        ("export_statement", "lexical_declaration", "variable_declaration", "expression_statement")
    ),
    members=frozenset(("object",)),
    attached=frozenset(("decorator",)),
    opaque=frozenset(("function_expression", "generator_function", "arrow_function")),
    doc_markers=(b"///",),
    doc_blocks=(b"/**",),
)

TYPESCRIPT = Grammar(
    package="tree_sitter_typescript",
    function="language_typescript",
    rules=_RULES | _TYPES,
    transparent=_TRANSPARENT,
    wrappers=JAVASCRIPT.wrappers | {"ambient_declaration"},
    attached=JAVASCRIPT.attached,
    opaque=JAVASCRIPT.opaque,
    members=JAVASCRIPT.members,
    doc_markers=JAVASCRIPT.doc_markers,
    doc_blocks=JAVASCRIPT.doc_blocks,
)

TSX = Grammar(
    package="tree_sitter_typescript",
    function="language_tsx",
    rules=TYPESCRIPT.rules,
    transparent=TYPESCRIPT.transparent,
    wrappers=TYPESCRIPT.wrappers,
    attached=TYPESCRIPT.attached,
    opaque=TYPESCRIPT.opaque,
    members=TYPESCRIPT.members,
    doc_markers=TYPESCRIPT.doc_markers,
    doc_blocks=TYPESCRIPT.doc_blocks,
)
