"""What importing the package costs, and what it exports."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import mcp_offload
import serving

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"mcp_offload": mcp_offload, "serving": serving}

HEAVY = [
    *("mcp", "mcp_types", "pydantic", "asyncio", "anyio"),
    *("apsw", "blake3", "pathspec", "re2", "toktok", "tree_sitter", "shtab", "ruamel"),
    *("starlette", "uvicorn", "httpx2", "matplotlib", "numpy", "torch", "vllm"),
]


def _loaded_after(statement: str, names: list[str]) -> list[str]:
    """The names among ``names`` that a fresh interpreter holds as modules after ``statement``."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps([n for n in {names!r} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded: list[str] = json.loads(done.stdout)
    return loaded


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    assert _loaded_after(f"import {package}", HEAVY) == []


def test_the_check_would_see_a_heavy_import() -> None:
    assert _loaded_after("import asyncio", HEAVY) == ["asyncio"]


@pytest.mark.parametrize(
    "module", ["mcp_offload.__main__", "mcp_offload.cli.main", "mcp_offload.server", "serving.cli.main"]
)
def test_what_serving_imports_first_loads_nothing_heavy(module: str) -> None:
    assert _loaded_after(f"import {module}", HEAVY) == []


NEED_VLLM = ("serving.bench.contiguous", "serving.bench.scheduler", "serving.bench.simulate")
"""Modules that run only where vLLM is installed; they export nothing."""


def _exporting_modules() -> list[types.ModuleType]:
    """Every importable module of the packages that states what it exports."""
    names = [
        info.name
        for package in PACKAGES
        for info in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    ]
    skipped = ("__main__", *NEED_VLLM)
    modules = [importlib.import_module(name) for name in names if not name.endswith(skipped)]
    return [module for module in [*PACKAGES.values(), *modules] if hasattr(module, "__all__")]


def test_every_export_is_there_and_in_order() -> None:
    for module in _exporting_modules():
        exported: list[str] = module.__all__
        # Constants come first, as the linter sorts them.
        assert exported == sorted(exported, key=lambda name: (not name.isupper(), name)), module.__name__
        assert len(exported) == len(set(exported)), module.__name__
        assert [name for name in exported if not hasattr(module, name)] == [], module.__name__


def test_packages_export_what_they_import() -> None:
    """A package's ``__init__`` imports a name either to export it or to use it."""
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(tuple(PACKAGES))
            for alias in node.names
        }
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        exported = _stated_exports(tree)
        assert sorted(imported - used - exported) == [], path.relative_to(ROOT)


def _stated_exports(tree: ast.Module) -> set[str]:
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
            continue
        if [target.id for target in node.targets if isinstance(target, ast.Name)] == ["__all__"]:
            return {str(item.value) for item in node.value.elts if isinstance(item, ast.Constant)}
    return set()
