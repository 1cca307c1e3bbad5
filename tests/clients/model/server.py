"""The endpoint itself: HTTP on loopback, one thread a connection."""

from __future__ import annotations

import gzip
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from tests.clients.model import chat, gemini, messages, responses
from tests.clients.model.turn import Answer, Body, Step, Turn, answer

_DIALECTS: dict[str, ModuleType] = {
    "/messages": messages,
    "/responses": responses,
    "/chat/completions": chat,
    "enerateContent": gemini,  # generateContent and streamGenerateContent
}
MODEL = {"id": "scripted", "object": "model", "type": "model", "created": 1, "owned_by": "tests"}


class ModelServer:
    """A scripted model. Use as a context manager; ``url`` has no slash at its end.

    Attributes:
        script: what to call, one after the other; may be replaced between conversations.
        turns: what was asked, in order of arrival; requests without tools, as for titles, too.
        unknown: requests that no dialect answers, as ``METHOD path``.
    """

    def __init__(self, script: Sequence[Step] = ()) -> None:
        self.script = list(script)
        self.turns: list[Turn] = []
        self.unknown: list[str] = []
        self._lock = threading.Lock()
        self._http = _Server(self)
        self._thread = threading.Thread(target=self._http.serve_forever, name="model")
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def steps(self) -> list[Turn]:
        """The turns in which the model had tools to call."""
        return [turn for turn in self.turns if turn.tools]

    def take(self, turn: Turn) -> tuple[Answer, int]:
        """Note a turn; returns the answer to it and the answer's number."""
        with self._lock:
            self.turns.append(turn)
            return answer(turn, self.script), len(self.turns)


class _Server(ThreadingHTTPServer):
    def __init__(self, model: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Standard error is for failures."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if re.search(r"/models(/|$)", path):
            listing = {"data": [MODEL], "object": "list", "models": [], "has_more": False}
            self._json(listing if path.endswith("/models") else MODEL)
        else:
            self._unknown()

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_POST(self) -> None:
        data = _decoded(self._body(), self.headers.get("Content-Encoding", ""))
        path = self.path.partition("?")[0]
        if path.endswith(("count_tokens", ":countTokens")):
            self._json({"input_tokens": 100, "totalTokens": 100})
            return
        if path.endswith("/render"):
            self._json({"token_ids": [0] * (len(data) // 4)})  # as vLLM tells what a prompt comes to
            return
        dialect = next((module for end, module in _DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:
            self._unknown()
            return
        body: Body = json.loads(data)
        given, number = self.server.model.take(dialect.read(body))
        name = str(body.get("model", "scripted"))
        if body.get("stream") or "stream" in path:
            self._stream(dialect.events(given, number, name), done=dialect is chat)
        else:
            self._json(dialect.whole(given, number, name))

    def _unknown(self) -> None:
        self.server.model.unknown.append(f"{self.command} {self.path}")
        self._send(404, "application/json", b'{"error": {"message": "not here", "type": "not_found"}}')

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return b"".join(_chunks(self.rfile.readline, self.rfile.read))

    def _json(self, value: Body) -> None:
        self._send(200, "application/json", json.dumps(value).encode())

    def _stream(self, events: Iterator[tuple[str, Body]], *, done: bool) -> None:
        parts = [
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n" for name, event in events
        ]
        self._send(200, "text/event-stream", "".join([*parts, "data: [DONE]\n\n" * done]).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):  # the client was ended
            self.close_connection = True


def _chunks(line: Callable[[], bytes], read: Callable[[int], bytes]) -> Iterator[bytes]:
    while size := int(line().split(b";")[0], 16):
        yield read(size)
        line()
    line()


def _decoded(data: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(data)
    if encoding == "deflate":
        return zlib.decompress(data)
    assert encoding in {"", "identity"}, f"a body in {encoding}"
    return data
