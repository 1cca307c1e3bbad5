"""What the two sides agreed on, so that a server that is started again can be greeted as before."""

from __future__ import annotations

import json
import threading
from typing import Final, cast

from mcp_offload.wire.canned import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY
from mcp_offload.wire.messages import JsonObject, Message, RequestId, as_object, encode

_ENVELOPE: Final = (VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY)
_AGAIN: Final = "mcp-offload:again:"


class Greeting:
    """The handshake and what followed it. Thread-safe.

    ``server`` is what the server calls itself, or what it was started by before it has said so.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self._lock = threading.Lock()
        self._initialize: JsonObject | None = None
        self._initialized: bytes | None = None
        self._level: JsonObject | None = None
        self._subscriptions: dict[str, JsonObject] = {}

    @property
    def shaken(self) -> bool:
        """Whether hands were shaken, which a new life of the server has to do again."""
        with self._lock:
            return self._initialize is not None and self._initialized is not None

    def note(self, message: Message) -> None:
        """Take in what the client says."""
        with self._lock:
            match message.method:
                case "initialize":
                    self._initialize, self._initialized = message.body, None
                case "notifications/initialized":
                    self._initialized = message.line
                case "logging/setLevel":
                    self._level = message.body
                case "resources/subscribe":
                    self._subscriptions[str(message.params.get("uri"))] = message.body
                case "resources/unsubscribe":
                    self._subscriptions.pop(str(message.params.get("uri")), None)
                case _:
                    pass

    def note_answer(self, method: str, result: JsonObject) -> None:
        """Take in how the server introduces itself."""
        info = as_object(result.get("serverInfo")) if method in ("initialize", "server/discover") else None
        if info is not None and isinstance(name := info.get("name"), str) and name:
            self.server = name[:60]

    def again(self, request_id: RequestId) -> bytes:
        """The client's ``initialize``, asked by ourselves."""
        with self._lock:
            return _line({**(self._initialize or {}), "id": request_id})

    def afterwards(self) -> list[bytes]:
        """What followed the handshake and still holds; nobody waits for the answers."""
        with self._lock:
            kept = [*([self._level] if self._level else []), *self._subscriptions.values()]
            lines = [_line({**body, "id": f"{_AGAIN}{n}"}) for n, body in enumerate(kept)]
            return [self._initialized or b"", *lines]

    @staticmethod
    def envelope(message: Message) -> JsonObject:
        """What a request of ours has to carry to be of the same protocol version as the client's."""
        meta = as_object(message.params.get("_meta")) or {}
        return {key: meta[key] for key in _ENVELOPE if key in meta}


def _line(body: JsonObject) -> bytes:
    try:
        return encode(body).removesuffix(b"\n")
    except ValueError:  # a lone surrogate, which only its escape can carry
        return json.dumps(cast("object", body)).encode()
