"""Between the client and the wrapped server: passes messages on, and steps in where it has to."""

from __future__ import annotations

import logging
import posixpath
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from mcp_offload.settings import WrapSettings
from mcp_offload.wire.lines import MAX_LINE_BYTES
from mcp_offload.wire.link import Link
from mcp_offload.wire.messages import (
    CONNECTION_CLOSED,
    JsonObject,
    Message,
    RequestId,
    as_object,
    as_request_id,
    read_line,
)
from mcp_offload.wrap import answers
from mcp_offload.wrap.cut import Oversized
from mcp_offload.wrap.desk import Desk
from mcp_offload.wrap.flights import Flight, Flights
from mcp_offload.wrap.lives import Lives
from mcp_offload.wrap.record import Greeting
from mcp_offload.wrap.upstream import Upstream, UpstreamError

#: Every id of a request that is ours and not the client's.
OWN_ID: Final = "mcp-offload:"
REPLAY_SECONDS: Final = 60.0
ROOM_SECONDS: Final = 0.5
JUNK_LOGGED: Final = 10

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _State:
    """What both directions share, under the relay's lock."""

    upstream: Upstream | None = None
    flights: Flights = field(default_factory=Flights)
    #: The server's requests that the client has not answered.
    asked: set[RequestId] = field(default_factory=set[RequestId])
    own: dict[RequestId, Callable[[JsonObject | None], None]] = field(
        default_factory=dict[RequestId, Callable[[JsonObject | None], None]]
    )
    own_ids: int = 0
    ended: str = ""
    words: str = ""
    junk: int = 0


class Relay:
    """One client and the lives of one server.

    ``from_client`` is called by one thread, in order; what the server says comes from another.
    """

    def __init__(
        self,
        link: Link,
        make_upstream: Callable[[], Upstream],
        desk: Desk,
        wrap: WrapSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._make_upstream = make_upstream
        self._desk = desk
        self._wrap = wrap
        self._clock = clock
        self._lives = Lives()
        self._greeting = Greeting(wrap.url or posixpath.basename(wrap.command[0]))
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._state = _State()

    # --- from the client ------------------------------------------------------------------------

    def from_client(self, message: Message) -> None:
        """Pass a message on to the server, starting it where it is not there; or answer it here."""
        if message.method is None:
            self._pass_answer(message)
        elif message.request_id is None:
            self._pass_notification(message)
        elif message.method == "tools/call" and self._desk.takes(message, self):
            return
        else:
            self.pass_request(message)

    def pass_request(self, message: Message, line: bytes | None = None) -> None:
        """Hand a request to the server; ``line`` stands for the client's own where it was changed."""
        assert message.request_id is not None
        upstream = self._alive(message)
        if upstream is None:
            return
        self._greeting.note(message)
        with self._lock:
            self._state.flights.add(message, self._clock())
        self._send(upstream, message.line if line is None else line)

    def _pass_answer(self, message: Message) -> None:
        request_id = as_request_id(message.body.get("id"))
        with self._lock:
            # Asked by a former life of the server, perhaps: the present one would not know of it.
            known = request_id is not None and request_id in self._state.asked
            upstream = self._state.upstream
            if known and request_id is not None:
                self._state.asked.discard(request_id)
                self._state.flights.heard(None, self._clock())
        if known and upstream is not None:
            self._send(upstream, message.line)

    def _pass_notification(self, message: Message) -> None:
        self._greeting.note(message)
        if message.method == "notifications/cancelled":
            request_id = as_request_id(message.params.get("requestId"))
            if request_id is not None:
                self._desk.cancel(request_id)
                with self._lock:
                    self._state.flights.pop(request_id)
        with self._lock:
            upstream = self._state.upstream
        if upstream is not None:
            self._send(upstream, message.line)

    def ask(
        self, method: str, params: JsonObject, then: Callable[[JsonObject | None], None], like: Message
    ) -> None:
        """Ask the server something ourselves; ``then`` gets the result, or None where there is none.

        ``like``: a request of the client's, in whose protocol version it is asked.
        """
        upstream = self._alive(like)
        if upstream is None:
            return
        with self._lock:
            self._state.own_ids += 1
            request_id = f"{OWN_ID}{self._state.own_ids}"
            self._state.own[request_id] = then
        meta = self._greeting.envelope(like)
        body: JsonObject = {**params, "_meta": meta} if meta else dict(params)
        request: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": body}
        self._send(upstream, answers.line_of(request).removesuffix(b"\n"))

    # --- the server's lives -----------------------------------------------------------------------

    def _alive(self, message: Message) -> Upstream | None:
        """The server, started where it is not there; None where it cannot be, and that is answered."""
        with self._starting:
            with self._lock:
                upstream = self._state.upstream
            if upstream is not None:
                return upstream
            problem = self._start(replay=message.method != "initialize")
            if problem is None:
                with self._lock:
                    return self._state.upstream
        self._fail(message, problem)
        return None

    def _start(self, *, replay: bool) -> str | None:
        """Start the server; None, or why it is not there."""
        server, state = self._greeting.server, self._state
        wait_seconds = self._lives.take(self._clock())
        if wait_seconds:
            return answers.resting_text(server, wait_seconds, state.ended or "ended", state.words)
        upstream = self._make_upstream()
        with self._lock:
            state.upstream = upstream
        try:
            upstream.start(_Ear(self, upstream))
        except UpstreamError as exc:
            with self._lock:
                state.upstream, state.ended = None, f"could not be started: {exc}"
            return answers.not_started_text(server, state.ended, "")
        return self._replay(upstream) if replay and self._greeting.shaken else None

    def _replay(self, upstream: Upstream) -> str | None:
        """Shake hands with a new life as the client did with the first, before anything else is sent."""
        done = threading.Event()
        answered: list[JsonObject | None] = []

        def then(result: JsonObject | None) -> None:
            answered.append(result)
            done.set()

        with self._lock:
            self._state.own_ids += 1
            request_id = f"{OWN_ID}{self._state.own_ids}"
            self._state.own[request_id] = then
        self._send(upstream, self._greeting.again(request_id))
        if not done.wait(REPLAY_SECONDS) or answered[0] is None:
            with self._lock:
                ended, words = self._state.ended or "does not answer", self._state.words
                self._state.upstream = None
            upstream.close()
            return answers.not_started_text(self._greeting.server, ended, words)
        for line in self._greeting.afterwards():
            self._send(upstream, line)
        return None

    def _send(self, upstream: Upstream, line: bytes) -> None:
        if not upstream.send(line):
            self.ended(upstream, "stopped reading what it is sent")

    def ended(self, upstream: Upstream, reason: str) -> None:
        """Answer all that a server which has ended will not answer any more."""
        words = upstream.last_words
        with self._lock:
            state = self._state
            if state.upstream is not upstream:
                return
            state.upstream, state.ended, state.words = None, reason, words
            flights = [(one, flight) for one in state.flights if (flight := state.flights.pop(one))]
            asked, own = list(state.asked), list(state.own.values())
            state.asked.clear()
            state.own.clear()
        upstream.close()
        _log.warning("%s %s", self._greeting.server, reason)
        for then in own:
            then(None)
        for request_id in asked:
            params: JsonObject = {"requestId": request_id, "reason": "the server has ended"}
            self._link.outbox.put(answers.line_of(_notification("notifications/cancelled", params)))
        text = answers.ended_text(self._greeting.server, reason, words)
        for request_id, flight in flights:
            self._give_up(request_id, flight, text)

    # --- from the server ----------------------------------------------------------------------------

    def from_server(self, line: bytes | Oversized, upstream: Upstream) -> None:
        """Pass a message on to the client; a large result is replaced first, in another thread."""
        with self._lock:
            if self._state.upstream is not upstream:
                return
        # A client that does not read holds the server up, and nothing piles up here.
        while self._link.outbox.full:
            self._link.outbox.wait_for_room(ROOM_SECONDS)
        if isinstance(line, Oversized):
            self._refuse(line)
            return
        message = read_line(line)
        if not isinstance(message, Message):
            if message is not None:
                self._note_junk(line)
        elif message.method is None:
            self._take_answer(message, line)
        else:
            self._note_sign(message)
            self._link.outbox.put(line + b"\n")

    def _note_sign(self, message: Message) -> None:
        """Note what a request or notification of the server's says about its calls."""
        with self._lock:
            state = self._state
            if message.request_id is not None:
                state.asked.add(message.request_id)
            elif message.method == "notifications/progress":
                token = as_request_id(message.params.get("progressToken"))
                if token is not None:
                    state.flights.heard(token, self._clock())
            elif message.method == "notifications/cancelled":
                request_id = as_request_id(message.params.get("requestId"))
                if request_id is not None:
                    state.asked.discard(request_id)

    def _take_answer(self, message: Message, line: bytes) -> None:
        request_id = as_request_id(message.body.get("id"))
        if request_id is None:
            _log.warning("%s answered nobody: %s", self._greeting.server, line[:200])
            return
        result = as_object(message.body.get("result"))
        with self._lock:
            then = self._state.own.pop(request_id, None)
            flight = self._state.flights.pop(request_id) if then is None else None
            if flight is not None and result is not None:
                self._state.flights.note_task(flight, result)
        if then is not None:
            then(result)
        elif flight is None:
            return
        elif flight.method == "tools/call" and (reason := _lost(message)) is not None:
            self._give_up(request_id, flight, answers.unanswered_text(self._greeting.server, reason))
        else:
            self._deliver(request_id, flight, line, result)

    def _deliver(self, request_id: RequestId, flight: Flight, line: bytes, result: JsonObject | None) -> None:
        """Send an answer to the client: as it is, changed, or replaced."""
        if result is None:
            self._link.deliver(request_id, line + b"\n", error=True)
        elif flight.call is not None:
            self._desk.hand_over(request_id, flight.call, line, result)
        else:
            changed = self._desk.changed(flight, result)
            self._greeting.note_answer(flight.method, result)
            raw = line + b"\n" if changed is result else answers.result_line(request_id, changed)
            self._link.deliver(request_id, raw, error=False)

    def _refuse(self, line: Oversized) -> None:
        """Answer in place of a message that was too long to be taken."""
        text = answers.oversized_text(self._greeting.server, line.size_bytes, MAX_LINE_BYTES)
        named = line.request_id()
        with self._lock:
            # Where its id does not stand at an end, it may be the answer to any of those on their way.
            meant = [named] if named is not None else list(self._state.flights)
            flights = [(one, flight) for one in meant if (flight := self._state.flights.pop(one))]
        for request_id, flight in flights:
            self._give_up(request_id, flight, text)

    def _note_junk(self, line: bytes) -> None:
        self._state.junk += 1
        if self._state.junk <= JUNK_LOGGED:
            _log.warning("%s printed what is no message: %r", self._greeting.server, line[:200])

    # --- giving up ------------------------------------------------------------------------------------

    def expire(self) -> None:
        """Give up calls that have been silent for too long; while the client is asked, none is."""
        now = self._clock()
        with self._lock:
            state = self._state
            if state.asked:
                state.flights.heard(None, now)
            late = state.flights.overdue(now - self._wrap.silence_seconds)
            flights = [(one, flight) for one in late if (flight := state.flights.pop(one))]
            upstream = state.upstream
        text = answers.silent_text(self._greeting.server, self._wrap.silence_seconds)
        for request_id, flight in flights:
            if upstream is not None:
                params: JsonObject = {"requestId": request_id, "reason": "no sign of life"}
                cancelled = _notification("notifications/cancelled", params)
                upstream.send(answers.line_of(cancelled).removesuffix(b"\n"))
            self._give_up(request_id, flight, text)

    def patience(self) -> float | None:
        """Seconds until :meth:`expire` may have something to do; None where nothing is on its way."""
        with self._lock:
            oldest = self._state.flights.oldest()
        return None if oldest is None else max(0.05, oldest + self._wrap.silence_seconds - self._clock())

    def _give_up(self, request_id: RequestId, flight: Flight, text: str) -> None:
        if flight.method == "tools/call":
            line = answers.result_line(request_id, answers.tool_error(text, enveloped=flight.enveloped))
        else:
            line = answers.failure_line(request_id, text)
        self._link.deliver(request_id, line, error=flight.method != "tools/call")

    def _fail(self, message: Message, text: str) -> None:
        flights = Flights()
        flights.add(message, 0.0)
        assert message.request_id is not None
        flight = flights.pop(message.request_id)
        assert flight is not None
        self._give_up(message.request_id, flight, text)

    def close(self) -> None:
        """Have the server end."""
        with self._lock:
            upstream, self._state.upstream = self._state.upstream, None
        if upstream is not None:
            with suppress(OSError):
                upstream.close()


class _Ear:
    """Hears one life of the server."""

    def __init__(self, relay: Relay, upstream: Upstream) -> None:
        self._relay = relay
        self._upstream = upstream

    def on_line(self, line: bytes | Oversized) -> None:
        self._relay.from_server(line, self._upstream)

    def on_end(self, reason: str) -> None:
        self._relay.ended(self._upstream, reason)


def _lost(message: Message) -> str | None:
    """Why a request was not answered, where that is what its answer says; a model sees no protocol error."""
    error = as_object(message.body.get("error")) or {}
    return str(error.get("message")) if error.get("code") == CONNECTION_CLOSED else None


def _notification(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}
