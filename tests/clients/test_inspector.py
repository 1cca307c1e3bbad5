"""The Inspector's command line: both transports, both eras."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.tools.catalog import tools_of
from tests.clients.conftest import Record
from tests.clients.node import NodeEnvironment, prepare
from tests.clients.served import served
from tests.process.stdio.rig import server_command

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

INSPECTOR = "@modelcontextprotocol/inspector"
ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
TOOL_FAILED = 5
SOURCE = 'def total(lines):\n    """Sum."""\n    return sum(lines)\n'


class Inspector:
    """The Inspector, pointed at one server in one era."""

    def __init__(self, node: NodeEnvironment, target: list[str], era: str, folder: Path) -> None:
        self._node = node
        self._target = target
        self._era = era
        self._folder = folder

    def run(self, method: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One call of the program, whatever comes of it."""
        line = ["--cli", *self._target, "--protocol-era", self._era, "--method", method, *arguments]
        return subprocess.run(
            self._node.command("mcp-inspector", *line, "--format", "json"),
            cwd=self._folder / "work",
            env=self._node.variables(self._folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ask(self, method: str, *arguments: str) -> dict[str, Any]:
        """The result of a call that must work."""
        done = self.run(method, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result

    def call(self, tool: str, **arguments: str) -> str:
        """The text that a tool answers."""
        pairs = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]
        result = self.ask("tools/call", "--tool-name", tool, *pairs)
        (block,) = result["content"]
        text: str = block["text"]
        return text


@pytest.fixture(scope="module")
def node() -> NodeEnvironment:
    return prepare("protocol")


@pytest.fixture(params=["stdio", "HTTP"])
def transport(request: pytest.FixtureRequest) -> str:
    transport: str = request.param
    return transport


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    era: str = request.param
    return era


@pytest.fixture
def inspector(node: NodeEnvironment, transport: str, era: str, tmp_path: Path) -> Iterator[Inspector]:
    if transport == "stdio":
        yield Inspector(node, server_command(tmp_path), era, tmp_path)
    else:
        with served(server_command(tmp_path, "--http", "0")) as url:
            yield Inspector(node, [url], era, tmp_path)


def test_the_inspector_uses_everything(
    inspector: Inspector, node: NodeEnvironment, transport: str, era: str, tmp_path: Path, record: Record
) -> None:
    (tmp_path / "work" / "invoice.py").write_text(SOURCE, encoding="utf-8")
    told = {"kind": "checker", "protocol": ERAS[era], "transport": transport}

    tools = inspector.ask("tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in tools][:3] == ["store_artifact", "outline_handle", "read_handle"]
    assert tools[0]["_meta"] == {"anthropic/alwaysLoad": True}
    record("MCP Inspector", node.version(INSPECTOR), "listed the tools, schemas strictly checked", **told)

    assert inspector.call("store_artifact", source="invoice.py").startswith("f1 invoice.py python")
    assert "f1#total" in inspector.call("outline_handle", handle="f1")
    assert SOURCE.rstrip("\n") in inspector.call("read_handle", handles='["f1#total"]')
    failed = inspector.run("tools/call", "--tool-name", "read_handle", "--tool-arg", 'handles=["f99"]')
    assert failed.returncode == TOOL_FAILED
    assert "No f99 in this workspace" in failed.stdout + failed.stderr
    record(
        "MCP Inspector",
        node.version(INSPECTOR),
        "stored, outlined and read a file, was told an error",
        **told,
    )

    listed = inspector.ask("resources/list")["resources"]
    assert {"offload://here/index", "offload://here/handles"} <= {resource["uri"] for resource in listed}
    (template,) = inspector.ask("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"].startswith("offload://{workspace}/{artifact}")
    (contents,) = inspector.ask("resources/read", "--uri", "offload://here/f1")["contents"]
    assert (contents["mimeType"], contents["text"]) == ("text/x-python", SOURCE)
    record("MCP Inspector", node.version(INSPECTOR), "read a resource", **told)

    assert len(inspector.ask("prompts/list")["prompts"]) == 3
    filled = inspector.ask("prompts/get", "--prompt-name", "triage_run", "--prompt-args", "handle=l1")
    assert "Triage the run l1." in filled["messages"][0]["content"]["text"]
    record("MCP Inspector", node.version(INSPECTOR), "filled in a prompt", **told)


@pytest.mark.parametrize("options", [["--tools", "all"], ["--structured"], ["--resource-links"]])
def test_the_inspector_finds_no_fault_in_other_tool_lists(
    node: NodeEnvironment, options: list[str], tmp_path: Path
) -> None:
    command = server_command(tmp_path, *options)
    tools = Inspector(node, command, "legacy", tmp_path).ask("tools/list", "--strict")["tools"]
    profile = "all" if options == ["--tools", "all"] else "default"
    assert [tool["name"] for tool in tools] == list(tools_of(profile))
    assert all(("outputSchema" in tool) == (options == ["--structured"]) for tool in tools)
