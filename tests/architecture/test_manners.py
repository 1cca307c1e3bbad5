"""Standard output and the environment belong to the edge; importing has no effects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "mcp_offload", ROOT / "serving")

# What another program starts is an edge too: vLLM makes its middleware itself, and the simulation is a
# program of the environment that has vLLM.
MAY_TOUCH_THE_PROCESS = ("__main__.py", "cli/", "wire/front", "middleware/vllm.py", "bench/simulate.py")


def _others() -> Iterator[tuple[str, ast.Module]]:
    """Modules that may touch neither the environment nor standard output."""
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            if not str(path.relative_to(package)).startswith(MAY_TOUCH_THE_PROCESS):
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_only_the_command_line_reads_the_environment() -> None:
    banned = {"os.environ", "os.environb", "os.getenv", "os.getenvb"}
    found = [
        f"{name}:{node.lineno} {_dotted(node)}"
        for name, tree in _others()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _dotted(node) in banned
    ]
    assert found == []


def test_nothing_prints() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in _others()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _dotted(node.func) in {"print", "pprint.pprint", "pprint"}
    ]
    assert found == []


def test_no_module_calls_anything_but_definitions_at_import() -> None:
    """An expression statement at module level is a docstring; ``main()`` belongs under its guard."""
    found = [
        f"{name}:{node.lineno}"
        for name, tree in _others()
        for node in tree.body
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ]
    assert found == []
