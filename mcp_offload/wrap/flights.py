"""The client's requests that the wrapped server has not answered yet. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_offload.wire.canned import VERSION_KEY
from mcp_offload.wire.messages import JsonObject, Message, RequestId, as_object, as_request_id
from mcp_offload.wrap.replace import ToolCall

#: Tasks whose results may still be asked for.
MOST_TASKS: Final = 1_000


def call_of(params: JsonObject) -> ToolCall:
    """The call that a request's parameters make."""
    arguments, meta = as_object(params.get("arguments")) or {}, as_object(params.get("_meta")) or {}
    return ToolCall(str(params.get("name")), arguments, meta)


@dataclass(slots=True)
class Flight:
    """One request on its way.

    Attributes:
        call: the tool call whose result the answer may hold, or None.
        token: by which progress is told of it, or None.
        enveloped: it carries its protocol version itself.
        heard_at: when it last gave a sign of life, in seconds of the relay's clock.
    """

    method: str
    params: JsonObject
    call: ToolCall | None
    token: RequestId | None
    enveloped: bool
    heard_at: float


class Flights:
    """The book of them. Not thread-safe."""

    def __init__(self) -> None:
        self._flights: dict[RequestId, Flight] = {}
        self._tasks: OrderedDict[str, ToolCall] = OrderedDict()

    def __iter__(self) -> Iterator[RequestId]:
        return iter(tuple(self._flights))

    def add(self, message: Message, now: float) -> None:
        """Note a request that is passed on."""
        assert message.request_id is not None
        params = message.params
        meta = as_object(params.get("_meta")) or {}
        self._flights[message.request_id] = Flight(
            method=message.method or "",
            params=params,
            call=self._call(message.method, params),
            token=as_request_id(meta.get("progressToken")),
            enveloped=VERSION_KEY in meta,
            heard_at=now,
        )

    def _call(self, method: str | None, params: JsonObject) -> ToolCall | None:
        if method == "tools/call":
            return call_of(params)
        if method in ("tasks/result", "tasks/get"):
            return self._tasks.get(str(params.get("taskId")))
        return None

    def pop(self, request_id: RequestId) -> Flight | None:
        """Take a request out; None where it is not in the book (any more)."""
        return self._flights.pop(request_id, None)

    def note_task(self, flight: Flight, result: JsonObject) -> None:
        """Where a call was answered by a task, remember whose result that task will have."""
        task = as_object(result.get("task"))
        if flight.call is None or task is None or not isinstance(task.get("taskId"), str):
            return
        self._tasks[str(task["taskId"])] = flight.call
        if len(self._tasks) > MOST_TASKS:
            self._tasks.popitem(last=False)

    def heard(self, token: RequestId | None, now: float) -> None:
        """Note a sign of life: of the request with this progress token, or of all where it is None."""
        for flight in self._flights.values():
            if token is None or flight.token == token:
                flight.heard_at = now

    def overdue(self, before: float) -> list[RequestId]:
        """The tool calls that were last heard of before then."""
        return [
            request_id
            for request_id, flight in self._flights.items()
            if flight.method == "tools/call" and flight.heard_at < before
        ]

    def oldest(self) -> float | None:
        """When the tool call was heard of that has been silent for longest; None where there is none."""
        return min((f.heard_at for f in self._flights.values() if f.method == "tools/call"), default=None)
