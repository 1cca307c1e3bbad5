"""OpenAI's responses. Source: its API reference, and what Codex CLI sends."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.clients.model.turn import Answer, Body, Call, Result, Tool, Turn, text_of

DIALECT = "responses"


def read(body: Body) -> Turn:
    """The request as a turn; Codex puts the tools of a server into a tool of type ``namespace``."""
    items = body.get("input", [])
    items = items if isinstance(items, list) else []
    calls = [
        Call(item["call_id"], item["name"], json.loads(item["arguments"] or "{}"))
        for item in items
        if item.get("type") == "function_call"
    ]
    results = [
        Result(item["call_id"], text_of(item.get("output")))
        for item in items
        if item.get("type") == "function_call_output"
    ]
    tools: list[Tool] = []
    for tool in body.get("tools", []):
        if tool.get("type") == "namespace":
            tools += [_tool(inner, tool["name"]) for inner in tool["tools"]]
        elif tool.get("type") == "function":
            tools.append(_tool(tool, ""))
    told = [item for item in items if item.get("role") in {"developer", "system"}]
    system = "\n".join([body.get("instructions") or "", *(text_of(item.get("content")) for item in told)])
    return Turn(DIALECT, body, tuple(tools), tuple(calls), tuple(results), system)


def whole(answer: Answer, number: int, model: str) -> Body:
    """The answer as one object."""
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "completed",
        "model": model,
        "output": [_item(answer, number)],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 105,
        },
    }


def events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Body]]:
    """The answer as a stream."""
    response = whole(answer, number, model)
    item = response["output"][0]
    for event in (
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ):
        yield str(event["type"]), event


def _tool(tool: Body, namespace: str) -> Tool:
    return Tool(tool["name"], tool.get("description", ""), tool.get("parameters", {}), namespace)


def _item(answer: Answer, number: int) -> Body:
    if answer.tool is None:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        return {"type": "message", "id": f"m_{number}", "role": "assistant", "content": content}
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": answer.tool.name,
        "arguments": json.dumps(answer.arguments),
        **({"namespace": answer.tool.namespace} if answer.tool.namespace else {}),
    }
