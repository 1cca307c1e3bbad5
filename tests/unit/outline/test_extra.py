"""Languages beyond the core."""

from __future__ import annotations

import pytest

from mcp_offload.outline import extra, outline, parsed, treesitter
from mcp_offload.outline.finish import finish
from mcp_offload.outline.tables import GRAMMARS
from tests.unit.outline.samples import line, sample


def test_a_guessed_table_finds_what_is_named_like_a_definition() -> None:
    compiled = treesitter.load(GRAMMARS["java"])
    table = extra.guessed_table(compiled)
    view = sample("java/Shapes.java")
    found = finish(parsed.by_table(view, table, compiled, lambda: False).symbols, view, table)
    lines = [line(symbol) for symbol in found]
    assert lines[:3] == [
        "Shapes class 3-36",
        "Shapes.Shapes constructor 8-10",
        "Shapes.größe method 12-19",
    ]
    assert "Shapes.Range record 21-25" in lines
    assert "Shapes.Visitor.done method 32-32" in lines


def test_a_language_nobody_has_says_so() -> None:
    found = outline(b"text\n", "no-such-language", "a.nsl", extra_languages=True)
    assert (found.parsed, found.reason) == (False, "no parser for .nsl")
    assert found.symbols


def test_an_extra_language_is_outlined_where_its_grammar_is_installed() -> None:
    pytest.importorskip("semble_grammars", reason="the extra is not installed")
    found = outline(b"module M\n  class A\n    def m(a)\n    end\n  end\nend\n", "ruby", extra_languages=True)
    assert [line(symbol) for symbol in found.symbols] == ["M module 1-6", "M.A class 2-5", "M.A.m method 3-4"]
