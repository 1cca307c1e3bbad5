"""The layer contracts hold, and no module escapes them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "mcp_offload"
SERVING = ROOT / "serving"

SDK_ALLOWED = {"__main__", "cli", "server", "wrap", "install", "wire"}
SDK_ALLOWED |= {"tools", "resources", "prompts", "uploads"}
SERVING_PURE = {"admission", "plan", "forecast", "report", "telemetry"}
PURE = {"outline", "digest", "distill", "lease", "handle", "store.eviction"}


def _contracts() -> list[Mapping[str, Any]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["tool"]["importlinter"]["contracts"]


def _children(package: Path = PACKAGE) -> set[str]:
    """Names of the modules and packages directly below a package."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}


def _sources(name_part: str) -> set[str]:
    found = [contract for contract in _contracts() if name_part in contract["name"]]
    assert len(found) == 1
    return {source.partition(".")[2] for source in found[0]["source_modules"]}


def test_import_contracts_hold() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint_imports, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_below_the_wire_is_barred_from_the_sdk() -> None:
    assert _sources("MCP SDK") == _children() - SDK_ALLOWED


def test_every_pure_module_is_listed_as_pure() -> None:
    children = _children()
    if (PACKAGE / "store" / "eviction.py").exists():
        children.add("store.eviction")
    assert _sources("Pure modules") == PURE & children


def test_every_pure_package_of_serving_is_listed_as_pure() -> None:
    listed = {name for name in _sources("What serving keeps pure") if "." not in name}
    assert listed == SERVING_PURE & _children(SERVING)
