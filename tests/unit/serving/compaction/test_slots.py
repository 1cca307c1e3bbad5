"""Where large texts of a history are, and what counts as aged."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from serving.compaction.dialects import Dialect
from serving.compaction.served import restored
from serving.compaction.slots import Step, rewritten, slots, text_at
from tests.unit.serving.compaction.talk import DIALECTS

LONG = "some text " * 20

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(LONG),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "function",
                    "arguments",
                    "type",
                    "input",
                    "output",
                    "text",
                    "id",
                ]
            ),
            inner
            | st.sampled_from(["assistant", "tool", "user", "tool_use", "tool_result", "function_call"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


def found(dialect: Dialect, body: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(slot.call_id, slot.field, slot.aged) for slot in slots(dialect, body)]


def test_arguments_at_any_depth_and_results() -> None:
    given_ = {"path": "src/a.py", "edits": [{"new": LONG, "old": "x"}], "n": 3}
    call = {"id": "c", "type": "function", "function": {"name": "edit", "arguments": json.dumps(given_)}}
    body = {
        "messages": [
            {"role": "user", "content": LONG},
            {"role": "assistant", "content": LONG, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": LONG}]},
            {"role": "assistant", "content": "done"},
        ]
    }
    first, second = slots(Dialect.CHAT, body)
    assert (first.field, first.name, first.tool) == ("edits.0.new", "a.py", "edit")
    assert first.path[-4:] == (Step.JSON, "edits", 0, "new")
    assert (second.field, second.name) == ("", "a.py")
    changed = rewritten(body, {first.path: "A", second.path: "B"})
    assert text_at(changed, first.path) == "A"
    arguments = changed["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {**given_, "edits": [{"new": "A", "old": "x"}]}
    assert changed["messages"][2]["content"] == [{"type": "text", "text": "B"}]
    assert changed["messages"][1]["content"] == LONG
    assert text_at(body, second.path) == LONG


def test_the_newest_turn_is_not_aged_nor_is_one_that_goes_on() -> None:
    def use(number: int) -> list[dict[str, Any]]:
        block = {"type": "tool_use", "id": f"u{number}", "name": "w", "input": {"content": LONG}}
        result = {"type": "tool_result", "tool_use_id": f"u{number}", "content": LONG}
        return [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]

    body = {"messages": [{"role": "user", "content": "go"}, *use(1), *use(2)]}
    aged = [("u1", "content", True), ("u1", "", True)]
    assert found(Dialect.MESSAGES, body) == [*aged, ("u2", "content", False), ("u2", "", False)]
    prefilled = {"messages": [*body["messages"], {"role": "assistant", "content": "I see"}]}
    assert found(Dialect.MESSAGES, prefilled) == found(Dialect.MESSAGES, body)
    asked = {"messages": [*prefilled["messages"], {"role": "user", "content": "and?"}]}
    assert all(slot.aged for slot in slots(Dialect.MESSAGES, asked))


def test_custom_tools_and_outputs_of_responses() -> None:
    body = {
        "input": [
            {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": LONG},
            {"type": "custom_tool_call_output", "call_id": "p", "output": LONG},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": LONG}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LONG}]},
            {"role": "user", "content": "and?"},
        ]
    }
    assert found(Dialect.RESPONSES, body) == [("p", "input", True), ("p", "", True)]
    assert found(Dialect.RESPONSES, {"input": LONG}) == []


def test_what_cannot_be_written_again_is_left() -> None:
    def called(arguments: str) -> dict[str, Any]:
        function = {"name": "w", "arguments": arguments}
        return {
            "messages": [
                {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]},
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": "y"},
                {"role": "user", "content": "x"},
            ]
        }

    assert len(slots(Dialect.CHAT, called(json.dumps({"a": LONG})))) == 1
    assert slots(Dialect.CHAT, called(json.dumps({"a": LONG})[:-1])) == []
    assert slots(Dialect.CHAT, called(f'{{"a": "{LONG}", "a": "{LONG}"}}')) == []
    assert slots(Dialect.CHAT, called(json.dumps({"a": "\ud800" + LONG}))) == []
    assert slots(Dialect.CHAT, called(json.dumps(LONG))) == []


def test_a_text_is_known_by_its_call_wherever_it_stands() -> None:
    def body(before: int) -> dict[str, Any]:
        message = {"role": "tool", "tool_call_id": "c", "content": LONG}
        return {"messages": [*({"role": "user", "content": "x"},) * before, message]}

    (first,), (second,) = slots(Dialect.CHAT, body(1)), slots(Dialect.CHAT, body(3))
    assert first.key == second.key
    other = {"messages": [{"role": "tool", "tool_call_id": "d", "content": LONG}]}
    assert slots(Dialect.CHAT, other)[0].key != first.key


@given(st.sampled_from(DIALECTS), st.lists(anything, max_size=5))
def test_whatever_comes_is_read_and_written_back(dialect: Dialect, items: list[Any]) -> None:
    body = {"input" if dialect is Dialect.RESPONSES else "messages": items}
    same = {slot.path: slot.text for slot in slots(dialect, body)}
    assert rewritten(body, same) == body or any(Step.JSON in path for path in same)
    assert restored(dialect, body, lambda ids: {}) is body
