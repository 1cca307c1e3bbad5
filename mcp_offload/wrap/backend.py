"""What stands behind the front of a wrapped server: the relay, its desk, and the service."""

from __future__ import annotations

import logging
import threading
import uuid
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_offload.settings import Settings, WrapSettings
from mcp_offload.wire.lazy import LazyService
from mcp_offload.wire.link import Link
from mcp_offload.wire.messages import INTERNAL_ERROR, Message, encode, error_answer
from mcp_offload.wrap.desk import Desk
from mcp_offload.wrap.process import ProcessUpstream
from mcp_offload.wrap.relay import Relay
from mcp_offload.wrap.upstream import Upstream

if TYPE_CHECKING:
    from mcp_offload.parsing import ParserWorker
    from mcp_offload.service import OffloadService

_log = logging.getLogger(__name__)


class WrapBackend:
    """Relays between the front and the wrapped server."""

    def __init__(self, settings: Settings, wrap: WrapSettings) -> None:
        # Of what is sent here and what is read here the same lease keeps count.
        identity = settings.identity or f"process:{uuid.uuid4().hex}"
        self._settings = replace(settings, identity=identity)
        self._wrap = wrap
        self._service = LazyService(self._open_service)
        self._parser: ParserWorker | None = None
        self._desk: Desk | None = None
        self._relay: Relay | None = None

    def run(self, link: Link) -> None:
        """Relay until the link closes. A defect costs one message and is logged, with its traceback."""
        desk = self._desk = Desk(link, self._service.get, self._settings, self._wrap)
        relay = self._relay = Relay(link, self._upstream, desk, self._wrap)
        arrived = threading.Event()
        link.inbox.listen(arrived.set)
        link.sdk_ready.set()
        warm = False
        while True:
            # Cleared before looking, so that what arrives in between is not slept through.
            arrived.clear()
            message = link.inbox.take()
            if message is not None:
                _pass(relay, link, message)
                if not warm and message.method == "tools/list":
                    warm = True
                    desk.warm_up()
            elif link.inbox.closed:
                return
            else:
                arrived.wait(relay.patience())
                relay.expire()

    def close(self) -> None:
        """Stop what is running, let go of the server, and close the store."""
        if self._desk is not None:
            self._desk.close()
        if self._relay is not None:
            self._relay.close()
        if self._parser is not None:
            self._parser.kill()
        self._service.close()

    def _upstream(self) -> Upstream:
        if self._wrap.url is None:
            return ProcessUpstream(self._wrap.command, self._wrap.environment)
        # The SDK is loaded where it is needed alone.
        from mcp_offload.wrap.http import HttpUpstream

        return HttpUpstream(self._wrap.url, self._wrap.headers)

    def _open_service(self) -> AbstractContextManager[OffloadService]:
        from mcp_offload.parsing import ParserWorker
        from mcp_offload.service import open_service

        self._parser = self._parser or ParserWorker()
        return open_service(self._settings, self._parser)


def _pass(relay: Relay, link: Link, message: Message) -> None:
    try:
        relay.from_client(message)
    except Exception:  # noqa: BLE001 - whatever it was, the other messages are not to suffer
        _log.exception("a message was not passed on")
        if message.request_id is not None:
            text = "Internal error: the message was not passed on"
            answer = encode(error_answer(message.request_id, INTERNAL_ERROR, text))
            link.deliver(message.request_id, answer, error=True)
