"""The agent's connection to mcp-offload, over stdio: sources and compiler output stay there, by handle."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters


class Refused(Exception):
    """A tool gave an error; the message is the tool's."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended; what it printed is in the store under `handle`."""

    handle: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Desk:
    """The tools that the agent uses."""

    client: Client

    async def store(self, path: Path) -> str:
        """Store a file; the handle of its newest version."""
        return _first(r"\b[fltb]\d+(?:@\d+)?\b", await self._call("store_artifact", source=str(path)))

    async def symbols(self, handle: str) -> list[str]:
        """The handles of what an artifact is made of."""
        outline = await self._call("outline_handle", handle=handle, max_tokens=1000)
        return re.findall(r"(?m)^([fltb]\d+(?:@\d+)?#\S+)", outline)

    async def read(self, handles: Sequence[str], max_tokens: int) -> str:
        """The texts that handles name."""
        return await self._call("read_handle", handles=list(handles), max_tokens=max_tokens)

    async def run(self, folder: Path, *command: str) -> Ran:
        """Run a command; its output stays in the store and never comes here."""
        text = await self._call(
            "run_command", command=list(command), cwd=str(folder), wait_seconds=60, timeout_seconds=60
        )
        head = text.partition("\n")[0]
        return Ran(_first(r"\b[lt]\d+\b", head), "| exit 0 |" in head)

    async def failure(self, ran: Ran, max_tokens: int) -> str:
        """The first failures that a command printed, exactly, read by handle; else how its output begins."""
        found = [handle for handle in await self.symbols(ran.handle) if "#!" in handle]
        return await self.read(found[:2] or [f"{ran.handle}#L1-20"], max_tokens)

    async def _call(self, name: str, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        text = "".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise Refused(text)
        return text


@asynccontextmanager
async def desk(
    server: Sequence[str], roots: Sequence[Path], may_run: Sequence[str], *options: str
) -> AsyncGenerator[Desk]:
    """Start a server that sees `roots` and may run the commands `may_run`, which find others beside them."""
    path = os.pathsep.join(dict.fromkeys([*(str(Path(name).parent) for name in may_run), "/usr/bin", "/bin"]))
    arguments = [*server[1:], "serve", "--tools", "all", "--workspace", str(roots[0]), *options]
    for root in roots:
        arguments += ["--root", str(root)]
    for pattern in may_run:
        arguments += ["--allow-run", pattern]
    parameters = StdioServerParameters(
        command=server[0], args=arguments, env={"PATH": path}, cwd=str(roots[0])
    )
    async with Client(parameters, read_timeout_seconds=120) as client:
        yield Desk(client)


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise Refused(f"no handle in {text!r}")
    return found.group()
