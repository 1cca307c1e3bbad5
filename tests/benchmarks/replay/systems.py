"""The ways an agent works: which servers it has, and what they are started with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from tests.benchmarks.replay.agent import CallTool

ROOT = Path(__file__).resolve().parents[3]
UPSTREAM = [sys.executable, str(Path(__file__).resolve().parent / "upstream.py")]
OFFLOAD = [sys.executable, "-m", "mcp_offload"]
#: What an agent's whole context may hold, and the part of it that servers do not send.
LIMIT_TOKENS = 18_000
RESERVE_TOKENS = 6_000
#: The session that both of our processes count for, as a client names it to the servers it starts.
SESSION = "replay"


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is started: a command, and what its environment holds besides a home and a path."""

    command: list[str]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Tools:
    """The servers of a system, connected.

    Attributes:
        definitions: what a model is shown of them before it says a word: instructions, and each tool's name,
            description and input schema as compact JSON.
        listed: name, description and input schema of each tool.
    """

    call: CallTool
    definitions: str
    listed: tuple[dict[str, Any], ...]


def raw(folder: Path, _home: Path) -> list[Server]:
    """Nothing is kept out of the context."""
    return [Server([*UPSTREAM, str(folder)], {})]


def ours(folder: Path, home: Path, limit_tokens: int = LIMIT_TOKENS) -> list[Server]:
    """As ``install --wrap`` sets it up, with a lease that refuses."""
    places = ["--store", str(home / "store"), "--state", str(home / "state"), "--root", str(folder)]
    limits = ["--lease-limit", str(limit_tokens), "--lease-reserve", str(RESERVE_TOKENS)]
    lease = ["--lease", "hard", *limits, *places]
    variables = {"CLAUDE_CODE_SESSION_ID": SESSION}
    wrapped = ["wrap", "--no-tools", *lease, "--", *UPSTREAM, str(folder)]
    return [Server([*OFFLOAD, "serve", *lease], variables), Server([*OFFLOAD, *wrapped], variables)]


def delivered_by_ours(folder: Path, home: Path) -> dict[str, Any]:
    """What the servers of :func:`ours` wrote down of what they sent, as ``mcp-offload lease`` tells it."""
    places = ["--store", str(home / "store"), "--state", str(home / "state"), "--root", str(folder)]
    command = [*OFFLOAD, "--json", "lease", "--session", SESSION, *places]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True)
    lease: dict[str, Any] = json.loads(done.stdout)
    return lease


@asynccontextmanager
async def connected(servers: list[Server], folder: Path, home: Path) -> AsyncIterator[Tools]:
    """Real stdio clients of real processes that run in ``folder`` with a home of their own."""
    async with AsyncExitStack() as stack:
        # What servers log is nobody's here; an error is seen as the answer it leads to.
        log = stack.enter_context((home / "log").open("a", encoding="utf-8"))
        owners: dict[str, Client] = {}
        shown: list[str] = []
        listed: list[dict[str, Any]] = []
        for server in servers:
            client = await stack.enter_async_context(
                Client(_transport(server, folder, home, log), mode="legacy")
            )
            shown.append(client.instructions or "")
            for tool in (await client.list_tools()).tools:
                owners[tool.name] = client
                seen = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
                listed.append(seen)
                shown.append(json.dumps(seen, ensure_ascii=False, separators=(",", ":")))

        async def call(tool: str, arguments: dict[str, Any]) -> str:
            return _text(await owners[tool].call_tool(tool, arguments))

        yield Tools(call, "\n".join(filter(None, shown)), tuple(listed))


def _transport(server: Server, folder: Path, home: Path, log: TextIO) -> Any:
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        **server.variables,
    }
    command, *arguments = server.command
    parameters = StdioServerParameters(command=command, args=arguments, env=environment, cwd=folder)
    return stdio_client(parameters, errlog=log)


def _text(result: object) -> str:
    """What a model is shown of a result: its text; structured content tells the same again."""
    assert isinstance(result, CallToolResult)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
