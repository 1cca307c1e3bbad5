"""The official file system and git servers: wrapped, they do for a client what they do unwrapped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.clients import environments, node

pytestmark = [pytest.mark.clients, pytest.mark.anyio, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
GIT_PINS = Path(__file__).resolve().parent / "data" / "servers" / "git.txt"
READING = ["read_handle", "search_handles", "outline_handle"]
MODULE = "".join(f"def step_{n}(value):\n    return value + {n}\n\n\n" for n in range(600))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small repository with one large file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n\nA few words.\n", encoding="utf-8")
    (folder / "steps.py").write_text(MODULE, encoding="utf-8")
    for n in range(400):
        (folder / f"part_{n:03}.txt").write_text(f"part {n}\n", encoding="utf-8")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "The first"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "notes.md").write_text("# Notes\n\nOther words.\n", encoding="utf-8")
    return folder


@asynccontextmanager
async def connected(command: list[str], mode: str) -> AsyncIterator[Client]:
    """A client of a server that is started by ``command``."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with Client(parameters, mode=mode) as client:  # type: ignore[arg-type]
        yield client


def wrapped(command: list[str], folder: Path) -> list[str]:
    """The same server behind ours."""
    places = ["--store", str(folder / "store"), "--state", str(folder / "state"), "--root", str(folder)]
    options = [*places, "--workspace", str(folder), "--lease", "off"]
    return [sys.executable, "-m", "mcp_offload", "wrap", *options, "--", *command]


def filesystem(project: Path) -> list[str]:
    return node.prepare("servers").command("mcp-server-filesystem", str(project))


def git(project: Path) -> list[str]:
    python = environments.prepare("server-git", GIT_PINS).python
    return [str(python), "-m", "mcp_server_git", "--repository", str(project)]


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


async def use_files(client: Client, project: Path) -> list[Any]:
    """What a client does with the file system server; what it saw."""
    seen: list[Any] = [(await client.list_tools()).tools]
    notes = {"path": str(project / "notes.md")}
    for tool, arguments in (
        ("read_text_file", notes),
        ("get_file_info", {"path": str(project / "steps.py")}),
        ("read_text_file", {"path": str(project / "missing.md")}),
        ("write_file", {"path": str(project / "new.txt"), "content": "new\n"}),
        ("edit_file", {**notes, "edits": [{"oldText": "Other", "newText": "More"}]}),
        ("read_multiple_files", {"paths": [notes["path"], str(project / "new.txt")]}),
        ("list_allowed_directories", {}),
    ):
        result = await client.call_tool(tool, arguments)
        seen.append((tool, result.is_error, result.content, result.structured_content))
    (project / "new.txt").unlink()
    (project / "notes.md").write_text("# Notes\n\nOther words.\n", encoding="utf-8")
    return seen


async def use_git(client: Client, project: Path) -> list[Any]:
    """What a client does with the git server; what it saw."""
    seen: list[Any] = [(await client.list_tools()).tools]
    repository = {"repo_path": str(project)}
    for tool, arguments in (
        ("git_status", repository),
        ("git_diff_unstaged", repository),
        ("git_log", repository),
        ("git_branch", {**repository, "branch_type": "local"}),
        ("git_show", {**repository, "revision": "no-such-revision"}),
    ):
        result = await client.call_tool(tool, arguments)
        seen.append((tool, result.is_error, result.content, result.structured_content))
    return seen


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("server", "use"), [(filesystem, use_files), (git, use_git)], ids=["files", "git"])
async def test_a_client_sees_the_same_through_us(
    server: Any, use: Any, mode: str, project: Path, tmp_path: Path
) -> None:
    command = server(project)
    async with connected(command, mode) as client:
        (tools, *direct), version = await use(client, project), client.protocol_version
    async with connected(wrapped(command, tmp_path), mode) as client:
        (through_us, *seen), same = await use(client, project), client.protocol_version
    assert same == version
    # Times of files move on; they are compared as what they are, lines.
    assert [one for one in seen if one[0] != "get_file_info"] == [
        one for one in direct if one[0] != "get_file_info"
    ]
    assert [tool.name for tool in through_us] == [*(tool.name for tool in tools), *READING]
    for theirs, ours in zip(tools, through_us[: len(tools)], strict=True):
        assert ours.model_copy(update={"output_schema": theirs.output_schema}) == theirs


async def test_large_answers_of_the_file_system_server_are_handles(project: Path, tmp_path: Path) -> None:
    async with connected(wrapped(filesystem(project), tmp_path), "legacy") as client:
        await client.list_tools()
        source = await client.call_tool("read_text_file", {"path": str(project / "steps.py")})
        assert source.structured_content is None
        assert "f1 read_text_file/steps.py python 2400L" in text_of(source)
        read = text_of(await client.call_tool("read_handle", {"handles": ["f1#step_417"]}))
        assert read.endswith("def step_417(value):\n    return value + 417")
        tree = await client.call_tool("directory_tree", {"path": str(project)})
        assert "directory_tree.json json" in text_of(tree)
        listing = await client.call_tool("list_directory_with_sizes", {"path": str(project)})
        assert "Combined size:" in text_of(listing)
        hits = text_of(await client.call_tool("search_handles", {"pattern": "part_217"}))
        assert "part_217.txt" in hits


async def test_large_answers_of_the_git_server_are_handles(project: Path, tmp_path: Path) -> None:
    async with connected(wrapped(git(project), tmp_path), "legacy") as client:
        shown = await client.call_tool("git_show", {"repo_path": str(project), "revision": "HEAD"})
        text = text_of(shown)
        assert text.startswith("Stored, not shown")
        handle = text.split("\n")[1].split()[0]
        found = await client.call_tool("search_handles", {"pattern": "step_599", "handles": [handle]})
        assert "+def step_599(value):" in text_of(found)
