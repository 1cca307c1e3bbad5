"""Resources, prompts and completions through the SDK's client, in both eras."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from mcp_offload.settings import Settings
from mcp_offload.wire.resource_uri import URI_TEMPLATE, workspace_slug
from tests.interaction.harness import INVOICE, MODES, Mode, call, connected, settings_in
from tests.interaction.requirements import covers

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path)
    work = Path(settings.base_dir)
    (work / "billing.py").write_text(INVOICE, encoding="utf-8")
    (work / "logo.png").write_bytes(PNG)
    return settings


async def _text(client: Client, uri: str) -> TextResourceContents:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.uri == uri
    return contents


async def _complete(client: Client, name: str, value: str, **known: str) -> list[str]:
    ref = ResourceTemplateReference(uri=URI_TEMPLATE)
    result = await client.complete(ref, {"name": name, "value": value}, known)
    return result.completion.values


@covers("resources-list")
async def test_lists_stay_as_they_are_whatever_is_stored(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        before = (await client.list_resources()).model_dump()
        templates = await client.list_resource_templates()
        await call(client, "store_artifact", source="billing.py")
        after = (await client.list_resources(cache_mode="bypass")).model_dump()
    assert after == before
    pages = ["offload://here/index", "offload://here/handles", "offload://here/stats"]
    assert [one["uri"] for one in after["resources"]] == pages
    assert [one.uri_template for one in templates.resource_templates] == [URI_TEMPLATE]


@covers("resources-read")
async def test_text_and_binary_content_with_its_type(settings: Settings, mode: Mode) -> None:
    slug = workspace_slug(settings.workspace)
    async with connected(settings, mode) as client:
        for path in ("billing.py", "logo.png"):
            await call(client, "store_artifact", source=path)
        source = await _text(client, f"offload://{slug}/f1")
        symbol = await _text(client, "offload://here/f1?v=1&sel=Invoice.total")
        head = await _text(client, "offload://here/f1?sel=Invoice&part=sig")
        image_handle = (await _complete(client, "artifact", "logo"))[0]
        (image,) = (await client.read_resource(f"offload://here/{image_handle}")).contents
    assert (source.text, source.mime_type) == (INVOICE, "text/x-python")
    assert symbol.text.startswith("def total(self)") or "def total(self)" in symbol.text
    assert head.text.strip() == "class Invoice:"
    assert isinstance(image, BlobResourceContents)
    assert (base64.b64decode(image.blob), image.mime_type) == (PNG, "image/png")


@covers("resources-read")
async def test_the_pages_that_are_listed_can_be_read(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        listed = (await client.list_resources()).resources
        texts = [(await _text(client, one.uri)).text for one in listed]
    assert "f1 billing.py" in texts[0]
    assert "f12#Invoice.total" in texts[1]
    assert listed[1].size == len(texts[1].encode())


@covers("resources-cache")
async def test_a_version_may_be_kept_and_what_changes_may_not(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        fixed = await client.read_resource("offload://here/f1?v=1", cache_mode="bypass")
        moving = await client.read_resource("offload://here/f1", cache_mode="bypass")
        listed = await client.list_resources(cache_mode="bypass")
        prompts = await client.list_prompts(cache_mode="bypass")
    if mode == "legacy":
        return
    assert (fixed.ttl_ms, fixed.cache_scope) == (3_600_000, "private")
    assert (moving.ttl_ms, moving.cache_scope) == (0, "private")
    assert (listed.ttl_ms, listed.cache_scope) == (3_600_000, "public")
    assert (prompts.ttl_ms, prompts.cache_scope) == (3_600_000, "public")


@covers("resources-not-found")
@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("offload://here/f99", "handle_not_found"),
        ("offload://elsewhere-123456/f1", "invalid_argument"),
        ("offload://here/nopage", "invalid_argument"),
        ("offload://here/f1?sel=Nothing", "symbol_not_found"),
        ("offload://here/f1?sel=L900", "span_out_of_range"),
        ("offload://here/f1?v=9", "handle_not_found"),
        ("file:///etc/passwd", "invalid_handle"),
    ],
)
async def test_what_is_not_there_is_invalid_params(
    settings: Settings, mode: Mode, uri: str, kind: str
) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.error.data == {"uri": uri, "type": kind}


@covers("resources-read")
async def test_too_much_for_one_message_is_refused_with_the_way_on(settings: Settings, mode: Mode) -> None:
    (Path(settings.base_dir) / "big.log").write_bytes(b"a line of the log\n" * 300_000)
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="big.log")
        with pytest.raises(MCPError, match="sel=L1-2000"):
            await client.read_resource("offload://here/l1")
        part = await _text(client, "offload://here/l1?sel=L2-3")
    assert part.text == "a line of the log\n" * 2


@covers("reply-visible")
async def test_hidden_characters_are_visible_in_resources_too(settings: Settings, mode: Mode) -> None:
    (Path(settings.base_dir) / "odd.log").write_bytes("größe\r\n".encode() * 50 + b"a\x1b[31m \xff b\r\n")
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="odd.log", kind="log")
        assert (await _text(client, "offload://here/l1?sel=L50-51")).text == "größe\na␛[31m \\xff b\n"


@covers("completion")
async def test_every_variable_of_the_template_is_completed(settings: Settings, mode: Mode) -> None:
    slug = workspace_slug(settings.workspace)
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        assert await _complete(client, "workspace", "") == ["here", slug]
        assert await _complete(client, "artifact", "") == ["f1", "index", "handles", "stats"]
        assert await _complete(client, "v", "", artifact="f1") == ["1"]
        assert await _complete(client, "sel", "tot", artifact="f1") == ["Invoice.total"]
        assert await _complete(client, "sel", "x", artifact="f9") == []
        assert await _complete(client, "part", "s", sel="Invoice") == ["sig"]
        assert await _complete(client, "part", "", sel="!1") == ["tb", "out"]
        for ref, name in ((URI_TEMPLATE, "other"), ("offload://{other}", "v")):
            with pytest.raises(MCPError) as caught:
                await client.complete(ResourceTemplateReference(uri=ref), {"name": name, "value": ""})
            assert caught.value.code == INVALID_PARAMS


@covers("prompts", "completion")
async def test_prompts_are_listed_filled_in_and_completed(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        await call(client, "store_artifact", source="billing.py")
        listed = (await client.list_prompts()).prompts
        got = await client.get_prompt("refactor_symbol", {"handle": "f1#report", "goal": "sort\nit"})
        ref = PromptReference(name="refactor_symbol")
        completion = await client.complete(ref, {"name": "handle", "value": "f1#rep"})
        nothing = await client.complete(ref, {"name": "goal", "value": "x"})
    assert [prompt.name for prompt in listed] == ["triage_run", "refactor_symbol", "review_diff"]
    assert [message.role for message in got.messages] == ["user"]
    content = got.messages[0].content
    assert isinstance(content, TextContent)
    assert content.text.startswith("Refactor f1#report: sort it\n")
    assert completion.completion.values == ["f1#report"]
    assert nothing.completion.values == []


@covers("prompts")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no_such", {}),
        ("triage_run", {}),
        ("triage_run", {"handle": " "}),
        ("triage_run", {"handle": "t1", "other": "x"}),
        ("triage_run", {"handle": "x" * 5_000}),
    ],
)
async def test_wrong_prompts_and_arguments_are_refused(
    settings: Settings, mode: Mode, name: str, arguments: dict[str, Any]
) -> None:
    async with connected(settings, mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
    assert caught.value.code == INVALID_PARAMS


@covers("tools-cursor")
async def test_invented_cursors_are_refused(settings: Settings, mode: Mode) -> None:
    async with connected(settings, mode) as client:
        for listing in (client.list_resources, client.list_resource_templates, client.list_prompts):
            with pytest.raises(MCPError) as caught:
                await listing(cursor="2")
            assert caught.value.code == INVALID_PARAMS
