"""The context lease over MCP: what is counted, how answers shrink, and where a hard lease ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent, TextResourceContents

from mcp_offload.models import LeaseResult
from mcp_offload.server.build import create_server, standing_texts
from mcp_offload.server.snapshot import SNAPSHOT_PATH
from mcp_offload.service import OffloadService, open_service
from mcp_offload.settings import LeaseSettings, Settings
from mcp_offload.tokens import TokenCounter
from mcp_offload.wire.caller import LEASE_META_KEY
from mcp_offload.wire.canned import load_snapshot
from mcp_offload.wire.desk import REFUSAL, listed_text
from tests.interaction.harness import MODES, Mode, call, settings_in, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

SESSION = "session:test"
METHODS = 60
#: One class of many methods, each long enough that the class is no short text.
SOURCE = "class Big:\n" + "".join(
    f'    def method_{n}(self):\n        """Do the work of number {n}."""\n'
    f"        return sum(range({n}, {n} + 1000)) * self.rate_of_{n}\n\n"
    for n in range(METHODS)
)


def leased(folder: Path, mode: str, **lease: Any) -> Settings:
    """Settings of a session with a lease, and the source in its root."""
    settings = settings_in(
        folder,
        lease=LeaseSettings(mode=mode, **lease),
        identity=SESSION,  # type: ignore[arg-type]
    )
    (folder / "work" / "big.py").write_text(SOURCE)
    return settings


@asynccontextmanager
async def serving(settings: Settings, mode: Mode) -> AsyncIterator[tuple[Client, OffloadService]]:
    """A client, and the service behind its server."""
    with open_service(settings) as service:
        async with Client(create_server(service, settings), mode=mode) as client:
            yield client, service


def state_of(service: OffloadService, session: str = SESSION) -> LeaseResult:
    lease = service.leases.known(session)
    assert lease is not None
    return lease.show()


async def call_structured(client: Client) -> str:
    """The text of one structured answer that is no error."""
    result = await client.call_tool("read_handle", {"handles": ["big.py#Big.method_3"]})
    assert isinstance(result, CallToolResult)
    assert not result.is_error
    assert isinstance(result.structured_content, dict)
    return only(result)


def tokens_of(text: str) -> int:
    return TokenCounter().count(text)


async def test_everything_sent_is_counted_exactly_once(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    async with serving(settings, mode) as (client, service):
        await client.list_tools()
        read = await call(client, "read_handle", handles=["big.py#Big.method_3"])
        failed = await client.call_tool("read_handle", {"handles": ["f99"]})
        unknown = await client.call_tool("no_such_tool", {})
        prompt = await client.get_prompt("triage_run", {"handle": "l1"})
        page = await client.read_resource("offload://here/handles")
        told = state_of(service)
    errors = [only(failed), only(unknown)]
    snapshot = load_snapshot(SNAPSHOT_PATH.read_bytes(), "all")
    listed = snapshot.lists["tools/list"]["2025-11-25" if mode == "legacy" else mode]
    # Only a handshake greets; a client of the other era asks for the greeting where it wants it.
    greeting = {"instructions": tokens_of(standing_texts(settings)[0])} if mode == "legacy" else {}
    assert isinstance(prompt.messages[0].content, TextContent)
    assert isinstance(page.contents[0], TextResourceContents)
    assert told.delivered == {
        **greeting,
        "definitions": tokens_of(listed_text(listed)),
        "result": tokens_of(read),
        "error": sum(map(tokens_of, errors)),
        "prompt": tokens_of(prompt.messages[0].content.text),
        "resource": tokens_of(page.contents[0].text),
    }


def only(result: object) -> str:
    assert isinstance(result, CallToolResult)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_answers_shrink_to_heads_then_cards_and_short_texts_stay(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    async with serving(settings, mode) as (client, service):
        full = await call(client, "read_handle", handles=["big.py#Big"])
        assert "return sum(range(0, 0 + 1000))" in full
        assert "[lease" not in full
        use_up(service, 8_000)
        head = await call(client, "read_handle", handles=["big.py#Big", "big.py"])
        assert "return sum" not in head
        assert "f1#Big.method_3 m" in head
        assert "... f1#Big " in head
        assert head.endswith("name a symbol or a few lines, or set max_tokens]")
        assert tokens_of(head) <= 640
        use_up(service, 10_500)
        card = await call(client, "read_handle", handles=["big.py#Big"])
        assert card.startswith("f1#Big c L1-")
        assert "method_3" not in card
        assert "... f1#Big " in card
        assert tokens_of(card) <= 240
        short = await call(client, "read_handle", handles=["f1#Big.method_3"])
        assert "return sum(range(3, 3 + 1000))" in short
        insisted = await call(client, "read_handle", handles=["f1#Big"], max_tokens=4_000)
        assert "return sum(range(40, 40 + 1000))" in insisted


def use_up(service: OffloadService, tokens: int, mode: str = "advisory") -> None:
    """Charge the session until so many tokens of its lease are used."""
    from mcp_offload.lease import Delivery

    lease = service.leases.of(SESSION)
    more = tokens - lease.show().charged_tokens
    assert more > 0
    assert lease.deliver(Delivery("result", more, "filler"))


async def test_a_hard_lease_refuses_with_one_line_that_is_no_error(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "hard")
    async with serving(settings, mode) as (client, service):
        await call(client, "store_artifact", source="big.py")
        use_up(service, 10_600)
        for _ in range(2):
            refused = await client.call_tool("read_handle", {"handles": ["f1#Big"], "max_tokens": 5_000})
            assert tokens_of(text_of(refused)) <= 240
        while text_of(refused) != REFUSAL:
            refused = await client.call_tool("read_handle", {"handles": ["f1#Big.method_3"]})
        assert tokens_of(REFUSAL) < 30
        unknown = await client.call_tool("no_such_tool", {})
        assert text_of(unknown) == REFUSAL
        freed = await call(client, "context_lease", event="compacted")
        assert "left; answers come in full" in freed
        assert "return sum" in await call(client, "read_handle", handles=["f1#Big.method_3"])
        assert state_of(service).refusals >= 2


async def test_a_hard_lease_holds_whatever_is_asked(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "hard", limit_tokens=9_000)
    standing = sum(map(tokens_of, standing_texts(settings)))
    delivered = refusals = 0
    async with serving(settings, mode) as (client, service):
        await client.list_tools()
        asked: list[tuple[str, dict[str, Any]]] = [
            ("read_handle", {"handles": ["big.py"], "max_tokens": 900}),
            ("search_handles", {"pattern": "return"}),
            ("outline_handle", {"handle": "f1"}),
            ("read_handle", {"handles": ["f1#Big.method_7", "f1#Nothing"]}),
            ("store_artifact", {"content": "x = 1\n", "name": "x.py"}),
            ("diff_handles", {"before": "f1", "after": "f2"}),
            ("list_artifacts", {}),
        ]
        for number in range(42):
            tool, arguments = asked[number % len(asked)]
            result = await client.call_tool(tool, arguments)
            text = only(result)
            if text == REFUSAL:
                refusals += 1
            else:
                delivered += tokens_of(text)
            assert delivered + standing <= 3_000
        assert refusals > 0
        told = state_of(service)
    assert told.refusals == refusals
    assert told.delivered["result"] + told.delivered.get("error", 0) == delivered


async def test_a_text_that_is_still_held_is_referred_to_and_only_then(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    asked = {"handles": ["big.py#Big.method_3"]}

    def confirming(*handles: str) -> Any:
        return {LEASE_META_KEY: {"holds": list(handles)}}

    async with serving(settings, mode) as (client, _):
        other = await client.call_tool("read_handle", asked, meta=confirming("f1#Big.method_3"))
        assert "return sum" in text_of(other)
        again = await client.call_tool("read_handle", asked)
        assert "return sum" in text_of(again)
        held = text_of(await client.call_tool("read_handle", asked, meta=confirming("f1#Big.method_3")))
        assert held.startswith("f1#Big.method_3 m L")
        assert held.endswith("[unchanged, in your context]")
        meta = {LEASE_META_KEY: {"event": "compacted", "holds": ["f1#Big.method_3"]}}
        gone = await client.call_tool("read_handle", asked, meta=meta)
        assert "return sum" in text_of(gone)
        (tmp_path / "work" / "big.py").write_text(SOURCE.replace("rate_of_3\n", "rate_of_33\n"))
        changed = await client.call_tool("read_handle", asked, meta=confirming("f1#Big.method_3"))
        assert "rate_of_33" in text_of(changed)


async def test_another_sessions_reads_are_never_referred_to(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    asked = {"handles": ["big.py#Big.method_3"]}
    async with serving(settings, mode) as (client, service):
        await client.call_tool("read_handle", asked)
        meta: Any = {LEASE_META_KEY: {"session": "other", "holds": ["f1#Big.method_3"]}}
        theirs = await client.call_tool("read_handle", asked, meta=meta)
        assert "return sum" in text_of(theirs)
        assert state_of(service, "session:other").delivered["result"] == tokens_of(text_of(theirs))


async def test_a_request_may_report_and_is_told_the_lease(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    meta: Any = {LEASE_META_KEY: {"context_tokens": 15_000}}
    async with serving(settings, mode) as (client, _):
        result = await client.call_tool("list_artifacts", {}, meta=meta)
        assert isinstance(result, CallToolResult)
        assert result.meta is not None
        told = result.meta[LEASE_META_KEY]
        assert (told["context_tokens"], told["context_source"]) == (15_000, "client")
        assert 2_900 < told["left_tokens"] <= 3_000
        wrong: Any = {LEASE_META_KEY: {"size": 3}}
        refused = await client.call_tool("list_artifacts", {}, meta=wrong)
        assert isinstance(refused, CallToolResult)
        assert refused.is_error


async def test_a_sub_agent_is_charged_to_its_own_share(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "hard")
    start: Any = {LEASE_META_KEY: {"agent_started": "reviewer", "share_tokens": 400}}
    asked = {"handles": ["big.py#Big"]}
    async with serving(settings, mode) as (client, service):
        await client.call_tool("list_artifacts", {}, meta=start)
        before = state_of(service)
        assert before.agents == {"reviewer": 400}
        own: Any = {LEASE_META_KEY: {"agent": "reviewer"}}
        texts = [only(await client.call_tool("read_handle", asked, meta=own)) for _ in range(4)]
        assert texts[-1] == REFUSAL
        assert sum(tokens_of(text) for text in texts if text != REFUSAL) <= 400
        assert state_of(service).charged_tokens == before.charged_tokens
        end: Any = {LEASE_META_KEY: {"agent_ended": "reviewer"}}
        await client.call_tool("list_artifacts", {}, meta=end)
        assert state_of(service).agents == {}


async def test_stats_tell_what_was_delivered_and_kept_out(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    (tmp_path / "work" / "data.bin").write_bytes(bytes(range(256)) * 200)
    whole = tokens_of(SOURCE)
    async with serving(settings, mode) as (client, service):
        stored = await call(client, "store_artifact", source="big.py")
        read = await call(client, "read_handle", handles=["f1#Big.method_3"])
        again = await call(client, "read_handle", handles=["f1#Big.method_3"])
        await call(client, "store_artifact", source="data.bin")
        await call(client, "store_artifact", content="a note of mine\n", name="note.txt")
        stats = service.stats().delivered
        page = await client.read_resource("offload://here/stats")
    told = {one.handle: one for one in stats.artifacts}
    spent = sum(map(tokens_of, (stored, read, again)))
    assert (told["f1"].inline_tokens, told["f1"].delivered_tokens) == (whole, spent)
    assert told["f1"].kept_out_tokens == whole - spent
    assert told["b2"].inline_tokens == 0
    assert set(told) == {"f1", "b2"}
    assert stats.inline_tokens == whole
    assert stats.kept_out_tokens == whole - stats.delivered_tokens
    tools = {one.tool: one for one in stats.tools}
    assert (tools["read_handle"].calls, tools["read_handle"].kept_out_tokens) == (
        2,
        -tokens_of(read) - tokens_of(again),
    )
    assert isinstance(page.contents[0], TextResourceContents)
    assert "delivered by this server: " in page.contents[0].text


async def test_a_structured_refusal_is_ordinary_too_and_fits_its_schema(tmp_path: Path, mode: Mode) -> None:
    settings = replace(leased(tmp_path, "hard", limit_tokens=9_500, reserve_tokens=0), structured=True)
    async with serving(settings, mode) as (client, service):
        await client.list_tools()  # so that the client checks what comes against the schemas
        texts = [await call_structured(client) for _ in range(100)]
        told = state_of(service)
    assert json.loads(texts[-1]) == {"refused": REFUSAL}
    assert [text for text in texts if "refused" not in json.loads(text)]
    assert told.refusals == texts.count(texts[-1])
    assert told.charged_tokens <= told.lease_tokens


@pytest.mark.parametrize("name", ["rows.json", "odd #1.json"])
async def test_a_query_on_a_path_counts_the_file_it_asks(tmp_path: Path, mode: Mode, name: str) -> None:
    settings = leased(tmp_path, "advisory")
    text = json.dumps([{"id": n, "name": f"row {n}"} for n in range(400)])
    (tmp_path / "work" / name).write_text(text)
    handle = f"`{name}`" if "#" in name else name
    async with serving(settings, mode) as (client, service):
        for query in ("$[*].name", "fields id, name | limit 3"):
            await call(client, "read_handle", handles=[f"{handle}#?{query}"], max_tokens=200)
        stats = service.stats().delivered
    assert stats.inline_tokens == tokens_of(text)
    assert [one.name for one in stats.artifacts if one.inline_tokens] == [name]


async def test_rows_of_a_query_count_what_they_were_taken_from_and_once(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path, "advisory")
    text = json.dumps([{"id": n, "name": f"row {n}"} for n in range(400)])
    (tmp_path / "work" / "rows.json").write_text(text)
    async with serving(settings, mode) as (client, service):
        await call(client, "store_artifact", source="rows.json")
        for query in ("$[*].name", "count", "$[?@.id > 390]"):
            await call(client, "read_handle", handles=[f"f1#?{query}"], max_tokens=200)
        stats = service.stats().delivered
    assert stats.inline_tokens == tokens_of(text)
    assert {one.handle for one in stats.artifacts if one.inline_tokens} == {"f1"}
