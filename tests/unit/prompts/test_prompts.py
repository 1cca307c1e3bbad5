"""The prompts are few, short, and name only tools that every profile lists."""

from __future__ import annotations

import json
import re

import pytest

from mcp_offload.prompts.catalog import PROMPTS, listed_prompts, prompt_text
from mcp_offload.tokens import TokenCounter
from mcp_offload.tools.catalog import tools_of

COUNT = TokenCounter().count


def test_the_list_is_short_and_in_order() -> None:
    # Icons are for people: no client was seen to give a model the list of prompts.
    shown = [prompt.model_copy(update={"icons": None}) for prompt in listed_prompts()]
    sent = [prompt.model_dump(by_alias=True, exclude_none=True, mode="json") for prompt in shown]
    assert [prompt["name"] for prompt in sent] == ["triage_run", "refactor_symbol", "review_diff"]
    assert COUNT(json.dumps(sent, separators=(",", ":"))) <= 300


@pytest.mark.parametrize("name", PROMPTS)
def test_each_costs_little_and_names_only_default_tools(name: str) -> None:
    spec = PROMPTS[name]
    text = prompt_text(spec, dict.fromkeys(spec.arguments, "f12"))
    assert COUNT(text) <= 120
    named = set(re.findall(r"\b[a-z]+_(?:artifacts?|handles?)\b", text))
    assert named
    assert named <= tools_of("default").keys()


def test_arguments_are_put_in_once_as_they_are() -> None:
    text = prompt_text(PROMPTS["refactor_symbol"], {"handle": "f1#{goal}", "goal": "{handle} \\1"})
    assert text.startswith("Refactor f1#{goal}: {handle} \\1\n")


def test_what_is_left_out_leaves_no_trace() -> None:
    spec = PROMPTS["review_diff"]
    assert 'diff_handles("f1").' in prompt_text(spec, {"before": "f1"})
    assert 'diff_handles("f1", "f2").' in prompt_text(spec, {"before": "f1", "after": "f2"})
