"""The MCP server that an agent of the replay works with: files of a folder, and recorded results.

``python upstream.py FOLDER``: ``read_file`` returns a file of ``FOLDER``; each ``FOLDER/results/NAME.json``,
which holds one call and its result as a real server gave it, is a tool NAME that gives that result again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

FOLDER = Path(sys.argv[1]).resolve()


def _schema(**properties: str) -> dict[str, Any]:
    typed = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": typed, "required": list(typed)}


def _tools() -> list[Tool]:
    recorded = [
        Tool(name=path.stem, description=f"The recorded {path.stem}.", input_schema=_schema())
        for path in sorted(FOLDER.glob("results/*.json"))
    ]
    reading = Tool(name="read_file", description="The text of a file.", input_schema=_schema(path="string"))
    return [reading, *recorded]


async def _list(_context: Any, _params: Any) -> ListToolsResult:
    return ListToolsResult(tools=_tools())


async def _call(_context: Any, params: Any) -> CallToolResult:
    if params.name == "read_file":
        path = (FOLDER / params.arguments["path"]).resolve()
        if not path.is_relative_to(FOLDER):
            raise ValueError(f"{path} is outside the folder")
        text = path.read_bytes().decode("utf-8", "replace")
        return CallToolResult(content=[TextContent(type="text", text=text)])
    recorded = json.loads((FOLDER / "results" / f"{params.name}.json").read_bytes())
    return CallToolResult.model_validate(recorded["response"])


async def _main() -> None:
    server = Server("files", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


anyio.run(_main)
