"""Symbol table of Python."""

from __future__ import annotations

from mcp_offload.outline.grammar import OUTSIDE_FUNCTIONS, Grammar, Rule

GRAMMAR = Grammar(
    package="tree_sitter_python",
    rules={
        "class_definition": Rule("class", inside="class"),
        "function_definition": Rule("function", inside="function", member_kind="method"),
        "assignment": Rule("variable", "targets", only=OUTSIDE_FUNCTIONS, member_kind="field", once=True),
        "type_alias_statement": Rule("type", "targets", only=OUTSIDE_FUNCTIONS),
    },
    transparent=frozenset(
        (
            "module",
            "block",
            "expression_statement",
            "if_statement",
            "elif_clause",
            "else_clause",
            "for_statement",
            "while_statement",
            "try_statement",
            "except_clause",
            "except_group_clause",
            "finally_clause",
            "with_statement",
            "match_statement",
            "case_clause",
        )
    ),
    wrappers=frozenset(("decorated_definition",)),
    docstrings=True,
)
