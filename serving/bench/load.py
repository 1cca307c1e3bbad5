"""A client that costs little: raw HTTP on loopback, and the times at which what it asked for came."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import urlsplit

_SENT: Final = re.compile(rb'"sent_ns":(\d+)')
_END: Final = b"data: [DONE]"
_LONGEST_EVENT_BYTES: Final = 1024


@dataclass(slots=True)
class Streamed:
    """What several streams at once came to.

    Attributes:
        seconds: from the first request to the last byte.
        delays: seconds from an event's writing to its arrival, for each.
    """

    seconds: float = 0.0
    delays: list[float] = field(default_factory=list[float])


class _Stream(asyncio.Protocol):
    """One streamed request on a connection of its own."""

    def __init__(self, request: bytes, delays: list[float], done: asyncio.Future[None]) -> None:
        self._request = request
        self._delays = delays
        self._done = done
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        data = self._rest + data
        end = 0
        for found in _SENT.finditer(data):
            if found.end() == len(data):
                break  # the number may go on in what comes next
            self._delays.append((now - int(found[1])) / 1e9)
            end = found.end()
        self._rest = data[max(end, len(data) - _LONGEST_EVENT_BYTES) :]
        if _END in self._rest:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done.done():
            return
        if _END in self._rest:
            self._done.set_result(None)
        else:
            self._done.set_exception(ConnectionError(f"a stream ended early: {self._rest[-300:]!r}"))


async def stream(url: str, path: str, bodies: list[dict[str, Any]]) -> Streamed:
    """Send streaming requests at once, each on its own connection.

    Raises:
        ConnectionError: a stream ended before its end.
    """
    loop = asyncio.get_running_loop()
    at = urlsplit(url)
    assert at.hostname is not None and at.port is not None, f"{url} names no host and port"
    result = Streamed()
    started = time.monotonic()
    ends: list[asyncio.Future[None]] = []
    for body in bodies:
        done: asyncio.Future[None] = loop.create_future()
        request = _request(at.netloc, path, body)
        await loop.create_connection(
            lambda request=request, done=done: _Stream(request, result.delays, done), at.hostname, at.port
        )
        ends.append(done)
    await asyncio.gather(*ends)
    result.seconds = time.monotonic() - started
    return result


class Connection:
    """One kept-alive connection for one request after the other."""

    def __init__(self, url: str) -> None:
        self._http = HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._http.connect()

    def post(self, path: str, body: bytes) -> float:
        """Send a request and read its whole answer; returns the seconds that it took.

        Raises:
            ConnectionError: its status is not 200.
        """
        started = time.perf_counter()
        self._http.request("POST", path, body, {"content-type": "application/json"})
        answer = self._http.getresponse()
        read = answer.read()
        seconds = time.perf_counter() - started
        if answer.status != 200:
            raise ConnectionError(f"status {answer.status}: {read[:300]!r}")
        return seconds

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def _request(host: str, path: str, body: dict[str, Any]) -> bytes:
    sent = json.dumps({**body, "stream": True}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent
