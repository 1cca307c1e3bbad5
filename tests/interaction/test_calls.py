"""How calls are answered: shapes, budgets, errors, in both eras."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS

from mcp_offload.server.build import assemble
from mcp_offload.settings import Settings
from mcp_offload.tokens import TokenCounter
from mcp_offload.tools.catalog import listed_tools
from mcp_offload.wire.errors import INTERNAL_TEXT
from mcp_offload.wire.reply import JSON_META_KEY
from tests.interaction.harness import (
    INVOICE,
    MODES,
    Mode,
    call,
    call_json,
    connected,
    error_of,
    fail,
    settings_in,
    text_of,
)
from tests.interaction.requirements import covers

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

COUNT = TokenCounter().count


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path)
    work = Path(settings.base_dir)
    (work / "billing.py").write_text(INVOICE, encoding="utf-8")
    (work / "big.log").write_text("".join(f"line {n} of the log\n" for n in range(20_000)), encoding="utf-8")
    return settings


@covers("tools-list")
@pytest.mark.parametrize("profile", ["default", "all"])
async def test_the_profiles_tools_are_listed(settings: Settings, mode: Mode, profile: Any) -> None:
    chosen = settings_in(Path(settings.store_dir).parent, tools=profile)
    async with connected(chosen, mode) as client:
        listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == [tool.name for tool in listed_tools(profile)]
    assert listed.next_cursor is None


@covers("tools-cursor")
async def test_an_invented_cursor_is_refused(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="2")
    assert caught.value.code == INVALID_PARAMS


@covers("tools-unknown", "tools-named-exist")
async def test_a_tool_of_another_profile_is_refused_by_naming_those_there_are(
    settings: Settings, mode: Mode
) -> None:
    narrow = settings_in(Path(settings.store_dir).parent, tools="default")
    async with connected(narrow, mode) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        for name in ("list_artifacts", "no_such_tool", "x" * 5_000):
            told = error_of(await client.call_tool(name, {}))
            assert all(tool in told for tool in listed)
            assert len(told) < 400


@covers("tools-arguments")
async def test_unknown_arguments_are_refused(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        told = await fail(client, "outline_handle", handle="billing.py", depth=2)
    assert told == "Unknown: depth. Allowed: handle, max_tokens."


@covers("tools-slips")
async def test_a_string_for_a_list_and_numbers_as_strings_are_accepted(
    settings: Settings, mode: Mode
) -> None:
    async with connected(settings, mode) as client:
        exact = await call(client, "read_handle", handles=["billing.py#report"], max_tokens=500)
        assert await call(client, "read_handle", handles="billing.py#report", max_tokens="500") == exact


@covers("reply-budget")
@pytest.mark.parametrize("max_tokens", [None, 60, 300, 3_000])
async def test_no_reply_exceeds_its_budget(settings: Settings, mode: Mode, max_tokens: int | None) -> None:
    limits = {} if max_tokens is None else {"max_tokens": max_tokens}
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="big.log")
        replies = [
            await call(client, "read_handle", handles=["l1"], **limits),
            await call(client, "search_handles", pattern="line", **limits),
            await call(client, "outline_handle", handle="l1", **limits),
        ]
    for reply in replies:
        assert COUNT(reply) <= (max_tokens or settings.max_tokens)
        assert len(reply.encode()) <= settings.max_reply_bytes
        assert re.search(r"^\.\.\. .*\bl1\b", reply, re.M), reply


@covers("reply-budget")
async def test_reading_on_by_the_marker_gives_every_line(settings: Settings, mode: Mode) -> None:
    seen: list[str] = []
    handle = "big.log"
    async with connected(settings, mode) as client:
        for _ in range(3):
            lines = (await call(client, "read_handle", handles=[handle])).split("\n")
            seen += lines[1:-1]
            handle = lines[-1].split()[1]
    assert seen == [f"line {n} of the log" for n in range(len(seen))]
    assert len(seen) > 300


@covers("reply-visible")
async def test_control_sequences_are_made_visible(settings: Settings, mode: Mode) -> None:
    raw = "\x1b[31mred\x1b[0m \u202egnp\u202c bell\x07\n"
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", content=raw, name="c.log", kind="log")
        text = await call(client, "read_handle", handles=["l1"])
        assert "␛[31mred␛[0m \\u202egnp\\u202c bell␇" in text
        told = await fail(client, "read_handle", handles=["no\x1b[2Jfile.py"])
        assert "\x1b" not in told


@covers("reply-visible")
@pytest.mark.parametrize("max_tokens", [200, 500, 2_000, 10_000])
async def test_hidden_characters_do_not_break_the_budget_nor_the_marker(
    settings: Settings, mode: Mode, max_tokens: int
) -> None:
    raw = "\x1b[31m\u202e\u2066x\u2069\n" * 5_000
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", content=raw, name="c.log", kind="log")
        text = await call(client, "read_handle", handles=["l1"], max_tokens=max_tokens)
    assert COUNT(text) <= max_tokens
    assert len(text.encode()) <= settings.max_reply_bytes
    *_, last = text.split("\n")
    shown = text.count("␛")
    assert re.match(rf"\.\.\. l1#L{shown + 1}-5000 ", last)


@covers("reply-json", "reply-text")
async def test_json_comes_only_when_asked_for(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        plain = await client.call_tool("store_artifact", {"source": "billing.py"})
        assert JSON_META_KEY not in (plain.meta or {})
        stored = await call_json(client, "store_artifact", source="billing.py")
        assert (stored["handle"], stored["name"], stored["new"]) == ("f1", "billing.py", False)
        read = await call_json(client, "read_handle", handles=["f1#report"])
        assert read["text"].startswith("def report(")
        both = await call_json(client, "read_handle", handles=["f1#report", "f1#Invoice"])
        assert len(both["reads"]) == 2
        failed = await call_json(client, "read_handle", handles=["f1#nope"])
        assert failed["error"]["type"] == "symbol_not_found"


@covers("error-tool")
@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_handle", {"handles": ["f99"]}, ["99"]),
        ("read_handle", {"handles": ["f1#Invoice.totl"]}, ["f1#Invoice.total"]),
        ("read_handle", {"handles": ["f1#L9000-9001"]}, []),
        ("store_artifact", {"source": "missing.py"}, ["missing.py"]),
        ("store_artifact", {"source": "/etc/passwd"}, []),
        ("store_artifact", {"source": "../../etc/passwd"}, []),
        ("store_artifact", {}, ["source"]),
        ("search_handles", {"pattern": "(?=x)"}, []),
        ("diff_handles", {"before": "f1@9"}, []),
    ],
)
async def test_a_failing_tool_says_what_happened_and_shows_no_inside(
    settings: Settings, mode: Mode, tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        told = await fail(client, tool, **arguments)
    assert [word for word in words if word not in told] == []
    assert 10 < len(told) < 600
    for inside in ("Traceback", "Error(", 'File "', "pydantic", "Errno"):
        assert inside not in told


@covers("error-defect")
async def test_a_defect_costs_one_call(
    settings: Settings, mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Any:
        raise ZeroDivisionError("SECRET inside")

    async with Client(assemble(broken, settings).server, mode=mode) as client:
        with caplog.at_level(logging.ERROR):
            told = error_of(await client.call_tool("outline_handle", {"handle": "f1"}))
        assert told == INTERNAL_TEXT
        assert "SECRET inside" in caplog.text
        assert (await client.list_tools()).tools


@covers("error-tool")
async def test_a_store_that_cannot_be_opened_is_told_on_each_call(
    settings: Settings, mode: Mode, tmp_path: Path
) -> None:
    from mcp_offload.service import open_service
    from mcp_offload.wire.lazy import LazyService

    link = tmp_path / "linked"
    link.symlink_to(tmp_path)
    unsafe = settings_in(tmp_path, store_dir=str(link))
    lazy = LazyService(lambda: open_service(unsafe))
    async with Client(assemble(lazy.get, unsafe).server, mode=mode) as client:
        first = error_of(await client.call_tool("outline_handle", {"handle": "billing.py"}))
        assert first == error_of(await client.call_tool("outline_handle", {"handle": "billing.py"}))
        link.unlink()
        link.mkdir(mode=0o700)
        assert "f1#report" in text_of(await client.call_tool("outline_handle", {"handle": "billing.py"}))
    lazy.close()


@covers("tools-named-exist")
async def test_every_tool_that_a_text_names_is_listed(settings: Settings, mode: Mode) -> None:
    texts: list[str] = []
    async with connected(settings, mode) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        for tool, arguments in (
            ("store_artifact", {"source": "."}),
            ("outline_handle", {"handle": "."}),
            ("outline_handle", {"handle": "big.log", "max_tokens": 60}),
            ("read_handle", {"handles": ["big.log"]}),
            ("read_handle", {"handles": ["f77"]}),
            ("search_handles", {"pattern": "line"}),
            ("search_handles", {"pattern": "("}),
            ("edit_handle", {"handle": "f77", "text": ""}),
            ("release_handles", {"handles": ["billing.py"]}),
            ("read_handle", {"handles": ["f1"]}),
        ):
            result = await client.call_tool(tool, arguments)
            texts.append(error_of(result) if result.is_error else text_of(result))
    named = {word for text in texts for word in re.findall(r"\b[a-z]+_(?:artifacts?|handles?)\b", text)}
    assert named <= listed
