"""Calls that the gate answered beside calls of the client's, put back where the model made them; pure.

A model may call tools of the gate and of the client in one turn. The client is shown its own calls alone, so
that its next request lacks the others. They belong to the history all the same: the model made them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from serving.compaction.dialects import Body, Dialect


@dataclass(frozen=True, slots=True)
class ServedCall:
    """A call that the gate answered; ``arguments`` is JSON, as the model wrote it."""

    call_id: str
    name: str
    arguments: str
    result: str
    is_error: bool = False


def dumped(calls: Iterable[ServedCall]) -> str:
    """The calls as JSON."""
    return json.dumps([asdict(call) for call in calls])


def valid_arguments(written: str) -> str:
    """The arguments as the model wrote them, or none where they are no JSON object: engines read them."""
    try:
        return written if isinstance(json.loads(written), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def restored(dialect: Dialect, body: Body, find: Callable[[list[str]], Mapping[str, str]]) -> Body:
    """The request with the calls that were answered beside its own; itself where there are none.

    Args:
        dialect: of the request.
        body: as the client sent it.
        find: the calls answered beside those of these identifiers, as :func:`dumped` gives them.
    """
    field = "input" if dialect is Dialect.RESPONSES else "messages"
    items: Any = body.get(field)
    if not isinstance(items, list):
        return body
    listed = cast("list[Any]", items)
    ids = [call_id for item in listed for call_id in _call_ids(dialect, item)]
    found: Mapping[str, str] = find(ids) if ids else {}
    if not found:
        return body
    made: list[Any] = []
    pending: list[ServedCall] = []
    for item in listed:
        beside = [call for i in _call_ids(dialect, item) if i in found for call in _loaded(found[i])]
        if pending and dialect is Dialect.MESSAGES:
            item, pending = _with_results(item, pending), []
        if not beside:
            made.append(item)
        elif dialect is Dialect.RESPONSES:
            made += [item, *responses_items(beside)]
        elif dialect is Dialect.CHAT:
            calls = [*item["tool_calls"], *(chat_call(call) for call in beside)]
            made += [{**item, "tool_calls": calls}, *(chat_result(call) for call in beside)]
        else:
            made.append({**item, "content": [*item["content"], *(tool_use(call) for call in beside)]})
            pending = beside
    return {**body, field: made}


def chat_call(call: ServedCall) -> Body:
    """The call as an entry of a chat message's ``tool_calls``."""
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def chat_result(call: ServedCall) -> Body:
    """The result as a chat message."""
    return {"role": "tool", "tool_call_id": call.call_id, "content": call.result}


def tool_use(call: ServedCall) -> Body:
    """The call as a block of an Anthropic message."""
    try:
        given: Any = json.loads(call.arguments or "{}")
    except ValueError:
        given = {}
    return {
        "type": "tool_use",
        "id": call.call_id,
        "name": call.name,
        "input": given if isinstance(given, dict) else {},
    }


def tool_result(call: ServedCall) -> Body:
    """The result as a block of an Anthropic message."""
    block: Body = {"type": "tool_result", "tool_use_id": call.call_id, "content": call.result}
    return {**block, "is_error": True} if call.is_error else block


def responses_items(calls: Iterable[ServedCall]) -> list[Body]:
    """Calls and results as items of a responses request."""
    made = list(calls)
    return [
        *(
            {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in made
        ),
        *(
            {"type": "function_call_output", "call_id": call.call_id, "output": call.result}
            for call in made
        ),
    ]  # fmt: skip


def _loaded(text: str) -> list[ServedCall]:
    return [ServedCall(**call) for call in json.loads(text)]


def _call_ids(dialect: Dialect, item: Any) -> list[str]:
    """The calls in one item of a history."""
    if not isinstance(item, dict):
        return []
    held = cast("Body", item)
    if dialect is Dialect.RESPONSES:
        called = held.get("type") in ("function_call", "custom_tool_call")
        return [str(held.get("call_id"))] if called else []
    if held.get("role") != "assistant":
        return []
    entries: Any = held.get("tool_calls" if dialect is Dialect.CHAT else "content")
    if not isinstance(entries, list):
        return []
    blocks = [cast("Body", entry) for entry in cast("list[Any]", entries) if isinstance(entry, dict)]
    if dialect is Dialect.MESSAGES:
        blocks = [block for block in blocks if block.get("type") == "tool_use"]
    return [str(block.get("id")) for block in blocks]


def _with_results(item: Any, calls: list[ServedCall]) -> Any:
    """The user's message with results of the gate before its own."""
    if not isinstance(item, dict):
        return item
    held = cast("Body", item)
    content: Any = held.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else [{"type": "text", "text": content}]
    return {**held, "content": [*(tool_result(call) for call in calls), *blocks]}
