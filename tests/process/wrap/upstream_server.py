"""A small MCP server with every feature, of both protocol eras, to be wrapped by tests.

``python upstream_server.py`` speaks on standard streams, ``... http PORT`` over streamable HTTP.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ListRoots, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    Completion,
    CreateMessageResult,
    EmbeddedResource,
    ImageContent,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

server = MCPServer("upstream", version="7.1", instructions="Upstream says hello.", log_level="ERROR")
PIXEL = base64.b64encode(b"\x89PNG not really").decode()


class Rows(BaseModel):
    """A structured result."""

    rows: list[dict[str, int | str]]


class Question(BaseModel):
    """What is elicited."""

    answer: str


def rows(count: int) -> list[dict[str, int | str]]:
    """Rows that differ."""
    return [{"id": n, "name": f"row number {n}", "city": f"city {n % 7}"} for n in range(count)]


@server.tool()
def echo(text: str) -> CallToolResult:
    """Give a text back."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


@server.tool()
def lines(count: int, word: str = "line") -> CallToolResult:
    """Many lines of text."""
    text = "".join(f"{word} {n} of the answer\n" for n in range(1, count + 1))
    return CallToolResult(content=[TextContent(type="text", text=text)])


@server.tool()
def table(count: int) -> Rows:
    """Rows, as text and as structured content with a schema."""
    return Rows(rows=rows(count))


@server.tool()
def leak(count: int) -> Annotated[CallToolResult, Rows]:
    """Little text and much structured content."""
    return CallToolResult(
        content=[TextContent(type="text", text=f"{count} rows")], structured_content={"rows": rows(count)}
    )


@server.tool()
def read_source(path: str) -> CallToolResult:
    """The text of a file."""
    return CallToolResult(content=[TextContent(type="text", text=Path(path).read_text(encoding="utf-8"))])


@server.tool()
def mixed(count: int) -> CallToolResult:
    """Text, a picture, an embedded text and an embedded blob."""
    text = "\n".join(f"{n}: something was found" for n in range(count))
    uri = "file:///w/notes.md"
    note = TextResourceContents(uri=uri, mime_type="text/markdown", text=f"# Notes\n\n{text}\n")
    blob = BlobResourceContents(uri="file:///w/data.bin", blob=base64.b64encode(bytes(range(256))).decode())
    return CallToolResult(
        content=[
            TextContent(type="text", text=text),
            ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            EmbeddedResource(type="resource", resource=note),
            EmbeddedResource(type="resource", resource=blob),
        ]
    )


@server.tool()
def many(count: int) -> CallToolResult:
    """Many blocks."""
    blocks: list[Any] = [TextContent(type="text", text=f"block {n} with some words") for n in range(count)]
    return CallToolResult(content=blocks)


@server.tool()
def fail(count: int) -> str:
    """An error with a long text."""
    raise ToolError("\n".join(f"error {n}: it did not work" for n in range(count)))


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Progress, then the end."""
    for n in range(1, count + 1):
        await ctx.report_progress(n, count, f"step {n}")
    return "done"


def mark(path: str, word: str) -> None:
    """Leave a sign for the test."""
    Path(path).write_text(word, encoding="utf-8")


@server.tool()
async def wait(marker: str) -> str:
    """Wait for ever; say in a file that it began, and in another that it was cancelled."""
    mark(marker, "began")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        mark(marker + ".cancelled", "yes")
        raise
    return "never"


def put_question(question: str) -> Elicit[Question]:
    """For a person."""
    return Elicit(question, Question)


def put_to_model(question: str) -> Sample:
    """For the client's model."""
    content = TextContent(type="text", text=question)
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=20)


@server.tool()
def ask(question: str, said: Annotated[Question, Resolve(put_question)]) -> str:
    """Ask the person in front of the client."""
    return f"they say {said.answer}"


@server.tool()
def think(question: str, said: Annotated[CreateMessageResult, Resolve(put_to_model)]) -> str:
    """Ask the client's model, and where the client works."""
    assert isinstance(said.content, TextContent)
    return f"it says {said.content.text}"


def where() -> ListRoots:
    """For the client's folders."""
    return ListRoots()


@server.tool()
def folders(found: Annotated[ListRootsResult, Resolve(where)]) -> str:
    """The client's folders."""
    return " ".join(str(root.uri) for root in found.roots)


@server.tool()
def crash(code: int = 3) -> str:
    """End at once."""
    sys.stderr.write("last words of the upstream\n")
    sys.stderr.flush()
    os._exit(code)


@server.tool()
def pid() -> str:
    """The process that answers."""
    return str(os.getpid())


@server.tool()
def child() -> str:
    """Start a process that outlives its parent if nobody ends it."""
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return str(process.pid)


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool and say so."""
    server.add_tool(echo, name="echo_again")
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.resource("upstream://fixed")
def fixed() -> str:
    """A fixed resource."""
    return "fixed " * 3_000


@server.resource("upstream://item/{name}")
def item(name: str) -> str:
    """A resource of a template."""
    return f"item {name}"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"Greet {name}."


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    """Completions."""
    return Completion(values=[f"{argument.value}-{n}" for n in range(3)], total=3, has_more=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        if os.environ.get("UPSTREAM_SLOW_START"):
            time.sleep(float(os.environ["UPSTREAM_SLOW_START"]))
        server.run()
