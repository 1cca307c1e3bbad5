"""Symbol table of Bash and POSIX shell."""

from __future__ import annotations

from mcp_offload.outline.grammar import TOP_ONLY, Grammar, Rule

GRAMMAR = Grammar(
    package="tree_sitter_bash",
    rules={
        "function_definition": Rule("function", inside="function"),
        "variable_assignment": Rule("variable", only=TOP_ONLY, once=True),
    },
    transparent=frozenset(
        (
            "program",
            "compound_statement",
            "subshell",
            "if_statement",
            "elif_clause",
            "else_clause",
            "case_statement",
            "case_item",
            "list",
            "variable_assignments",
        )
    ),
    wrappers=frozenset(("declaration_command",)),
    doc_markers=(b"#",),
)
