"""The pages about clients, and the files for registries, say what the code does."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from mcp_offload import __version__
from mcp_offload.install import CLIENTS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "how-to" / "clients"
REGISTRATION = ROOT / "examples" / "registration"
PLUGIN = ROOT / "examples" / "claude-code-plugin"


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_clients", PAGES / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README", *CLIENTS])
def test_a_page_is_what_the_table_says(writer: ModuleType, name: str) -> None:
    page = PAGES / f"{name}.md"
    assert page.read_text(encoding="utf-8") == writer.pages()[page.name], "run `make docs`"


def test_no_page_is_left_over(writer: ModuleType) -> None:
    assert {page.name for page in PAGES.glob("*.md")} == set(writer.pages())


def test_the_links_hold_an_entry_that_starts_the_server(writer: ModuleType) -> None:
    cursor = parse_qs(urlsplit(writer.cursor_link()).query)
    assert cursor["name"] == ["offload"]
    assert json.loads(base64.b64decode(cursor["config"][0])) == {"command": "mcp-offload", "args": ["serve"]}
    (target,) = parse_qs(urlsplit(writer.vscode_link()).query)["url"]
    head, _, config = target.partition("?")
    assert head == "vscode:mcp/install"
    assert json.loads(unquote(config)) == {"name": "offload", "command": "mcp-offload", "args": ["serve"]}


def test_compatibility_tells_of_every_verified_client() -> None:
    text = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    registered = text.partition("\n## Registration\n")[2]
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([\w.]+) \|", registered, re.MULTILINE))
    assert {c.name: c.verified for c in CLIENTS.values() if c.verified} == {
        c.name: rows[c.name] for c in CLIENTS.values() if c.name in rows
    }


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_is_published_names_this_version() -> None:
    server = _json(REGISTRATION / "server.json")
    assert server["version"] == server["packages"][0]["version"] == __version__
    assert _json(REGISTRATION / "mcpb" / "manifest.json")["version"] == __version__
    bundle = tomllib.loads((REGISTRATION / "mcpb" / "pyproject.toml").read_text(encoding="utf-8"))
    assert bundle["project"]["dependencies"] == [f"mcp-offload=={__version__}"]
    assert _json(PLUGIN / ".claude-plugin" / "plugin.json")["version"] == __version__


def test_the_registry_can_read_what_is_published_there() -> None:
    """Source: the registry's schema of 2025-12-11, which the document names."""
    server = _json(REGISTRATION / "server.json")
    assert server["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    assert 1 <= len(server["title"]) <= 100
    (package,) = server["packages"]
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package["identifier"] == project["name"]
    # uvx runs the command of the package's own name.
    assert package["identifier"] in project["scripts"]
    assert package["packageArguments"] == [{"type": "positional", "value": "serve"}]


def test_a_name_in_the_registry_is_told_by_the_readme_too() -> None:
    name = _json(REGISTRATION / "server.json")["name"]
    told = re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert told == ([] if name.startswith("com.example/") else [name])


def test_the_bundle_lists_the_tools_of_the_server() -> None:
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    listed = [tool["name"] for tool in _json(REGISTRATION / "mcpb" / "manifest.json")["tools"]]
    assert [name for name in listed if f"\n## {name}\n" not in page] == []
    assert len(listed) >= 7


def test_the_plugin_starts_the_server() -> None:
    assert _json(PLUGIN / ".mcp.json") == {
        "mcpServers": {"offload": {"command": "mcp-offload", "args": ["serve"], "alwaysLoad": True}}
    }
