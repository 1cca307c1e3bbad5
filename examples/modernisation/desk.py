"""An agent's own connection to mcp-offload, with a session and a context lease of its own."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

COMMANDS = ("cobc", "javac", "java")
# A reply of the server is at most 10 KB unless it is told that the client takes more, as this one does.
REPLY = {"MCP_OFFLOAD_MAX_REPLY_BYTES": "60000"}


class Refused(Exception):
    """A tool gave an error; the message is the tool's."""


@dataclass(frozen=True, slots=True)
class Run:
    """A command that ended: what the agent sees of it, and the handle of its whole output."""

    text: str
    handle: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Desk:
    """The tools, as one agent uses them. Every text that comes back counts against that agent's lease."""

    client: Client
    folder: Path

    async def store(self, path: Path) -> str:
        """Store a file by path; the handle of its newest version."""
        return _first(r"\b[fltb]\d+\b", await self._call("store_artifact", source=str(path)))

    async def outline(self, handle: str, max_tokens: int = 2000) -> str:
        """The symbols of an artifact, a line each, the handle first."""
        return await self._call("outline_handle", handle=handle, max_tokens=max_tokens)

    async def read(self, handles: Sequence[str], max_tokens: int = 4000) -> str:
        """The texts that handles name."""
        return await self._call("read_handle", handles=list(handles), max_tokens=max_tokens)

    async def replace(self, handle: str, text: str) -> str:
        """Put a text in the place of a symbol, in the store and on disk."""
        return await self._call("edit_handle", handle=handle, text=text)

    async def difference(self, before: Path, after: Path) -> str:
        """What the first lacks of the second, within few tokens."""
        return await self._call("diff_handles", before=str(before), after=str(after), max_tokens=600)

    async def run(self, *command: str) -> Run:
        """Run a command in the folder; its output stays in the store and only its digest comes back."""
        text = await self._call(
            "run_command", command=list(command), cwd=str(self.folder), wait_seconds=300, timeout_seconds=300
        )
        head = text.partition("\n")[0]
        return Run(text, _first(r"\b[lt]\d+\b", head), "| exit 0 |" in head)

    async def begin(self) -> None:
        """Tell the server that the agent's context is empty again, so that its lease is whole."""
        await self._call("context_lease", event="cleared")

    async def lease(self) -> str:
        """How much of the lease the newest context has used."""
        return await self._call("context_lease")

    async def _call(self, name: str, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        text = "".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise Refused(text)
        return text


@asynccontextmanager
async def desk(
    agent: str, folder: Path, roots: Sequence[Path], server: Sequence[str]
) -> AsyncGenerator[Desk]:
    """Start a server for one agent. All of them share the store, and so the handles, of the folder."""
    arguments = [
        *server[1:],
        "serve",
        "--tools",
        "all",
        "--session",
        f"{folder.name}/{agent}",
        "--lease",
        "hard",
    ]
    arguments += ["--workspace", str(folder)]
    for root in (folder, *roots):
        arguments += ["--root", str(root)]
    for command in (*COMMANDS, f"{folder / 'legacy'}/"):
        arguments += ["--allow-run", command]
    parameters = StdioServerParameters(command=server[0], args=arguments, env=REPLY, cwd=str(folder))
    async with Client(parameters, read_timeout_seconds=330) as client:
        yield Desk(client, folder)


def handles_of(outline: str) -> list[str]:
    """The handles that begin the lines of an outline."""
    return re.findall(r"(?m)^([fltb]\d+(?:@\d+)?#\S+)", outline)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise Refused(f"no handle in {text!r}")
    return found.group()
