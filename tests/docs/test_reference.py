"""The reference says what the code does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mcp_offload import errors
from mcp_offload.cli.environment import VARIABLES
from mcp_offload.cli.examples import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = (
    "cli.md",
    "errors.md",
    "json.md",
    "metrics.md",
    "serving-cli.md",
    "serving-profile.md",
    "settings.md",
    "tools.md",
)


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", REFERENCE / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(writer: ModuleType, name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == writer.pages()[name], "run `make docs`"


def test_every_page_is_written(writer: ModuleType) -> None:
    assert sorted(writer.pages()) == sorted(PAGES)


def test_every_command_variable_and_error_is_told() -> None:
    text = {name: (REFERENCE / name).read_text(encoding="utf-8") for name in PAGES}
    assert [name for name in EXAMPLES if name and f"\n## {name}\n" not in text["cli.md"]] == []
    assert [name for name in VARIABLES if f"`{name}`" not in text["settings.md"]] == []
    classes = [name for name in dir(errors) if name.endswith("Error") and name != "OffloadError"]
    assert len(classes) > 20
    assert [name for name in classes if f"`{name}`" not in text["errors.md"]] == []
