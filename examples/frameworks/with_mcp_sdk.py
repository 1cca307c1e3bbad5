# /// script
# requires-python = ">=3.11"
# dependencies = ["mcp>=2.3,<3"]
# ///
"""The official SDK without a framework: one server for the whole run."""

from __future__ import annotations

import asyncio

from mcp import Client, StdioServerParameters
from scripted import LOG, Call, decide


async def main() -> None:
    """Call the tools one after another."""
    server = StdioServerParameters(command="mcp-offload", args=["serve", "--root", str(LOG.parent)])
    async with Client(server, read_timeout_seconds=60) as client:
        print("tools:", *[tool.name for tool in (await client.list_tools()).tools])
        results: list[str] = []
        while isinstance(step := decide(results), Call):  # a real model: hand it the tools, do what it says
            result = await client.call_tool(step.name, step.arguments)
            results.append(result.content[0].text)  # result.is_error tells an error from an answer
        print(step)


if __name__ == "__main__":
    asyncio.run(main())
