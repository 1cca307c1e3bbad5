"""Symbol table of Java."""

from __future__ import annotations

from mcp_offload.outline.grammar import OUTSIDE_FUNCTIONS, Grammar, Rule

_FIELD = Rule("field", "variable", only=OUTSIDE_FUNCTIONS, inside="function")

GRAMMAR = Grammar(
    package="tree_sitter_java",
    rules={
        "class_declaration": Rule("class", inside="class"),
        "interface_declaration": Rule("interface", inside="class"),
        "enum_declaration": Rule("enum", inside="class"),
        "record_declaration": Rule("record", inside="class"),
        "annotation_type_declaration": Rule("annotation", inside="class"),
        "method_declaration": Rule("method", inside="function"),
        "constructor_declaration": Rule("constructor", inside="function"),
        "compact_constructor_declaration": Rule("constructor", inside="function"),
        "annotation_type_element_declaration": Rule("method"),
        "variable_declarator": _FIELD,
        "enum_constant": Rule("constant", inside="class"),
        "object_creation_expression": Rule("class", "new", inside="class"),
    },
    transparent=frozenset(
        (
            "program",
            "class_body",
            "interface_body",
            "enum_body",
            "enum_body_declarations",
            "annotation_type_body",
            "block",
            "constructor_body",
            "field_declaration",
            "constant_declaration",
            "local_variable_declaration",
            "expression_statement",
            "assignment_expression",
            "return_statement",
            "if_statement",
            "for_statement",
            "enhanced_for_statement",
            "while_statement",
            "do_statement",
            "try_statement",
            "try_with_resources_statement",
            "catch_clause",
            "finally_clause",
            "synchronized_statement",
            "switch_expression",
            "switch_block",
            "switch_block_statement_group",
            "method_invocation",
            "argument_list",
            "lambda_expression",
            "parenthesized_expression",
            "cast_expression",
        )
    ),
    wrappers=frozenset(("field_declaration", "constant_declaration")),
    opaque=frozenset(("static_initializer",)),
    doc_markers=(b"///",),
    doc_blocks=(b"/**",),
)
