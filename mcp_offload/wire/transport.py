"""The SDK's end of the link: its public stream pair, fed and emptied without a pipe or a thread between.

``Server.run`` takes any pair of message streams. These take messages from the front, which has parsed
them, and hand lines back to it; what the SDK cannot make a message of is answered instead of dropped.
"""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Any, Final, Self

import anyio
import anyio.lowlevel
import anyio.to_thread
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_offload.wire.link import Link
from mcp_offload.wire.messages import INTERNAL_ERROR, INVALID_REQUEST, Message, encode, error_answer
from mcp_offload.wire.scrub import scrub_message

ROOM_SECONDS: Final = 0.5

_log = logging.getLogger(__name__)


class _Closing:
    """The part of a stream that both directions share; closing is the front's business."""

    async def aclose(self) -> None:
        """Do nothing: the front ends the connection."""

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class LinkReader(_Closing):
    """What the client sends, as the SDK's read stream."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._arrived = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._arrived.set)

        link.inbox.listen(wake)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: the front has closed the link.
        """
        await anyio.lowlevel.checkpoint()
        while True:
            # Cleared before looking, so that what arrives in between is not slept through.
            self._arrived.clear()
            message = self._link.inbox.take()
            if message is not None:
                parsed = self._parse(message)
                if parsed is not None:
                    return parsed
            elif self._link.inbox.closed:
                raise anyio.EndOfStream
            else:
                await self._arrived.wait()

    def _parse(self, message: Message) -> SessionMessage | None:
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_python(message.body, by_name=False))
        except ValidationError:
            if message.request_id is not None:
                answer = error_answer(message.request_id, INVALID_REQUEST, "Invalid request")
                self._link.deliver(message.request_id, encode(answer), error=True)
            return None

    def __aiter__(self) -> LinkReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self


class LinkWriter(_Closing):
    """What the SDK sends, as its write stream: scrubbed, encoded and queued for the writer thread."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def send(self, item: SessionMessage) -> None:
        """Queue one message; waits while the client is not reading."""
        while self._link.outbox.full:
            await anyio.to_thread.run_sync(self._link.outbox.wait_for_room, ROOM_SECONDS)
        message = item.message
        request_id = message.id if isinstance(message, JSONRPCResponse | JSONRPCError) else None
        line = encode_message(message)
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._link.deliver(request_id, line, error=isinstance(message, JSONRPCError))
        else:
            self._link.outbox.put(line)

    async def __aenter__(self) -> Self:
        return self


def encode_message(message: JSONRPCMessage) -> bytes:
    """One scrubbed line; a message that is not JSON becomes an internal error to the same request."""
    try:
        return encode(scrub_message(message.model_dump(by_alias=True, exclude_unset=True, mode="json")))
    except (TypeError, ValueError, RecursionError):
        _log.exception("a message could not be encoded")
        request_id = message.id if isinstance(message, JSONRPCResponse | JSONRPCError) else None
        return encode(error_answer(request_id, INTERNAL_ERROR, "Internal error: unencodable answer"))


async def serve_link(server: Server[Any], link: Link) -> None:
    """Run ``server`` over the link until the front closes it."""
    reader, writer = LinkReader(link), LinkWriter(link)
    link.sdk_ready.set()
    await server.run(reader, writer, server.create_initialization_options())
