"""Where messages are looked into: results replaced, handles resolved, and the added tools run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from mcp_offload.errors import OffloadError, OperationCancelledError
from mcp_offload.lease import DeliveryKind
from mcp_offload.settings import Settings, WrapSettings
from mcp_offload.wire.canned import CLIENT_KEY
from mcp_offload.wire.link import Link
from mcp_offload.wire.messages import JsonObject, Message, RequestId, as_object
from mcp_offload.wire.monitor import CallMonitor
from mcp_offload.wrap import answers
from mcp_offload.wrap.delivery import Deliverer
from mcp_offload.wrap.flights import Flight, call_of
from mcp_offload.wrap.listing import (
    READING,
    Names,
    greeting,
    is_last,
    reading_hint,
    shown_text,
    tool_list,
    tool_names,
)
from mcp_offload.wrap.own import OwnTools, recorded_tools
from mcp_offload.wrap.record import Greeting
from mcp_offload.wrap.replace import Replacer, ToolCall, shown_whole
from mcp_offload.wrap.resolve import carries_handles, resolved

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

WORKERS: Final = 4
#: Results that may wait to be replaced; while there are more, the server is not listened to.
MOST_WAITING: Final = 16

_log = logging.getLogger(__name__)


class Passing(Protocol):
    """How the desk talks to the server."""

    def pass_request(self, message: Message, line: bytes | None = None) -> None:
        """Hand a request of the client's to the server."""
        ...

    def ask(
        self, method: str, params: JsonObject, then: Callable[[JsonObject | None], None], like: Message
    ) -> None:
        """Ask the server something ourselves."""
        ...


class Desk:
    """The work on messages, in threads of its own. Thread-safe."""

    def __init__(
        self,
        link: Link,
        open_service: Callable[[], OffloadService],
        settings: Settings,
        wrap: WrapSettings,
    ) -> None:
        self._link = link
        self._open_service = open_service
        self._wrap = wrap
        self._server = wrap.url or " ".join(wrap.command)[:200]
        self._names = Names()
        self._own = OwnTools(open_service, settings)
        replacer = Replacer(lambda: reading_hint(wrap, self._names), keep_all=wrap.keep_all)
        self._deliverer = Deliverer(open_service, settings, wrap, replacer)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="desk")
        self._room = threading.BoundedSemaphore(MOST_WAITING)
        self._lock = threading.Lock()
        self._running: dict[RequestId, CallMonitor] = {}

    # --- calls ------------------------------------------------------------------------------------

    def takes(self, message: Message, server: Passing) -> bool:
        """Take a tool call that is not simply passed on; False where it is."""
        name, arguments = str(message.params.get("name")), as_object(message.params.get("arguments")) or {}
        if name in self._wrap.resolve and carries_handles(arguments):
            self._start(message, lambda monitor: self._resolve(message, arguments, server, monitor))
            return True
        if not self._wrap.with_tools or not name.endswith(READING):
            return False
        if not self._names.known:
            self._learn_names(message, server)
            return True
        meant = self._names.meant(name)
        if meant is None:
            return False
        self._start(message, lambda monitor: self._call(message, meant, monitor))
        return True

    def _learn_names(self, message: Message, server: Passing, cursor: object = None) -> None:
        """See all of the server's tools first, since one of them may have the name that is called."""

        def then(result: JsonObject | None) -> None:
            last = result is None or is_last(result)
            names = [] if result is None else tool_names(result)
            self._names.note_page(names, first=cursor is None, last=last)
            if result is not None and not last:
                self._learn_names(message, server, result["nextCursor"])
            elif not self.takes(message, server):
                server.pass_request(message)

        # In a thread of its own: it may wait, and what it waits for comes through the server's thread.
        params: JsonObject = {} if cursor is None else {"cursor": cursor}
        server.ask("tools/list", params, lambda result: self._apart(lambda: then(result)), message)

    def _call(self, message: Message, tool: str, monitor: CallMonitor) -> None:
        call = replace(call_of(message.params), tool=tool)
        session, client = self._deliverer.session(call), self._deliverer.client
        result = self._own.call(call, session, client, monitor)
        if Greeting.envelope(message):
            result |= answers.ENVELOPE_RESULT
        self._answer(message, result)

    def _resolve(
        self, message: Message, arguments: JsonObject, server: Passing, monitor: CallMonitor
    ) -> None:
        try:
            filled = resolved(self._open_service(), arguments, monitor)
        except OperationCancelledError:
            return
        except OffloadError as exc:
            text = f"The call was not made. {exc}"
            enveloped = bool(Greeting.envelope(message))
            self._answer(message, answers.tool_error(text, enveloped=enveloped))
            return
        body: JsonObject = {**message.body, "params": {**message.params, "arguments": filled}}
        server.pass_request(message, answers.line_of(body).removesuffix(b"\n"))

    def _answer(self, message: Message, result: JsonObject) -> None:
        assert message.request_id is not None
        self._link.deliver(message.request_id, answers.result_line(message.request_id, result), error=False)

    # --- answers ----------------------------------------------------------------------------------

    def hand_over(self, request_id: RequestId, call: ToolCall, line: bytes, result: JsonObject) -> None:
        """Send a tool's result to the client, replaced where it is too large.

        Blocks while too many wait.
        """
        if self._deliverer.passes_unseen(call, len(line)):
            self._link.deliver(request_id, line + b"\n", error=False)
            self._apart(lambda: self._deliverer.note_passed(call, line, result))
            return
        self._room.acquire()

        def work() -> None:
            try:
                self._replace(request_id, call, line, result)
            finally:
                self._room.release()

        self._apart(work)

    def _replace(self, request_id: RequestId, call: ToolCall, line: bytes, result: JsonObject) -> None:
        monitor = self._watched(request_id)
        try:
            instead = self._deliverer.answer(call, line, result, monitor)
        except OperationCancelledError:
            self._link.settle(request_id)
            return
        except OffloadError as exc:
            _log.warning("a result of %s was not stored: %s", call.tool, exc)
            instead = shown_whole(result, exc)
        except Exception:  # noqa: BLE001 - a defect must not cost a result
            _log.exception("a result of %s could not be replaced", call.tool)
            instead = None
        finally:
            self._forget(request_id)
        raw = line + b"\n" if instead is None else answers.result_line(request_id, instead)
        self._link.deliver(request_id, raw, error=False)

    def changed(self, flight: Flight, result: JsonObject) -> JsonObject:
        """A result that is no tool's: the very same where nothing in it has to change."""
        if flight.method in ("initialize", "server/discover"):
            self._note_client(flight)
            result = greeting(result, self._wrap)
            self._note("instructions", "instructions", str(result.get("instructions") or ""))
            return result
        if flight.method != "tools/list":
            return result
        last = is_last(result)
        self._names.note_page(tool_names(result), first="cursor" not in flight.params, last=last)
        added = recorded_tools() if last and self._wrap.with_tools else {}
        result = tool_list(result, self._wrap, added, self._names.listed())
        self._note("definitions", f"tools {flight.params.get('cursor', '')}", shown_text(result))
        return result

    def _note_client(self, flight: Flight) -> None:
        meta = as_object(flight.params.get("_meta")) or {}
        card = as_object(flight.params.get("clientInfo")) or as_object(meta.get(CLIENT_KEY)) or {}
        self._deliverer.client = str(card.get("name") or "")

    def _note(self, kind: DeliveryKind, name: str, text: str) -> None:
        """Count what every client gets without asking, once it is sent."""
        whose = f"{self._server} {name}".strip()
        self._apart(lambda: self._deliverer.note_standing(kind, whose, text))

    def warm_up(self) -> None:
        """Open the store while the server starts, so that the first large result need not wait for it."""
        self._apart(lambda: self._open_service())

    # --- threads ------------------------------------------------------------------------------------

    def _start(self, message: Message, work: Callable[[CallMonitor], None]) -> None:
        """Do a call's work, which a cancellation stops; a defect costs this call and nothing else."""
        assert message.request_id is not None
        request_id = message.request_id
        monitor = self._watched(request_id)

        def guarded() -> None:
            try:
                work(monitor)
            except Exception:  # noqa: BLE001 - see above
                _log.exception("a call failed")
                text, enveloped = "The call failed here; repeat it once.", bool(Greeting.envelope(message))
                self._answer(message, answers.tool_error(text, enveloped=enveloped))
            finally:
                self._forget(request_id)

        self._apart(guarded)

    def _apart(self, work: Callable[[], object]) -> None:
        def logged() -> None:
            try:
                work()
            except OffloadError as exc:
                _log.warning("%s", exc)
            except Exception:  # noqa: BLE001 - nobody waits for the pool's results
                _log.exception("work on a message failed")

        try:
            self._pool.submit(logged)
        except RuntimeError:  # the pool is closed: so is the connection
            return

    def _watched(self, request_id: RequestId) -> CallMonitor:
        monitor = CallMonitor()
        with self._lock:
            self._running[request_id] = monitor
        return monitor

    def _forget(self, request_id: RequestId) -> None:
        with self._lock:
            self._running.pop(request_id, None)

    def cancel(self, request_id: RequestId) -> None:
        """Stop what is done for a request."""
        with self._lock:
            monitor = self._running.get(request_id)
        if monitor is not None:
            monitor.cancel()

    def close(self) -> None:
        """Stop everything, without waiting for it."""
        with self._lock:
            monitors = list(self._running.values())
        for monitor in monitors:
            monitor.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for what still runs, after :meth:`close`."""
        self._pool.shutdown(wait=True)
