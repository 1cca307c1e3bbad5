"""What clients show to people: titles, annotations and icons, complete in both eras."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from tests.interaction.harness import MODES, Mode, connected, settings_in
from tests.interaction.requirements import covers

pytestmark = pytest.mark.anyio
EACH_MODE = pytest.mark.parametrize("mode", MODES)
HINTS = ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")


@covers("listed")
@EACH_MODE
async def test_everything_has_a_title_and_what_it_does_to_the_world(tmp_path: Path, mode: Mode) -> None:
    settings = settings_in(tmp_path, run_allow=("sh",))
    async with connected(settings, mode) as client:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    for listed in (tools, resources, templates, prompts):
        assert listed
        assert all(one.title and one.description for one in listed)
    for tool in tools:
        assert tool.annotations is not None
        assert None not in [getattr(tool.annotations, hint) for hint in HINTS], tool.name
        assert tool.annotations.read_only_hint != tool.annotations.destructive_hint or tool.name.startswith(
            ("store", "context")
        )
    assert all(one.annotations and one.annotations.audience for one in resources)
    assert all(argument.description for prompt in prompts for argument in prompt.arguments or ())


@covers("listed")
@EACH_MODE
async def test_prompts_have_icons_and_nothing_that_reaches_a_model_has(tmp_path: Path, mode: Mode) -> None:
    async with connected(settings_in(tmp_path), mode) as client:
        for prompt in (await client.list_prompts()).prompts:
            (icon,) = prompt.icons or ()
            kind, _, drawing = icon.src.partition(",")
            assert (kind, icon.mime_type) == ("data:image/svg+xml", "image/svg+xml")
            assert len(icon.src) < 400
            assert ElementTree.fromstring(unquote(drawing)).tag == "{http://www.w3.org/2000/svg}svg"
        for listed in (
            await client.list_tools(),
            await client.list_resources(),
            await client.list_resource_templates(),
            await client.call_tool("list_artifacts", {}),
        ):
            sent = json.dumps(listed.model_dump(by_alias=True, exclude_none=True, mode="json"))
            assert '"icons"' not in sent
