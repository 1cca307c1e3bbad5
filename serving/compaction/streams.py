"""Streamed answers of a model that may call the gate's tools, made one stream for the client; pure.

Each turn is fed the events of one or several answers of the engine. What concerns a call of the gate's
tools is left out; all else passes, as the very bytes that came while no such call was made.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, Final, cast

from serving.compaction.dialects import Body, Dialect

_DONE: Final = b"[DONE]"
_REASONING: Final = ("reasoning", "reasoning_content")
_ENDINGS: Final = (
    (re.compile(rb'("finish_reason": ?)"tool_calls"'), b'"stop"'),
    (re.compile(rb'("stop_reason": ?)"tool_use"'), b'"end_turn"'),
)
"""How an answer says that it ends with calls, and how that it ends in words."""


class StreamedTurn(ABC):
    """One turn of the model, as the client gets it.

    Attributes:
        others: the identifiers of calls that are the client's to answer, in the current answer.
        serves: whether a tool of the gate was called in the current answer.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.others: list[str] = []
        self.serves = False
        self._names = names
        self._first = True
        self._held: list[bytes] = []

    def feed(self, event: bytes) -> bytes:
        """Take one event with the empty line at its end; returns what the client is sent for it."""
        data = _data(event)
        if data is None:
            return event
        if data == _DONE:
            return self._last(event)
        try:
            told: Any = json.loads(data)
        except ValueError:
            return event
        return self._take(event, cast("Body", told)) if isinstance(told, dict) else event

    def next_answer(self) -> None:
        """Another answer of the engine follows in the same turn; what was held is dropped."""
        self._first = False
        self._held.clear()
        self.others = []
        self.serves = False
        self._begin()

    def release(self, *, in_words: bool) -> bytes:
        """What was held back: the end of the stream; ``in_words``: no call is left in it."""
        held = b"".join(self._held)
        self._held.clear()
        if in_words:
            for called, said in _ENDINGS:
                held = called.sub(rb"\1" + said, held)
        return held

    @abstractmethod
    def answer(self) -> Body:
        """The current answer as it would have come whole."""

    @abstractmethod
    def _begin(self) -> None:
        """Forget the current answer."""

    @abstractmethod
    def _take(self, event: bytes, told: Body) -> bytes:
        """Take one event."""

    def _last(self, event: bytes) -> bytes:
        """An event that ends the stream: held where the turn may go on."""
        if self.serves:
            self._held.append(event)
            return b""
        return event


class ChatTurn(StreamedTurn):
    """Chat completions with one choice."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._id: Any = None
        self._begin()

    def _begin(self) -> None:
        self._message: Body = {"role": "assistant", "content": None}
        self._calls: dict[int, Body] = {}
        self._shown: dict[int, int] = {}

    def answer(self) -> Body:
        """As a choice's message."""
        message = dict(self._message)
        message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        return {"choices": [{"index": 0, "message": message}]}

    def _take(self, event: bytes, told: Body) -> bytes:
        if self._id is None:
            self._id = told.get("id")
        choices = _objects(told.get("choices"))
        if not choices:
            return self._last(event if self._first else self._written(told))
        choice, delta = choices[0], _object(choices[0].get("delta"))
        self._collect(delta)
        entries = _objects(delta.get("tool_calls"))
        kept = [shown for entry in entries if (shown := self._entry(entry)) is not None]
        if self._first and kept == entries:
            made = event
        else:
            rest = {name: value for name, value in delta.items() if name != "tool_calls"}
            if not self._first:
                rest.pop("role", None)
            if kept:
                rest["tool_calls"] = kept
            if not any(rest.values()) and choice.get("finish_reason") is None:
                return b""
            made = self._written({**told, "choices": [{**choice, "delta": rest}, *choices[1:]]})
        return made if choice.get("finish_reason") is None else self._last(made)

    def _collect(self, delta: Body) -> None:
        for field in ("content", *_REASONING):
            if isinstance(delta.get(field), str):
                self._message[field] = (self._message.get(field) or "") + delta[field]

    def _entry(self, entry: Body) -> Body | None:
        """The part of a call as the client gets it; None where the call is the gate's."""
        index, function = int(entry.get("index") or 0), _object(entry.get("function"))
        call = self._calls.get(index)
        if call is None:
            name = function.get("name")
            call = _call(entry.get("id"), name)
            self._calls[index] = call
            if name in self._names:
                self.serves = True
            else:
                self._shown[index] = len(self._shown)
                self.others.append(str(entry.get("id")))
        written: Body = call["function"]
        written["arguments"] += function.get("arguments") or ""
        if index not in self._shown:
            return None
        return entry if self._shown[index] == index else {**entry, "index": self._shown[index]}

    def _written(self, told: Body) -> bytes:
        return b"data: " + _dumped({**told, "id": self._id}) + b"\n\n"


class MessagesTurn(StreamedTurn):
    """Anthropic messages."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._emitted = 0
        self._begin()

    def _begin(self) -> None:
        self._blocks: dict[int, Body] = {}
        self._inputs: dict[int, str] = {}
        self._shown: dict[int, int] = {}

    def answer(self) -> Body:
        """As blocks of content."""
        content: list[Body] = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if block.get("type") == "tool_use":
                block = {**block, "input": _decoded(self._inputs.get(index, ""), block.get("input"))}
            content.append(block)
        return {"content": content}

    def _take(self, event: bytes, told: Body) -> bytes:
        kind = told.get("type")
        if kind == "message_start":
            return event if self._first else b""
        if kind in {"message_delta", "message_stop"}:
            return self._last(event)
        if not isinstance(kind, str) or not kind.startswith("content_block_"):
            return event
        index = int(told.get("index") or 0)
        if kind == "content_block_start":
            self._start(index, _object(told.get("content_block")))
        elif kind == "content_block_delta":
            self._delta(index, _object(told.get("delta")))
        if index not in self._shown:
            return b""
        if self._shown[index] == index:
            return event
        return (
            b"event: "
            + kind.encode()
            + b"\ndata: "
            + _dumped({**told, "index": self._shown[index]})
            + b"\n\n"
        )

    def _start(self, index: int, block: Body) -> None:
        self._blocks[index] = dict(block)
        if block.get("type") == "tool_use" and block.get("name") in self._names:
            self.serves = True
            return
        if block.get("type") == "tool_use":
            self.others.append(str(block.get("id")))
        self._shown[index] = self._emitted
        self._emitted += 1

    def _delta(self, index: int, delta: Body) -> None:
        block = self._blocks.setdefault(index, {})
        for field in ("text", "thinking", "signature"):
            if isinstance(delta.get(field), str):
                block[field] = (block.get(field) or "") + delta[field]
        if isinstance(delta.get("partial_json"), str):
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]


class ResponsesTurn(StreamedTurn):
    """OpenAI responses."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._id: Any = None
        self._emitted = 0
        self._number = -1
        self._cut = False
        self._items_shown: list[Body] = []
        self._begin()

    def _begin(self) -> None:
        self._items: dict[int, Body] = {}
        self._shown: dict[int, int] = {}

    def answer(self) -> Body:
        """As items of the output."""
        return {"output": [self._items[index] for index in sorted(self._items)]}

    def _take(self, event: bytes, told: Body) -> bytes:
        kind = str(told.get("type"))
        if kind in {"response.created", "response.queued", "response.in_progress"}:
            if self._id is None:
                self._id = _object(told.get("response")).get("id")
            return self._sent(event, told) if self._first else b""
        if kind in {"response.completed", "response.incomplete", "response.failed"}:
            return self._ended(event, told)
        if "output_index" not in told:
            return self._sent(event, told)
        index = int(told["output_index"])
        if kind == "response.output_item.added":
            self._added(index, _object(told.get("item")))
        elif kind == "response.output_item.done":
            self._items[index] = _object(told.get("item"))
            if index in self._shown:
                self._items_shown.append(self._items[index])
        if index not in self._shown:
            self._cut = True
            return b""
        if self._shown[index] != index:
            return self._sent(event, {**told, "output_index": self._shown[index]}, changed=True)
        return self._sent(event, told)

    def _added(self, index: int, item: Body) -> None:
        self._items[index] = item
        called = item.get("type") in {"function_call", "custom_tool_call"}
        if called and item.get("name") in self._names:
            self.serves = True
            return
        if called:
            self.others.append(str(item.get("call_id")))
        self._shown[index] = self._emitted
        self._emitted += 1

    def _ended(self, event: bytes, told: Body) -> bytes:
        if self._first and not self._cut:
            return self._last(event)
        response = {**_object(told.get("response")), "id": self._id, "output": list(self._items_shown)}
        number = self._number
        made = self._sent(event, {**told, "response": response}, changed=True)
        if self.serves:
            self._number = number  # it may never be sent
        return self._last(made)

    def _sent(self, event: bytes, told: Body, *, changed: bool = False) -> bytes:
        """The event, written anew where something in it has changed, under the stream's next number."""
        if "sequence_number" in told:
            if not self._first or self._cut:
                told = {**told, "sequence_number": self._number + 1}
                changed = True
            self._number = int(told["sequence_number"])
        if not changed:
            return event
        return b"event: " + str(told.get("type")).encode() + b"\ndata: " + _dumped(told) + b"\n\n"


TURNS: Final[dict[Dialect, type[StreamedTurn]]] = {
    Dialect.CHAT: ChatTurn,
    Dialect.MESSAGES: MessagesTurn,
    Dialect.RESPONSES: ResponsesTurn,
}


class Events:
    """Cuts a stream's bytes into events; all bytes come out again."""

    def __init__(self) -> None:
        self._kept = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that these bytes complete."""
        self._kept += chunk
        found: list[bytes] = []
        while True:
            ends = [(at + len(mark)) for mark in (b"\n\n", b"\r\n\r\n") if (at := self._kept.find(mark)) >= 0]
            if not ends:
                return found
            found.append(self._kept[: min(ends)])
            self._kept = self._kept[min(ends) :]

    def rest(self) -> bytes:
        """What was not completed."""
        kept, self._kept = self._kept, b""
        return kept


def _call(call_id: Any, name: Any) -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}


def _data(event: bytes) -> bytes | None:
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def _decoded(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text) if text else otherwise
    except ValueError:
        return otherwise


def _dumped(told: Body) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode()


def _object(value: Any) -> Body:
    return cast("Body", value) if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Body]:
    return [_object(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else []
