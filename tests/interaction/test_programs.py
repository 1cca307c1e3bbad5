"""What programs ask for: structured results, links, sessions that go on in other processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, ResourceLink, TextContent, TextResourceContents

from mcp_offload.settings import Settings
from tests.interaction.harness import INVOICE, MODES, Mode, call, connected, fail, settings_in
from tests.interaction.requirements import covers

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("store_artifact", {"source": "billing.py"}),
    ("store_artifact", {"source": "."}),
    ("store_artifact", {"source": "odd.log"}),
    ("outline_handle", {"handle": "billing.py"}),
    ("outline_handle", {"handle": "."}),
    ("read_handle", {"handles": ["billing.py#report"]}),
    ("read_handle", {"handles": ["billing.py#report", "odd.log"]}),
    ("search_handles", {"pattern": "total"}),
    ("search_handles", {"pattern": "total", "symbols": True}),
    ("diff_handles", {"before": "billing.py"}),
    ("edit_handle", {"handle": "billing.py#report", "text": "def report():\n    return 1", "write": False}),
    ("export_handle", {"handle": "billing.py", "path": "out.py"}),
    ("list_artifacts", {}),
    ("release_handles", {"handles": ["billing.py"]}),
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path)
    work = Path(settings.base_dir)
    (work / "billing.py").write_text(INVOICE, encoding="utf-8")
    (work / "odd.log").write_bytes("größe\r\n".encode() * 20 + b"\x1b[31m\xff\r\nError: \xe2\x80\xae\n")
    return settings


def _changed(settings: Settings, **changes: Any) -> Settings:
    return settings_in(Path(settings.store_dir).parent, **changes)


async def _result(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return result


@covers("structured")
async def test_the_text_is_exactly_the_json_of_the_structured_content(settings: Settings, mode: Mode) -> None:
    async with connected(_changed(settings, structured=True), mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert all(tool.output_schema for tool in listed.values())
        for tool, arguments in CALLS:
            # The client checks each result against the tool's schema.
            result = await _result(client, tool, **arguments)
            assert not result.is_error, result
            (block,) = result.content
            assert isinstance(block, TextContent)
            compact = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
            assert block.text == compact, tool


@covers("structured")
async def test_a_structured_reading_keeps_to_its_budget_and_errors_stay_text(
    settings: Settings, mode: Mode
) -> None:
    log = Path(settings.base_dir) / "big.log"
    log.write_text("".join(f'"quoted" \\ line {n}\n' for n in range(20_000)), encoding="utf-8")
    async with connected(_changed(settings, structured=True), mode) as client:
        result = await _result(client, "read_handle", handles=["big.log"], max_tokens=500)
        assert isinstance(result.content[0], TextContent)
        assert len(result.content[0].text) < 4_000
        assert result.structured_content["rest"]["handle"].startswith("l")
        told = await fail(client, "read_handle", handles=["f99"])
        assert "99" in told


@covers("resource-links")
async def test_links_follow_the_text_and_can_be_read(settings: Settings, mode: Mode) -> None:
    async with connected(_changed(settings, resource_links=True), mode) as client:
        result = await _result(client, "store_artifact", source="billing.py")
        text, link = result.content
        assert isinstance(text, TextContent)
        assert isinstance(link, ResourceLink)
        assert "f1" in text.text
        (contents,) = (await client.read_resource(link.uri)).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == INVOICE
        assert (link.size, link.mime_type) == (len(INVOICE.encode()), contents.mime_type)


@covers("session")
async def test_a_named_session_remembers_what_it_was_shown(settings: Settings, mode: Mode) -> None:
    source = Path(settings.base_dir) / "billing.py"
    named = _changed(settings, session="one")
    async with connected(named, mode) as client:
        await call(client, "read_handle", handles=["billing.py#report"])
    source.write_text(INVOICE.replace("A line for", "One line for"), encoding="utf-8")
    async with connected(named, mode) as client:
        assert "changed" in await call(client, "read_handle", handles=["f1#report"])
    source.write_text(INVOICE.replace("A line for", "Two lines for"), encoding="utf-8")
    async with connected(_changed(settings, session="two"), mode) as client:
        assert "changed" not in await call(client, "read_handle", handles=["f1#report"])
