"""A scripted agent: a real MCP client over stdio, with every token it sends or is shown counted."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from mcp_offload.tokens import TokenCounter

_HANDLE = re.compile(r"^([fltb][0-9]+(?:@[0-9]+)?)\b", re.MULTILINE)


class StepError(Exception):
    """The server did something else than the demonstration shows."""


@dataclass(slots=True)
class Row:
    """One line of the table; ``raw_tokens`` None where the content could not have been shown at all."""

    what: str
    raw_tokens: int | None
    seen_tokens: int


@dataclass(slots=True)
class Ledger:
    """What the agent's context holds: nothing ever leaves it, so its peak is its end."""

    counter: TokenCounter
    rows: list[Row] = field(default_factory=list[Row])
    context_tokens: int = 0
    _open: Row | None = None

    def add(self, text: str) -> None:
        """Count text that entered the context."""
        tokens = self.counter.count(text)
        self.context_tokens += tokens
        if self._open is not None:
            self._open.seen_tokens += tokens

    @contextmanager
    def row(self, what: str, raw: int | None) -> Generator[None]:
        """Book what enters the context meanwhile under ``what``; ``raw``: tokens without offloading."""
        self._open = Row(what, raw, 0)
        self.rows.append(self._open)
        try:
            yield
        finally:
            self._open = None

    @property
    def raw_tokens(self) -> int:
        """What the same work would have put into the context without offloading."""
        return sum(row.raw_tokens or 0 for row in self.rows)


@dataclass(slots=True)
class Agent:
    """Calls tools; arguments and answers are booked in the ledger."""

    client: Client
    ledger: Ledger

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return its text.

        Raises:
            StepError: the tool reported an error.
        """
        self.ledger.add(json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False))
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        self.ledger.add(text)
        if result.is_error:
            raise StepError(f"{tool} failed: {text}")
        return text

    async def introduce(self) -> None:
        """Book what a client puts into the context before the first turn: instructions and tools."""
        listed = await self.client.list_tools()
        for tool in listed.tools:
            self.ledger.add(json.dumps(tool.model_dump(by_alias=True, exclude_none=True, mode="json")))
        self.ledger.add(self.client.instructions or "")


def server(project: Path, store: Path, state: Path) -> StdioServerParameters:
    """How a client would be told to start the server for ``project``."""
    # It counts by itself what the agent sees, and compares whole texts.
    places = ["--store", str(store), "--state", str(state)]
    arguments = ["-m", "mcp_offload", *places, "serve", "--lease", "off"]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=str(project))


def first_handle(text: str) -> str:
    """The handle a reply starts with.

    Raises:
        StepError: it has none.
    """
    found = _HANDLE.search(text)
    if found is None:
        raise StepError(f"No handle in: {text[:200]}")
    return found[1]


def table(rows: list[Row]) -> Iterator[str]:
    """The rows as aligned text."""
    width = max(len(row.what) for row in rows)
    yield f"{'what':<{width}}  {'raw tokens':>10}  {'agent saw':>10}"
    for row in rows:
        raw = "-" if row.raw_tokens is None else f"{row.raw_tokens:,}"
        yield f"{row.what:<{width}}  {raw:>10}  {row.seen_tokens:>10,}"


def totals(values: Mapping[str, int]) -> Iterator[str]:
    """Named figures, one a line."""
    width = max(len(name) for name in values)
    for name, value in values.items():
        yield f"{name:<{width}}  {value:>10,}"
