"""Every feature of a server, with the official client: wrapped and not, in both eras, it is the same."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)

from tests.process.stdio.rig import PATIENCE_SECONDS
from tests.process.wrap.wrapped import HERE, ROOT, UPSTREAM, wrap_command

pytestmark = [pytest.mark.process, pytest.mark.anyio, pytest.mark.timeout(180)]

MODES = ["legacy", "2026-07-28"]
Command = Callable[[Path], list[str]]


@contextmanager
def served_over_http() -> Iterator[str]:
    """The URL of a server that speaks HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(HERE / "upstream_server.py"), "http", str(port)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            with anyio.from_thread.start_blocking_portal() as portal:
                portal.call(_reachable, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


async def _reachable(port: int) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                await anyio.lowlevel.checkpoint()
                continue
            await stream.aclose()
            return


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server over HTTP, for all tests that leave it alive."""
    with served_over_http() as address:
        yield address


@pytest.fixture(params=["direct", "wrapped", "wrapped-url"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """What a client starts: the server itself, the server wrapped, and one wrapped by its URL."""
    if request.param == "direct":
        return UPSTREAM
    if request.param == "wrapped":
        return wrap_command(tmp_path, server=UPSTREAM)
    address: str = request.getfixturevalue("url")
    return wrap_command(tmp_path, "--url", address)


@asynccontextmanager
async def connected(command: list[str], mode: str, **options: Any) -> AsyncIterator[Client]:
    """A client of what ``command`` starts."""
    parameters = StdioServerParameters(
        command=command[0], args=command[1:], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    async with Client(parameters, mode=mode, **options) as client:  # type: ignore[arg-type]
        yield client


def text_of(result: Any) -> str:
    """The text of a result's first block."""
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("mode", MODES)
async def test_tools_resources_prompts_and_completions(command: list[str], mode: str) -> None:
    async with connected(command, mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:4] == ["echo", "lines", "table", "leak"]
        assert text_of(await client.call_tool("echo", {"text": "hi"})) == "hi"
        small = await client.call_tool("table", {"count": 2})
        assert small.structured_content == {
            "rows": [
                {"id": 0, "name": "row number 0", "city": "city 0"},
                {"id": 1, "name": "row number 1", "city": "city 1"},
            ]
        }
        refused = await client.call_tool("fail", {"count": 1})
        assert refused.is_error
        assert text_of(refused) == "Error executing tool fail: error 0: it did not work"
        assert [str(one.uri) for one in (await client.list_resources()).resources] == ["upstream://fixed"]
        contents = (await client.read_resource("upstream://item/a%20b")).contents[0]
        assert isinstance(contents, TextResourceContents)
        assert contents.text == "item a b"
        # What a client asked for by name is its own business, whatever its size.
        fixed = (await client.read_resource("upstream://fixed")).contents[0]
        assert isinstance(fixed, TextResourceContents)
        assert fixed.text == "fixed " * 3_000
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["upstream://item/{name}"]
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert prompt.messages[0].content == TextContent(type="text", text="Greet Ada.")
        for ref in (
            PromptReference(name="greet"),
            ResourceTemplateReference(uri="upstream://item/{name}"),
        ):
            completed = await client.complete(ref, {"name": "name", "value": "x"})
            assert completed.completion.values == ["x-0", "x-1", "x-2"]


@pytest.mark.parametrize("mode", MODES)
async def test_progress_arrives_in_order_before_the_result(command: list[str], mode: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async with connected(command, mode) as client:
        result = await client.call_tool("steps", {"count": 3}, progress_callback=note)
    assert text_of(result) == "done"
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def _person(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"answer": f"blue, not {params.message}"})


async def _model(context: Any, params: Any) -> CreateMessageResult:
    words = params.messages[0].content.text.upper()
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text=words), model="m")


async def _roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///here"), Root(uri="file:///there")])


@pytest.mark.parametrize("mode", MODES)
async def test_questions_go_to_the_client_and_its_answers_back(command: list[str], mode: str) -> None:
    answers = {"elicitation_callback": _person, "sampling_callback": _model, "list_roots_callback": _roots}
    async with connected(command, mode, **answers) as client:
        asked = await client.call_tool("ask", {"question": "red"})
        assert text_of(asked) == "they say blue, not red"
        assert text_of(await client.call_tool("think", {"question": "why"})) == "it says WHY"
        assert text_of(await client.call_tool("folders")) == "file:///here file:///there"


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancellation_reaches_the_server(command: list[str], mode: str, tmp_path: Path) -> None:
    marker = anyio.Path(tmp_path / "marker")
    async with connected(command, mode) as client, anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def call() -> None:
            with scope:
                await client.call_tool("wait", {"marker": str(marker)})

        tasks.start_soon(call)
        await _appears(marker)
        scope.cancel()
        await _appears(anyio.Path(f"{marker}.cancelled"))
        assert text_of(await client.call_tool("echo", {"text": "on"})) == "on"


async def _appears(path: anyio.Path) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while not await path.exists():
            await anyio.lowlevel.checkpoint()


async def test_changes_of_the_list_are_told(command: list[str]) -> None:
    changed = anyio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    async with connected(command, "legacy", message_handler=hear) as client:
        assert text_of(await client.call_tool("grow")) == "grown"
        with anyio.fail_after(PATIENCE_SECONDS):
            await changed.wait()
        assert "echo_again" in [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", MODES)
async def test_large_results_are_replaced_whatever_they_are_made_of(mode: str, tmp_path: Path) -> None:
    """The client checks structured content against a schema where one is listed: none of these fails it."""
    command = wrap_command(tmp_path, server=UPSTREAM)
    async with connected(command, mode) as client:
        await client.list_tools()
        leak = await client.call_tool("leak", {"count": 900})
        assert leak.structured_content is None
        assert [text_of(leak), len(leak.content)] == ["900 rows", 2]
        assert "leak/structured.json" in leak.model_dump_json()
        twice = await client.call_tool("table", {"count": 500})
        # The same rows as text and as structured content are one artifact.
        assert text_of(twice).count("table") == 1
        assert len(twice.model_dump_json()) < 4_000
        mixed = await client.call_tool("mixed", {"count": 500})
        assert [block.type for block in mixed.content] == ["text", "image"]
        assert "mixed.log 500L" in text_of(mixed)
        assert "mixed/notes.md markdown" in text_of(mixed)
        assert "mixed/data.bin binary 256 B" in text_of(mixed)
        failed = await client.call_tool("fail", {"count": 900})
        assert failed.is_error
        assert text_of(failed).startswith("Stored, not shown")
        source = await client.call_tool("read_source", {"path": str(HERE / "upstream_server.py")})
        assert text_of(source) != ""
        many = await client.call_tool("many", {"count": 900})
        assert "many/content.json json" in text_of(many)


async def test_a_source_file_is_answered_by_its_outline(tmp_path: Path) -> None:
    path = tmp_path / "shapes.py"
    path.write_text(
        "".join(f"class Shape{n}:\n    def area(self):\n        return {n}\n\n\n" for n in range(300)),
        encoding="utf-8",
    )
    async with connected(wrap_command(tmp_path, server=UPSTREAM), "legacy") as client:
        reply = text_of(await client.call_tool("read_source", {"path": str(path)}))
        assert "f1 read_source/shapes.py python 1500L" in reply
        assert "f1#Shape0 c L1-3" in reply


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_by_url_that_goes_away_is_that_call_s_error(mode: str, tmp_path: Path) -> None:
    with served_over_http() as address:
        command = wrap_command(tmp_path, "--url", address)
        async with connected(command, mode) as client:
            await client.list_tools()
            assert text_of(await client.call_tool("echo", {"text": "hi"})) == "hi"
            gone = await client.call_tool("crash")
            assert gone.is_error
            assert "so whether it did anything is unknown" in text_of(gone)
            again = await client.call_tool("echo", {"text": "hi"})
            assert again.is_error
            assert "could not be reached" in text_of(again)
