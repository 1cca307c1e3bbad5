"""The tools that an agent has anyway: ``python upstream.py FOLDER`` lists, reads, edits, writes and tests.

A file is read 250 lines at a time unless more is asked for; the tools of real clients have a limit, too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

FOLDER = Path(sys.argv[1]).resolve()
PAGE_LINES = 250


def list_files(folder: str) -> str:
    """The files below a folder."""
    return "\n".join(
        sorted(str(path.relative_to(FOLDER)) for path in _inside(folder).rglob("*.py") if path.stat().st_size)
    )


def read_file(path: str, offset: int = 0, limit: int = PAGE_LINES) -> str:
    """Lines of a file from one on, counted from 0; by default 250."""
    lines = _inside(path).read_text(encoding="utf-8").splitlines(keepends=True)
    end = offset + limit
    left = len(lines) - end
    return "".join(lines[offset:end]) + (
        f"({left} more lines, offset {end})" if left > 0 else "(end of file)"
    )


def edit_file(path: str, old: str, new: str) -> str:
    """Replace a text that occurs once in a file."""
    text = _inside(path).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"old occurs {text.count(old)} times in {path}")
    _inside(path).write_text(text.replace(old, new), encoding="utf-8")
    return f"edited {path}"


def write_file(path: str, content: str, append: bool = False) -> str:
    """Write a file, or add to its end."""
    with _inside(path).open("a" if append else "w", encoding="utf-8") as file:
        file.write(content)
    return f"wrote {path}"


def move_file(path: str, to: str) -> str:
    """Move a file to where another may be, in its place."""
    _inside(path).replace(_inside(to))
    return f"moved {path}"


def run_tests(path: str) -> str:
    """Run pytest on a file."""
    return _pytest(path)


TOOLS: dict[str, tuple[Any, dict[str, str], list[str]]] = {
    "list_files": (list_files, {"folder": "string"}, ["folder"]),
    "read_file": (read_file, {"path": "string", "offset": "integer", "limit": "integer"}, ["path"]),
    "edit_file": (edit_file, {"path": "string", "old": "string", "new": "string"}, ["path", "old", "new"]),
    "write_file": (
        write_file, {"path": "string", "content": "string", "append": "boolean"}, ["path", "content"],
    ),
    "move_file": (move_file, {"path": "string", "to": "string"}, ["path", "to"]),
    "run_tests": (run_tests, {"path": "string"}, ["path"]),
}  # fmt: skip


def _inside(path: str) -> Path:
    found = (FOLDER / path).resolve()
    if not found.is_relative_to(FOLDER):
        raise ValueError(f"{path} is outside the folder")
    return found


def _pytest(path: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", path],
        cwd=FOLDER, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


async def _list(_context: Any, _params: Any) -> ListToolsResult:
    return ListToolsResult(
        tools=[
            Tool(
                name=name,
                description=tool.__doc__,
                input_schema={
                    "type": "object",
                    "properties": {argument: {"type": kind} for argument, kind in types.items()},
                    "required": required,
                },
            )
            for name, (tool, types, required) in TOOLS.items()
        ]
    )


async def _call(_context: Any, params: Any) -> CallToolResult:
    text = await anyio.to_thread.run_sync(lambda: TOOLS[params.name][0](**params.arguments))
    return CallToolResult(content=[TextContent(type="text", text=text)])


async def _main() -> None:
    server = Server("files", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_main)
