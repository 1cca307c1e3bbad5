"""A relay between a client, which is a pipe, and a server, which is a function; over a real store."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_offload.service import OffloadService, open_service
from mcp_offload.settings import LeaseSettings, Settings, WrapSettings
from mcp_offload.wire.link import Link
from mcp_offload.wire.messages import Message, read_line
from mcp_offload.wire.outbox import Outbox
from mcp_offload.wrap.desk import Desk
from mcp_offload.wrap.relay import Relay
from mcp_offload.wrap.upstream import Listener
from tests.interaction.harness import settings_in

Json = dict[str, Any]
Handler = Callable[["Server", Json], None]
OFF = LeaseSettings(mode="off")


class Server:
    """One life of a server: what it is sent goes to ``handler``, in the sender's thread."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.sent: list[Json] = []
        self.closed = threading.Event()
        self.listener: Listener | None = None
        self.last_words = "the last words"

    def start(self, listener: Listener) -> None:
        self.listener = listener

    def send(self, line: bytes) -> bool:
        message = json.loads(line)
        self.sent.append(message)
        self._handler(self, message)
        return True

    def close(self) -> None:
        self.closed.set()

    def say(self, message: Json) -> None:
        """Say something to the client."""
        assert self.listener is not None
        self.listener.on_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def end(self, reason: str = "ended with exit status 1") -> None:
        """Be gone."""
        assert self.listener is not None
        self.listener.on_end(reason)

    def methods(self) -> list[str]:
        """What it was sent, by method."""
        return [message.get("method", "answer") for message in self.sent]


class Relayed:
    """The client's end, and the lives of the server in order."""

    def __init__(self, settings: Settings, wrap: WrapSettings, service: OffloadService, handler: Handler):
        self.lives: list[Server] = []
        self.now = 1_000.0
        self.service = service
        reads, writes = os.pipe()
        self._reads = os.fdopen(reads, "rb")
        self._writes = writes
        self.link = Link(Outbox(writes, lambda: None), lambda: None)
        self.link.outbox.start()
        self.desk = Desk(self.link, lambda: service, settings, wrap)
        self.relay = Relay(self.link, lambda: self._live(handler), self.desk, wrap, lambda: self.now)
        self._last_id = 0

    def _live(self, handler: Handler) -> Server:
        self.lives.append(Server(handler))
        return self.lives[-1]

    def tell(self, message: Json) -> None:
        """Send a message as the front does."""
        parsed = read_line(json.dumps({"jsonrpc": "2.0", **message}).encode())
        assert isinstance(parsed, Message)
        if parsed.method == "notifications/cancelled":
            self.link.cancel(parsed.params["requestId"])  # type: ignore[arg-type]
        self.relay.from_client(parsed)

    def ask(self, method: str, params: Json | None = None, request_id: int | str | None = None) -> Any:
        """Send a request; its id."""
        self._last_id += 1
        used = self._last_id if request_id is None else request_id
        self.tell({"id": used, "method": method, "params": params or {}})
        return used

    def receive(self) -> Json:
        """The next message to the client."""
        message: Json = json.loads(self._reads.readline())
        return message

    def call(self, tool: str, meta: Json | None = None, **arguments: Any) -> Json:
        """The result of a call."""
        params: Json = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
        request_id = self.ask("tools/call", params)
        answer = self.receive()
        assert answer["id"] == request_id
        result: Json = answer["result"]
        return result

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a call's result."""
        text: str = self.call(tool, **arguments)["content"][0]["text"]
        return text

    def greet(self) -> Json:
        """Shake hands."""
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c"}}
        self.ask("initialize", params)
        result: Json = self.receive()["result"]
        self.tell({"method": "notifications/initialized"})
        return result

    def close(self) -> None:
        self.desk.close()
        self.desk.join()
        self.link.outbox.close()
        self.link.outbox.join()
        os.close(self._writes)
        self._reads.close()


def plain(server: Server, message: Json) -> None:
    """A server whose every tool repeats the text that it is given, in the number asked for."""
    params = message.get("params", {})
    match message.get("method"):
        case "initialize":
            result: Json = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "plain", "version": "1"}
        case "tools/list":
            result = {"tools": [{"name": "say", "inputSchema": {}, "outputSchema": {}}]}
        case "tools/call" if params["name"] == "quiet":
            return
        case "tools/call":
            arguments = params["arguments"]
            text = arguments.get("text", "") * arguments.get("times", 1)
            result = {"content": [{"type": "text", "text": text}]}
        case _ if "method" in message and "id" in message:
            result = {"echo": params}
        case _:
            return
    server.say({"id": message["id"], "result": result})


@contextmanager
def relayed(
    folder: Path,
    handler: Handler = plain,
    *,
    lease: LeaseSettings = OFF,
    identity: str = "session:test",
    **wrap: Any,
) -> Iterator[Relayed]:
    """A relay over a store in ``folder``, without a lease unless one is given."""
    settings = replace(settings_in(folder), lease=lease, identity=identity)
    with open_service(settings) as service:
        client = Relayed(settings, WrapSettings(command=("plain",), **wrap), service, handler)
        try:
            yield client
        finally:
            client.close()
