"""OpenAI's chat completions. Source: its API reference, and what opencode, Qwen Code and Copilot send."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.clients.model.turn import Answer, Body, Call, Result, Tool, Turn, text_of

DIALECT = "chat"


def read(body: Body) -> Turn:
    """The request as a turn."""
    messages = body.get("messages", [])
    calls = [
        Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
        for message in messages
        for call in message.get("tool_calls") or []
    ]
    results = [
        Result(message["tool_call_id"], text_of(message.get("content")))
        for message in messages
        if message["role"] == "tool"
    ]
    functions = [tool["function"] for tool in body.get("tools") or [] if tool.get("type") == "function"]
    tools = [
        Tool(function["name"], function.get("description", ""), function.get("parameters", {}))
        for function in functions
    ]
    system = [
        text_of(message["content"]) for message in messages if message["role"] in {"system", "developer"}
    ]
    return Turn(DIALECT, body, tuple(tools), tuple(calls), tuple(results), "\n".join(system))


def whole(answer: Answer, number: int, model: str) -> Body:
    """The answer as one object."""
    message = {"role": "assistant", "content": answer.text}
    if answer.tool:
        message = {"role": "assistant", "content": None, "tool_calls": [_call(answer, number)]}
    reason = "tool_calls" if answer.tool else "stop"
    return {
        **_head(number, model, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    }


def events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Body]]:
    """The answer as a stream; the server ends it with ``[DONE]``."""
    head = _head(number, model, "chat.completion.chunk")
    delta: Body = {"role": "assistant", "content": answer.text}
    if answer.tool:
        delta = {"role": "assistant", "tool_calls": [{"index": 0, **_call(answer, number)}]}
    reason = "tool_calls" if answer.tool else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def _head(number: int, model: str, kind: str) -> Body:
    return {"id": f"chat_{number}", "object": kind, "created": 1, "model": model}


def _call(answer: Answer, number: int) -> Body:
    assert answer.tool
    function = {"name": answer.tool.name, "arguments": json.dumps(answer.arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}
