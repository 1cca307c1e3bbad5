"""The real server over the real service, with the SDK's own client in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp_types import CallToolResult, TextContent

from mcp_offload.server.build import create_server
from mcp_offload.service import open_service
from mcp_offload.settings import Settings
from mcp_offload.wire.reply import JSON_META_KEY

Mode = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")

INVOICE = '''"""Invoices."""


class Invoice:
    """One invoice."""

    def __init__(self, lines: list[tuple[str, int]]) -> None:
        self.lines = lines

    def total(self) -> int:
        """Sum of all lines."""
        return sum(amount for _, amount in self.lines)


def report(invoices: list[Invoice]) -> str:
    """A line for each invoice."""
    return "\\n".join(str(invoice.total()) for invoice in invoices)
'''


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Settings whose root is ``folder / "work"``, which is made where it is not there."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    settings = Settings(
        store_dir=str(folder / "store"),
        state_dir=str(folder / "state"),
        roots=(str(work),),
        base_dir=str(work),
        workspace=str(work),
        tools="all",
    )
    return replace(settings, **changes)


@asynccontextmanager
async def connected(settings: Settings, mode: Mode = "legacy") -> AsyncIterator[Client]:
    """A client of a fresh server over a freshly opened service."""
    with open_service(settings) as service:
        async with Client(create_server(service, settings), mode=mode) as client:
            yield client


def text_of(result: object) -> str:
    """The one text block of a successful reply."""
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result
    return only_text(result)


def error_of(result: object) -> str:
    """The one text block of a tool error."""
    assert isinstance(result, CallToolResult)
    assert result.is_error, result
    return only_text(result)


def only_text(result: CallToolResult) -> str:
    """The text of a result that is one text block and nothing else."""
    assert len(result.content) == 1
    block = result.content[0]
    assert isinstance(block, TextContent)
    assert result.structured_content is None
    return block.text


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a successful call."""
    return text_of(await client.call_tool(tool, arguments))


async def fail(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that must fail."""
    return error_of(await client.call_tool(tool, arguments))


async def call_json(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The JSON of a call that asked for it."""
    result = await client.call_tool(tool, arguments, meta={JSON_META_KEY: True})
    assert isinstance(result, CallToolResult)
    assert result.meta is not None
    data: dict[str, Any] = result.meta[JSON_META_KEY]
    return data
