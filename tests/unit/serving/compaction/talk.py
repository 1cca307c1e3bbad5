"""Conversations of agents in the three dialects, and an engine that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from serving.compaction.dialects import GENERATING, Dialect

PATHS = {dialect: path for path, dialect in GENERATING.items()}
DIALECTS = [Dialect.CHAT, Dialect.MESSAGES, Dialect.RESPONSES]


@dataclass(frozen=True)
class Turn:
    """What the model says, calls, and is answered; results as many as calls."""

    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    results: tuple[Any, ...] = ()
    text: str = ""
    error: bool = False


def tools(dialect: Dialect, *names: str) -> list[Any]:
    schema = {"type": "object", "properties": {}}
    if dialect is Dialect.MESSAGES:
        return [{"name": name, "input_schema": schema} for name in names]
    if dialect is Dialect.RESPONSES:
        return [{"type": "function", "name": n, "parameters": schema, "strict": False} for n in names]
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]


def request(dialect: Dialect, turns: list[Turn], *names: str, **more: Any) -> dict[str, Any]:
    """The request after these turns; its last one's results are not seen yet."""
    body: dict[str, Any] = {"model": "m"}
    if names:
        body["tools"] = tools(dialect, *names)
    if dialect is Dialect.CHAT:
        body["messages"] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Fix it."},
            *(entry for turn in turns for entry in _chat(turn)),
        ]
    elif dialect is Dialect.MESSAGES:
        body |= {"max_tokens": 64, "system": "Be brief."}
        body["messages"] = [
            {"role": "user", "content": "Fix it."},
            *(entry for turn in turns for entry in _messages(turn)),
        ]
    else:
        body |= {"instructions": "Be brief."}
        body["input"] = [
            {"role": "user", "content": "Fix it."},
            *(entry for turn in turns for entry in _responses(turn)),
        ]
    return body | more


def items(dialect: Dialect, body: dict[str, Any]) -> list[Any]:
    return body["input" if dialect is Dialect.RESPONSES else "messages"]


def _chat(turn: Turn) -> Iterator[dict[str, Any]]:
    said: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        said["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for i, name, given in turn.calls
        ]
    yield said
    for (call_id, _, _), result in zip(turn.calls, turn.results, strict=True):
        yield {"role": "tool", "tool_call_id": call_id, "content": result}


def _messages(turn: Turn) -> Iterator[dict[str, Any]]:
    blocks: list[Any] = [{"type": "text", "text": turn.text}] if turn.text else []
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": given} for i, n, given in turn.calls]
    yield {"role": "assistant", "content": blocks}
    results = [
        {"type": "tool_result", "tool_use_id": call[0], "content": result, "is_error": turn.error}
        for call, result in zip(turn.calls, turn.results, strict=True)
    ]
    yield {"role": "user", "content": results or [{"type": "text", "text": "Go on."}]}


def _responses(turn: Turn) -> Iterator[dict[str, Any]]:
    if turn.text:
        text = {"type": "output_text", "text": turn.text, "annotations": []}
        yield {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [text]}
    for call_id, name, given in turn.calls:
        yield {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(given)}
    for (call_id, _, _), result in zip(turn.calls, turn.results, strict=True):
        output = (
            [{"type": "input_text", "text": b["text"]} for b in result]
            if isinstance(result, list)
            else result
        )
        yield {"type": "function_call_output", "call_id": call_id, "output": output}


@dataclass
class Said:
    """One answer of the scripted model."""

    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()


@dataclass
class ScriptedEngine:
    """Speaks as much of vLLM's interface as compaction uses; four characters of a request are a token."""

    script: list[Said] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    counts: bool = True

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path: str = scope["path"]
        if path.endswith("/render"):
            made = {"token_ids": [1] * tokens_of(json.loads(body)), "sampling_params": {"max_tokens": 8}}
            await _answer(send, 200 if self.counts else 400, json.dumps(made).encode())
            return
        asked = json.loads(body)
        self.requests.append(asked)
        said = self.script.pop(0) if self.script else Said("done")
        dialect, number = GENERATING[path], len(self.requests)
        if not asked.get("stream"):
            await _answer(send, 200, json.dumps(whole(dialect, said, number)).encode())
            return
        head = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/event-stream")],
        }
        await send(head)
        data = b"".join(events(dialect, said, number))
        for at in range(0, len(data), 97):
            await send({"type": "http.response.body", "body": data[at : at + 97], "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def tokens_of(body: dict[str, Any]) -> int:
    kept = {
        name: body[name] for name in ("messages", "input", "system", "instructions", "tools") if name in body
    }
    return len(json.dumps(kept)) // 4


def whole(dialect: Dialect, said: Said, number: int) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    if dialect is Dialect.CHAT:
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
        if said.calls:
            message["tool_calls"] = [_chat_call(call) for call in said.calls]
        reason = "tool_calls" if said.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {"id": f"c{number}", "object": "chat.completion", "choices": [choice], "usage": usage}
    if dialect is Dialect.MESSAGES:
        return {
            "id": f"m{number}", "type": "message", "role": "assistant", "model": "m",
            "content": _blocks(said), "stop_reason": "tool_use" if said.calls else "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 3},
        }  # fmt: skip
    return {"id": f"r{number}", "object": "response", "status": "completed", "output": _output(said, number)}


def events(dialect: Dialect, said: Said, number: int) -> Iterator[bytes]:
    if dialect is Dialect.CHAT:
        yield from _chat_events(said, number)
    elif dialect is Dialect.MESSAGES:
        yield from _message_events(said, number)
    else:
        yield from _response_events(said, number)


def _chat_events(said: Said, number: int) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        told = {"id": f"c{number}", "object": "chat.completion.chunk", "choices": [choice]}
        return b"data: " + json.dumps(told).encode() + b"\n\n"

    yield chunk({"role": "assistant", "content": ""})
    for word in said.text.split():
        yield chunk({"content": word + " "})
    for index, (call_id, name, given) in enumerate(said.calls):
        head = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": head}]})
        text = json.dumps(given)
        for part in (text[:5], text[5:]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, "tool_calls" if said.calls else "stop")
    yield b'data: {"id":"c%d","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3}}\n\n' % number
    yield b"data: [DONE]\n\n"


def _message_events(said: Said, number: int) -> Iterator[bytes]:
    def event(kind: str, **told: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **told})}\n\n".encode()

    head = whole(Dialect.MESSAGES, Said(), number) | {"content": [], "stop_reason": None}
    yield event("message_start", message=head)
    for index, block in enumerate(_blocks(said)):
        if block["type"] == "text":
            yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            yield event(
                "content_block_delta", index=index, delta={"type": "text_delta", "text": block["text"]}
            )
        else:
            yield event("content_block_start", index=index, content_block=block | {"input": {}})
            text = json.dumps(block["input"])
            for part in (text[:5], text[5:]):
                delta = {"type": "input_json_delta", "partial_json": part}
                yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    reason = "tool_use" if said.calls else "end_turn"
    yield event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 3})
    yield event("message_stop")


def _response_events(said: Said, number: int) -> Iterator[bytes]:
    told: list[dict[str, Any]] = []
    output = _output(said, number)
    empty = {"id": f"r{number}", "object": "response", "status": "in_progress", "output": []}
    told.append({"type": "response.created", "response": empty})
    for index, item in enumerate(output):
        told.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "function_call":
            kind = "response.function_call_arguments.delta"
            told.append(
                {"type": kind, "output_index": index, "item_id": item["id"], "delta": item["arguments"]}
            )
        else:
            kind = "response.output_text.delta"
            told.append({"type": kind, "output_index": index, "item_id": item["id"], "delta": said.text})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": whole(Dialect.RESPONSES, said, number)})
    for sequence, event in enumerate(told):
        event["sequence_number"] = sequence
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _chat_call(call: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": call[0],
        "type": "function",
        "function": {"name": call[1], "arguments": json.dumps(call[2])},
    }


def _blocks(said: Said) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    return blocks + [{"type": "tool_use", "id": i, "name": n, "input": given} for i, n, given in said.calls]


def _output(said: Said, number: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    if said.text:
        text = {"type": "output_text", "text": said.text, "annotations": []}
        made.append({"type": "message", "id": f"x{number}", "role": "assistant", "content": [text]})
    for i, name, given in said.calls:
        made.append(
            {
                "type": "function_call",
                "id": f"f{i}",
                "call_id": i,
                "name": name,
                "arguments": json.dumps(given),
            }
        )
    return made


async def _answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
