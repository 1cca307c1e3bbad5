"""What the front and the SDK behind it share: messages in, lines out, and who has been answered.

Standard library only: the front uses it while the SDK is still being loaded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from mcp_offload.wire.messages import JsonObject, Message, RequestId, encode
from mcp_offload.wire.outbox import Outbox

FULL_BYTES: Final = 32 << 20


class Inbox:
    """Messages waiting for the SDK. Thread-safe.

    ``on_room`` is called after the backlog fell below half of what makes it :attr:`full`.
    """

    def __init__(self, on_room: Callable[[], None]) -> None:
        self._messages: deque[Message] = deque()
        self._held_bytes = 0
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self._on_room = on_room
        self.closed = False

    def put(self, message: Message) -> None:
        """Queue a message for the SDK. Never blocks."""
        with self._lock:
            self._messages.append(message)
            self._held_bytes += message.size_bytes
            wake = self._wake
        if wake is not None:
            wake()

    def take(self) -> Message | None:
        """Return the oldest message, or None where there is none."""
        with self._lock:
            if not self._messages:
                return None
            message = self._messages.popleft()
            before = self._held_bytes
            self._held_bytes -= message.size_bytes
            crossed = self._held_bytes <= FULL_BYTES // 2 < before
        if crossed:
            self._on_room()
        return message

    @property
    def full(self) -> bool:
        """True while reading from the client should pause."""
        return self._held_bytes > FULL_BYTES

    def listen(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called, from any thread, whenever a message arrives or the inbox closes."""
        with self._lock:
            self._wake = wake

    def close(self) -> None:
        """Say that nothing more will come."""
        self.closed = True
        with self._lock:
            wake = self._wake
        if wake is not None:
            wake()


class Link:
    """Both directions of one connection. Thread-safe."""

    def __init__(self, outbox: Outbox, on_room: Callable[[], None]) -> None:
        self.inbox = Inbox(on_room)
        self.outbox = outbox
        self.sdk_ready = threading.Event()
        self._lock = threading.Lock()
        self._waiting: dict[RequestId, str] = {}
        self._answered_early: set[RequestId] = set()
        self._closed = False

    def pass_on(self, message: Message) -> None:
        """Hand a message to the SDK and remember a request as waiting."""
        if message.request_id is not None:
            with self._lock:
                self._waiting[message.request_id] = message.method or ""
        self.inbox.put(message)

    def answer_early(self, request_id: RequestId, answer: JsonObject) -> None:
        """Answer a request before the SDK can; the SDK's own answer to it will be dropped."""
        with self._lock:
            self._answered_early.add(request_id)
        self.outbox.put(encode(answer))

    def cancel(self, request_id: RequestId) -> bool:
        """Note that the client cancelled a request; False where that must not reach the SDK.

        A request already answered early is let through to its (dropped) end, so that the book stays
        balanced.
        """
        with self._lock:
            if request_id in self._answered_early:
                return False
            self._waiting.pop(request_id, None)
            return True

    def deliver(self, request_id: RequestId | None, line: bytes, *, error: bool) -> None:
        """Send the SDK's answer to a request, unless the request has been answered already.

        An error in place of an answer that was given early is logged: the client believes otherwise.
        """
        with self._lock:
            method = self._waiting.pop(request_id, "") if request_id is not None else ""
            late = self._closed or request_id in self._answered_early
            if request_id is not None:
                self._answered_early.discard(request_id)
        if not late:
            self.outbox.put(line)
        elif error and not self._closed:
            import logging  # takes longer to load than the rest of the front

            log = logging.getLogger(__name__)
            log.error("the SDK refused a %s that was already answered: %s", method, line.decode().strip())

    def settle(self, request_id: RequestId) -> None:
        """Note that a request ended without an answer."""
        with self._lock:
            self._waiting.pop(request_id, None)
            self._answered_early.discard(request_id)

    def close(self) -> list[RequestId]:
        """Stop passing on answers; return the requests still waiting for one."""
        with self._lock:
            self._closed = True
            return [one for one in self._waiting if one not in self._answered_early]
