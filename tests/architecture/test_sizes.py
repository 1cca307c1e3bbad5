"""Modules and functions stay small enough to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [path for path in (ROOT / "mcp_offload", ROOT / "serving") if path.is_dir()]

MODULE_LINES = 400
FUNCTION_LINES = 40
POSITIONAL = 6

GENERATED = ("_generated.py",)
"""Endings of the names of modules that a tool writes; only their size is excused."""


def _modules() -> Iterator[tuple[Path, str]]:
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            yield path, path.read_text(encoding="utf-8")


def _functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, source in _modules():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def test_there_is_something_to_measure() -> None:
    assert len(list(_modules())) > 5
    assert len(list(_functions())) > 50


def test_modules_are_at_most_400_lines() -> None:
    sizes = {
        str(path.relative_to(ROOT)): source.count("\n")
        for path, source in _modules()
        if not path.name.endswith(GENERATED)
    }
    assert {name: lines for name, lines in sizes.items() if lines > MODULE_LINES} == {}


def test_functions_are_at_most_40_lines() -> None:
    sizes = {name: (node.end_lineno or 0) - node.lineno + 1 for name, node in _functions()}
    assert {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES} == {}


def test_functions_take_at_most_six_positional_arguments() -> None:
    """More than six belong into a value object, or must be named by the caller."""
    counts = {
        name: len([arg for arg in node.args.posonlyargs + node.args.args if arg.arg not in ("self", "cls")])
        for name, node in _functions()
    }
    assert {name: count for name, count in counts.items() if count > POSITIONAL} == {}


def test_no_module_is_named_for_being_useful() -> None:
    shapeless = {"utils", "util", "helpers", "common", "misc"}
    assert [str(path) for path, _ in _modules() if path.stem in shapeless] == []
