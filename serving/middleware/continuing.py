"""Has the model go on after it called tools of the gate, and gives the client one answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from serving.compaction.dialects import Body, Dialect, error_event
from serving.compaction.retrieval import tool_names, without_tools
from serving.compaction.served import ServedCall
from serving.compaction.streams import TURNS, Events, StreamedTurn
from serving.compaction.turns import Call, calls_of, continued, merged, without
from serving.middleware.asgi import App, Client, Message, Scope, Send, send_whole, with_body
from serving.middleware.request import decoded


class Served(Protocol):
    """Answers calls of the gate's tools."""

    async def answered(self, body: Body, answer: Body, calls: Sequence[Call]) -> list[ServedCall]:
        """The calls with their results.

        Args:
            body: the request that the model answered.
            answer: what it answered.
            calls: those of its calls that are the gate's.
        """
        ...

    async def beside(self, call_id: str, served: Sequence[ServedCall]) -> None:
        """Keep what was answered beside a call of the client's."""
        ...


@dataclass
class _Whole:
    """An answer of the engine that is not passed on yet."""

    status: int | None = None
    start: Message | None = None
    body: bytes = b""

    async def send(self, message: Message) -> None:
        """Take a message of the application."""
        if message["type"] == "http.response.start":
            self.status, self.start = message["status"], message
        else:
            self.body += message.get("body", b"")


class Continuing:
    """One turn of the model.

    Args:
        app: answers requests.
        scope: of the client's request.
        client: who asked.
        dialect: of the request.
        names: the gate's tools by the names that they have in the request.
        rounds: how many times in a row the model may call them.
    """

    def __init__(
        self,
        app: App,
        scope: Scope,
        client: Client,
        dialect: Dialect,
        names: Mapping[str, str],
        *,
        rounds: int,
    ) -> None:
        self._app = app
        self._scope = scope
        self._client = client
        self._dialect = dialect
        self._names = names
        self._rounds = rounds

    async def serve(self, body: Body, served: Served, send: Send) -> None:
        """Answer a request that offers the gate's tools."""
        if body.get("stream") is True:
            await self._stream(body, served, send)
        else:
            await self._whole(body, served, send)

    async def _whole(self, body: Body, served: Served, send: Send) -> None:
        earlier: list[Body] = []
        for left in range(self._rounds, -1, -1):
            got = _Whole()
            await self._ask(body, got.send)
            if got.start is None or got.status is None:
                return  # the client has left
            answer = decoded(got.body) if got.status == 200 else None
            ours = [] if answer is None else self._ours(answer)
            if answer is None or (not ours and not earlier):
                await send(got.start)
                await send({"type": "http.response.body", "body": got.body, "more_body": False})
                return
            if not ours or not left or len(ours) < len(calls_of(self._dialect, answer)):
                kept = await self._kept(body, answer, ours if left else [], served)
                await send_whole(send, 200, _dumped(merged(self._dialect, earlier, kept)))
                return
            done = await served.answered(body, answer, ours)
            earlier.append(answer)
            body = self._next(body, answer, done, left)

    async def _stream(self, body: Body, served: Served, send: Send) -> None:
        turn = TURNS[self._dialect](self._names)
        for left in range(self._rounds, -1, -1):
            passing = _Passing(turn, self._dialect, send, first=left == self._rounds)
            await self._ask(body, passing.send)
            if not passing.complete or passing.ended:
                return  # the client has left, or has it all
            if not turn.serves:
                break
            answer = turn.answer()
            ours = self._ours(answer)
            if turn.others or not left:
                await self._kept(body, answer, ours if left else [], served)
                held = turn.release(in_words=not turn.others)
                await send({"type": "http.response.body", "body": held, "more_body": True})
                break
            done = await served.answered(body, answer, ours)
            body = self._next(body, answer, done, left)
            turn.next_answer()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _kept(self, body: Body, answer: Body, ours: Sequence[Call], served: Served) -> Body:
        """The answer for the client; what the gate answered beside its calls is kept for later."""
        calls = calls_of(self._dialect, answer)
        theirs = [call for call in calls if call.name not in self._names]
        if ours and theirs:
            await served.beside(theirs[0].call_id, await served.answered(body, answer, ours))
        if len(theirs) == len(calls):
            return answer
        return without(self._dialect, answer, {c.call_id for c in calls if c.name in self._names})

    async def _ask(self, body: Body, send: Send) -> None:
        raw = _dumped(body)
        await self._app(with_body(self._scope, raw), self._client.body(raw), send)

    def _ours(self, answer: Body) -> list[Call]:
        return [call for call in calls_of(self._dialect, answer) if call.name in self._names]

    def _next(self, body: Body, answer: Body, done: Sequence[ServedCall], left: int) -> Body:
        """The request that lets the model go on; the last one offers the gate's tools no more."""
        following = continued(self._dialect, body, answer, done)
        return without_tools(following, self._names) if left == 1 and tool_names(following) else following


class _Passing:
    """Passes one answer of the engine on to the client, as far as it is meant for it.

    Attributes:
        complete: whether the engine's last byte came.
        ended: whether the client's answer has ended with it.
    """

    def __init__(self, turn: StreamedTurn, dialect: Dialect, send: Send, *, first: bool) -> None:
        self.complete = False
        self.ended = False
        self._turn = turn
        self._dialect = dialect
        self._send = send
        self._first = first
        self._events = Events()
        self._status = 200
        self._failed = b""
        self._streams = True

    async def send(self, message: Message) -> None:
        """Take a message of the application."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._streams = self._status == 200
            if self._first:
                await self._send(message)
            return
        last = not message.get("more_body", False)
        self.complete = self.complete or last
        body: bytes = message.get("body", b"")
        if self._streams:
            sent = b"".join(self._turn.feed(event) for event in self._events.feed(body))
            if last:
                sent += self._events.rest()
            if sent:
                await self._send({"type": "http.response.body", "body": sent, "more_body": True})
        elif self._first:
            self.ended = last
            await self._send(message)
        else:
            await self._fail(body, last=last)

    async def _fail(self, body: bytes, *, last: bool) -> None:
        """An error after the stream has begun is its last event."""
        self._failed += body
        if last:
            self.ended = True
            told = self._failed.decode("utf-8", "replace")
            event = error_event(self._dialect, self._status, "engine_error", told)
            await self._send({"type": "http.response.body", "body": event, "more_body": False})


def _dumped(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
