"""A wrapped server that is reached by streamable HTTP, through the SDK's own transport."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any, Final, cast

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter

from mcp_offload.wire.canned import VERSION_KEY
from mcp_offload.wire.lines import MAX_LINE_BYTES
from mcp_offload.wire.messages import JsonObject, as_object, encode
from mcp_offload.wrap.listing import tools_in
from mcp_offload.wrap.upstream import Listener

#: Of connecting alone: how long an answer may take is the caller's to say.
CONNECT_SECONDS: Final = 30.0
START_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


class HttpUpstream:
    """A server at a URL; ``headers`` go with every request."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[bytes | None] | None = None
        self._ready = threading.Event()
        self._closed = threading.Event()
        self._stamps = Stamps()

    @property
    def last_words(self) -> str:
        """Nothing: what it prints stays where it runs."""
        return ""

    def start(self, listener: Listener) -> None:
        """Start the thread that talks to it; the first message connects."""
        threading.Thread(target=self._run, args=(listener,), name="upstream", daemon=True).start()
        self._ready.wait(START_SECONDS)

    def send(self, line: bytes) -> bool:
        """Queue a message."""
        self._put(line)
        return True

    def close(self) -> None:
        """Take leave of it."""
        self._closed.set()
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        loop, queue = self._loop, self._queue
        if loop is not None and queue is not None and not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, line)

    def _run(self, listener: Listener) -> None:
        reason = "closed the connection"
        try:
            anyio.run(self._talk, listener)
        except BaseExceptionGroup as group:
            reason = f"could not be reached: {_first(group)}"
        except Exception as exc:  # noqa: BLE001 - whatever it was, this connection is over and is told so
            reason = f"could not be reached: {exc}"
        finally:
            self._ready.set()
        if not self._closed.is_set():
            listener.on_end(reason)

    async def _talk(self, listener: Listener) -> None:
        self._loop, self._queue = asyncio.get_running_loop(), asyncio.Queue()
        self._ready.set()
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        async with (
            httpx2.AsyncClient(headers=dict(self._headers), timeout=timeout) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as (
                reads,
                writes,
            ),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._forward, writes, tasks)
            async for received in reads:
                if isinstance(received, Exception):
                    _log.warning("the server's answer could not be read: %s", received)
                    continue
                self._stamps.note_answer(received.message)
                listener.on_line(_line(received.message))
            tasks.cancel_scope.cancel()

    async def _forward(self, writes: Any, tasks: anyio.abc.TaskGroup) -> None:
        assert self._queue is not None
        while (line := await self._queue.get()) is not None:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            headers = self._stamps.headers(cast("JsonObject", json.loads(line)))
            metadata = ClientMessageMetadata(headers=headers) if headers else None
            await writes.send(SessionMessage(message, metadata))
        tasks.cancel_scope.cancel()


class Stamps:
    """The headers by which HTTP repeats what a message says.

    Source: MCP specification 2026-07-28 and 2025-06-18, "Streamable HTTP".
    """

    def __init__(self) -> None:
        self._version: str | None = None
        self._asked: dict[int | str, str] = {}
        self._maps: dict[str, Any] = {}

    def headers(self, message: JsonObject) -> dict[str, str]:
        """The headers of a message from the client; empty before a version is agreed on."""
        method = message.get("method")
        params = as_object(message.get("params")) or {}
        request_id = message.get("id")
        if isinstance(method, str) and isinstance(request_id, int | str):
            self._asked[request_id] = method
        version = (as_object(params.get("_meta")) or {}).get(VERSION_KEY)
        if not isinstance(version, str):
            known = self._version if method != "initialize" else None
            return {} if known is None else {MCP_PROTOCOL_VERSION_HEADER: known}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version}
        if isinstance(method, str):
            headers[MCP_METHOD_HEADER] = method
            headers |= self._named(method, params)
        return headers

    def _named(self, method: str, params: JsonObject) -> dict[str, str]:
        key = NAME_BEARING_METHODS.get(method)
        name = params.get(key) if key else None
        if not isinstance(name, str):
            return {}
        headers = {MCP_NAME_HEADER: encode_header_value(name)}
        if method == "tools/call" and name in self._maps:
            headers |= mcp_param_headers(self._maps[name], as_object(params.get("arguments")) or {})
        return headers

    def note_answer(self, message: JSONRPCMessage) -> None:
        """Take in the version agreed on, and which arguments of which tools are repeated in headers."""
        if not isinstance(message, JSONRPCResponse):
            return
        method = self._asked.pop(message.id, None)
        if method == "initialize" and isinstance(version := message.result.get("protocolVersion"), str):
            self._version = version
        elif method == "tools/list":
            for tool in tools_in(cast("JsonObject", message.result)):
                schema = as_object(tool.get("inputSchema"))
                if schema is not None and find_invalid_x_mcp_header(schema) is None:
                    self._maps[str(tool.get("name"))] = x_mcp_header_map(schema)


def _line(message: JSONRPCMessage) -> bytes:
    body = message.model_dump(by_alias=True, exclude_unset=True, mode="json")
    try:
        return encode(body).removesuffix(b"\n")
    except ValueError:  # a lone surrogate, which only its escape can carry
        return json.dumps(body, separators=(",", ":")).encode()


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = cast("tuple[BaseException, ...]", error.exceptions)[0]
    return str(error) or type(error).__name__
