"""Whole answers of a model that may call the gate's tools, and requests that go on after them; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from serving.compaction.dialects import Body, Dialect
from serving.compaction.served import ServedCall, chat_call, chat_result, tool_result

_REASONING = ("reasoning", "reasoning_content")
"""Fields in which servers give a chat model's reasoning. Source: vLLM 0.32, ``ChatMessage``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool by the model; ``arguments`` as it wrote them."""

    call_id: str
    name: str
    arguments: Any


def calls_of(dialect: Dialect, answer: Body) -> list[Call]:
    """The calls in an answer, in order."""
    if dialect is Dialect.CHAT:
        entries = _objects(_message(answer).get("tool_calls"))
        held = [(entry, _object(entry.get("function"))) for entry in entries]
        return [Call(str(e.get("id")), str(f.get("name")), f.get("arguments")) for e, f in held]
    if dialect is Dialect.MESSAGES:
        blocks = [block for block in _objects(answer.get("content")) if block.get("type") == "tool_use"]
        return [Call(str(b.get("id")), str(b.get("name")), b.get("input")) for b in blocks]
    return [
        Call(str(item.get("call_id")), str(item.get("name")), item.get("arguments"))
        for item in _objects(answer.get("output"))
        if item.get("type") in {"function_call", "custom_tool_call"}
    ]


def without(dialect: Dialect, answer: Body, call_ids: Collection[str]) -> Body:
    """The answer without some of its calls; where none is left, it ends as an answer in words does."""
    rest = [call for call in calls_of(dialect, answer) if call.call_id not in call_ids]
    if dialect is Dialect.CHAT:
        message = dict(_message(answer))
        kept = [c for c in _objects(message.get("tool_calls")) if c.get("id") not in call_ids]
        message["tool_calls"] = kept
        choice = {**answer["choices"][0], "message": message}
        if not rest:
            choice["finish_reason"] = "stop"
        return {**answer, "choices": [choice]}
    if dialect is Dialect.MESSAGES:
        blocks = [block for block in answer["content"] if block.get("id") not in call_ids]
        changed = {**answer, "content": blocks}
        return changed if rest else {**changed, "stop_reason": "end_turn"}
    items = [item for item in answer["output"] if item.get("call_id") not in call_ids]
    return {**answer, "output": items}


def merged(dialect: Dialect, earlier: Sequence[Body], answer: Body) -> Body:
    """The last answer of a turn with what the model wrote in those before it, their calls left out."""
    if not earlier:
        return answer
    told = [without(dialect, one, {c.call_id for c in calls_of(dialect, one)}) for one in earlier]
    if dialect is Dialect.CHAT:
        message = dict(_message(answer))
        for field in ("content", *_REASONING):
            parts = [_message(one).get(field) for one in [*told, answer]]
            texts = [part for part in parts if isinstance(part, str) and part]
            if texts:
                message[field] = "".join(texts)
        first = {**answer["choices"][0], "message": message}
        return {**answer, "choices": [first]}
    field = "content" if dialect is Dialect.MESSAGES else "output"
    before = [entry for one in told for entry in one[field]]
    return {**answer, field: [*before, *answer[field]]}


def continued(dialect: Dialect, body: Body, answer: Body, served: Sequence[ServedCall]) -> Body:
    """The request that lets the model go on after its calls were answered.

    Args:
        dialect: of the request.
        body: that was answered.
        answer: whose calls are all in ``served``.
        served: the calls with their results.
    """
    if dialect is Dialect.CHAT:
        message = _message(answer)
        said: Body = {"role": "assistant", "content": message.get("content")}
        said |= {field: message[field] for field in _REASONING if message.get(field)}
        said["tool_calls"] = [chat_call(call) for call in served]
        return {**body, "messages": [*body["messages"], said, *(chat_result(call) for call in served)]}
    if dialect is Dialect.MESSAGES:
        results = [tool_result(call) for call in served]
        more = [
            {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": results},
        ]
        return {**body, "messages": [*body["messages"], *more]}
    given = body["input"]
    before = [{"role": "user", "content": given}] if isinstance(given, str) else given
    outputs = [
        {"type": "function_call_output", "call_id": call.call_id, "output": call.result} for call in served
    ]
    written = {call.call_id: call.arguments for call in served}
    said_items = [
        {**item, "arguments": written[item["call_id"]]} if item.get("call_id") in written else item
        for item in answer["output"]
    ]
    return {**body, "input": [*before, *said_items, *outputs]}


def _message(answer: Body) -> Body:
    choices = _objects(answer.get("choices"))
    return _object(choices[0].get("message")) if choices else {}


def _object(value: Any) -> Body:
    return cast("Body", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Body]:
    return [_object(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
