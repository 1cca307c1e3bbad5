"""What each conversation pays for: few tokens, plain names, true annotations."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mcp_offload.settings import ToolProfile
from mcp_offload.tokens import TokenCounter
from mcp_offload.tools.catalog import INSTRUCTIONS, TOOLS, listed_tools
from mcp_offload.tools.perform import perform

DEFAULT = [
    "store_artifact",
    "outline_handle",
    "read_handle",
    "search_handles",
    "edit_handle",
    "diff_handles",
    "export_handle",
]
ALL = [*DEFAULT, "list_artifacts", "release_handles", "context_lease"]


def _sent(profile: ToolProfile, *, run: bool = False) -> list[dict[str, Any]]:
    listed = listed_tools(profile, run=run)
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]


def _shown(profile: ToolProfile, *, run: bool = False) -> list[dict[str, Any]]:
    """What may reach a model: everything but ``_meta``, which is for programs."""
    return [{key: value for key, value in tool.items() if key != "_meta"} for tool in _sent(profile, run=run)]


def _tokens(value: object) -> int:
    return TokenCounter().count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def test_each_profile_lists_its_tools_in_order() -> None:
    assert [tool["name"] for tool in _sent("default")] == DEFAULT
    assert [tool["name"] for tool in _sent("all")] == ALL


def test_the_default_tools_cost_at_most_a_thousand_tokens_with_annotations() -> None:
    assert _tokens(_shown("default")) <= 1_000


def test_all_tools_with_the_one_that_runs_commands_cost_at_most_1400_tokens() -> None:
    assert _tokens(_shown("all")) <= 1_200
    assert _tokens(_shown("all", run=True)) <= 1_400
    assert _tokens(_sent("all")) <= 1_400


def test_the_default_profile_lists_at_most_eight_tools() -> None:
    assert [tool["name"] for tool in _shown("default", run=True)] == [*DEFAULT, "run_command"]


def test_the_core_is_loaded_at_once_and_the_rest_is_found_by_a_few_words() -> None:
    hints = {tool["name"]: tool["_meta"] for tool in _sent("all")}
    core = [name for name, hint in hints.items() if hint == {"anthropic/alwaysLoad": True}]
    assert core == DEFAULT[:5]
    others = [hint["anthropic/searchHint"] for name, hint in hints.items() if name not in core]
    assert all(0 < len(words) < 40 for words in others)


def test_titles_are_short_and_distinct() -> None:
    titles = [tool["title"] for tool in _sent("all")]
    assert len(set(titles)) == len(titles)
    assert all(0 < len(title) <= 24 for title in titles)


def test_the_instructions_are_short_and_teach_the_four_habits() -> None:
    assert TokenCounter().count(INSTRUCTIONS) < 150
    for habit in ("Pass paths", "Never re-emit content", "A path is a handle", "before you read", "on disk"):
        assert habit in INSTRUCTIONS


def test_names_are_distinct_and_plain_and_no_other_text_names_a_tool_that_is_not() -> None:
    assert all(re.fullmatch(r"[a-z_]{1,24}", name) for name in TOOLS)
    texts = [INSTRUCTIONS, *(spec.description for spec in TOOLS.values())]
    named = {word for text in texts for word in re.findall(r"\b[a-z]+_(?:artifacts?|handles?)\b", text)}
    assert named <= set(DEFAULT)


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("store_artifact", (False, False, True)),
        ("outline_handle", (True, False, True)),
        ("read_handle", (True, False, True)),
        ("search_handles", (True, False, True)),
        ("edit_handle", (False, True, False)),
        ("diff_handles", (True, False, True)),
        ("export_handle", (False, True, True)),
        ("list_artifacts", (True, False, True)),
        ("release_handles", (False, True, True)),
        ("context_lease", (False, False, True)),
    ],
)
def test_annotations(name: str, hints: tuple[bool, bool, bool]) -> None:
    read_only, destructive, idempotent = hints
    tool = next(tool for tool in _sent("all") if tool["name"] == name)
    assert tool["annotations"] == {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": False,
    }


def test_tools_promise_no_structured_output() -> None:
    expected = {"name", "title", "description", "inputSchema", "annotations", "_meta"}
    assert all(tool.keys() == expected for tool in _sent("all"))


def test_arguments_that_no_operation_takes_are_a_defect_not_a_silence() -> None:
    from mcp_offload.tools.arguments import ToolArguments

    with pytest.raises(TypeError):
        perform(None, ToolArguments())  # type: ignore[arg-type]
