"""Anthropic's messages. Source: its API reference, and what Claude Code sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.clients.model.turn import Answer, Body, Call, Result, Tool, Turn, text_of

DIALECT = "messages"


def read(body: Body) -> Turn:
    """The request as a turn."""
    blocks = [block for message in body.get("messages", []) for block in _blocks(message["content"])]
    calls = [
        Call(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"
    ]
    results = [
        Result(block["tool_use_id"], text_of(block.get("content")), bool(block.get("is_error")))
        for block in blocks
        if block["type"] == "tool_result"
    ]
    tools = [
        Tool(tool["name"], tool.get("description", ""), tool.get("input_schema", {}))
        for tool in body.get("tools", [])
        if not tool.get("defer_loading")
    ]
    return Turn(DIALECT, body, tuple(tools), tuple(calls), tuple(results), text_of(body.get("system")))


def whole(answer: Answer, number: int, model: str) -> Body:
    """The answer as one object."""
    return {
        **_head(number, model),
        "content": [_block(answer, number)],
        "stop_reason": "tool_use" if answer.tool else "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 5},
    }


def events(answer: Answer, number: int, model: str) -> Iterator[tuple[str, Body]]:
    """The answer as a stream."""
    import json

    block = _block(answer, number)
    head = {**_head(number, model), "content": [], "stop_reason": None}
    if answer.tool:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        start = {**block, "input": {}}
    else:
        delta, start = {"type": "text_delta", "text": block["text"]}, {"type": "text", "text": ""}
    stop = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": {**head, "usage": {"input_tokens": 100, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ):
        yield str(event["type"]), event


def _blocks(content: str | list[Body]) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _head(number: int, model: str) -> Body:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
    }


def _block(answer: Answer, number: int) -> dict[str, Any]:
    if answer.tool is None:
        return {"type": "text", "text": answer.text}
    return {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": answer.tool.name,
        "input": answer.arguments,
    }
