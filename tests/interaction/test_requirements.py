"""Every promise has a test, and every test that names a promise names one that exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interaction.requirements import REQUIREMENTS

TESTS = Path(__file__).resolve().parents[1]


def _covered() -> Iterator[tuple[str, str]]:
    """The promises named by tests, with where."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _named_by(node, f"{path.name}::{node.name}")


def _named_by(test: ast.FunctionDef | ast.AsyncFunctionDef, where: str) -> Iterator[tuple[str, str]]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "covers":
            assert test.name.startswith("test_"), where
            assert decorator.args, where
            for name in decorator.args:
                assert isinstance(name, ast.Constant), where
                yield str(name.value), where


COVERED = list(_covered())


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_promise_has_a_test(name: str) -> None:
    assert [where for covered, where in COVERED if covered == name]


def test_no_test_names_a_promise_that_is_not_made() -> None:
    assert [(name, where) for name, where in COVERED if name not in REQUIREMENTS] == []


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_promise_is_a_sentence_with_a_source(name: str) -> None:
    requirement = REQUIREMENTS[name]
    assert requirement.sentence.endswith(".")
    assert requirement.source
    page = requirement.source.partition(",")[0]
    if page.startswith("docs/"):
        text = (TESTS.parent / page).read_text(encoding="utf-8")
        assert requirement.source.partition(", ")[2] in text
