"""The pages about frameworks quote the examples, and the pins of the tests are what the examples ask for."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from tests.clients.environments import EXAMPLES, frameworks, pins

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem.removeprefix("with_").replace("_", "-") for path in EXAMPLES.glob("with_*.py"))
_HEAD = re.compile(r"^# /// script\n(.*?)^# ///\n", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    path = ROOT / "docs" / "how-to" / "frameworks" / "generate.py"
    spec = importlib.util.spec_from_file_location("write_frameworks", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def requirements(example: str) -> list[Requirement]:
    """What the head of an example asks for (inline script metadata, PEP 723)."""
    (head,) = _HEAD.findall(example)
    return [Requirement(line) for line in tomllib.loads(re.sub("^# ?", "", head, flags=re.M))["dependencies"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_quotes_its_example(writer: ModuleType, name: str) -> None:
    page = writer.page(name).read_text(encoding="utf-8")
    example = writer.examples()[name].read_text(encoding="utf-8")
    assert f"```python\n{example}```" in page, "run `make docs`"
    assert writer.quoted(page, example) == page, "run `make docs`"
    assert f"\n    uv run examples/frameworks/{writer.examples()[name].name} build.log\n" in page


def test_every_example_of_a_framework_has_pins() -> None:
    assert [name for name in NAMES if name != "mcp-sdk"] == frameworks()


@pytest.mark.parametrize("name", frameworks())
def test_pins_are_what_the_example_asks_for(writer: ModuleType, name: str) -> None:
    lines = pins(name).read_text(encoding="utf-8").splitlines()
    pinned = {line.split("==")[0]: line.split("==")[1].split(" ")[0] for line in lines if "==" in line}
    for asked in requirements(writer.examples()[name].read_text(encoding="utf-8")):
        told = f"python -m tests.clients.environments pin {name}"
        assert asked.specifier.contains(pinned[asked.name]), told
