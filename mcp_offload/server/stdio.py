"""What stands behind the stdio front: the SDK, the tools and the service, loaded while it answers."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Final

from mcp_offload.errors import StoreError
from mcp_offload.settings import Settings
from mcp_offload.wire.link import Link

if TYPE_CHECKING:
    from mcp_offload.parsing import ParserWorker
    from mcp_offload.service import OffloadService

_log = logging.getLogger(__name__)

# Long enough after the first call that the first calls are not slowed down.
COLLECT_AFTER_SECONDS: Final = 20.0


class LazyService:
    """Opens the service on first use, from any thread, and closes it once.

    Where opening fails the caller gets the error, and the next use tries again. A while after it was
    opened, what expired and what unfinished writes left is removed from the store, once.
    """

    def __init__(
        self,
        open_service: Callable[[], AbstractContextManager[OffloadService]],
        collect_after_seconds: float = COLLECT_AFTER_SECONDS,
    ) -> None:
        self._open_service = open_service
        self._collect_after_seconds = collect_after_seconds
        self._closing = ExitStack()
        self._lock = threading.Lock()
        self._service: OffloadService | None = None

    def get(self) -> OffloadService:
        """Return the service, opening it where it is not open.

        Raises:
            OffloadError: the store cannot be opened.
        """
        with self._lock:
            if self._service is None:
                self._service = self._closing.enter_context(self._open_service())
                collector = threading.Timer(self._collect_after_seconds, _collect, (self._service,))
                collector.daemon = True
                collector.start()
                self._closing.callback(collector.cancel)
            return self._service

    def close(self) -> None:
        """Close the service where it is open: its processes end, and its store is left clean."""
        self._closing.close()


def _collect(service: OffloadService) -> None:
    try:
        service.gc()
    except StoreError as exc:
        _log.warning("the store was not tidied: %s", exc)


class StdioBackend:
    """Loads and runs the SDK's server over the front's link."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._service = LazyService(self._open_service)
        self._parser: ParserWorker | None = None
        self._stop_calls: Callable[[], None] | None = None

    def run(self, link: Link) -> None:
        """Load everything, then serve until the link closes. A crash is logged, with its traceback."""
        try:
            self._run(link)
        except Exception:  # noqa: BLE001 - whatever it was, the front ends the process and says so
            _log.exception("the server crashed")

    def _run(self, link: Link) -> None:
        # Loading makes a hundred thousand long-lived objects; collecting them in between only costs time.
        gc.disable()
        from mcp_offload.parsing import ParserWorker

        # It loads the grammars and the vocabulary beside this process, which does without both.
        self._parser = ParserWorker()
        self._parser.start()
        import anyio

        from mcp_offload.server.build import assemble
        from mcp_offload.wire.transport import serve_link

        assembly = assemble(self._service.get, self._settings)
        gc.freeze()
        gc.enable()
        self._stop_calls = assembly.workshop.stop
        anyio.run(serve_link, assembly.server, link)

    def close(self) -> None:
        """Stop running calls, end the parsing process, and close the store."""
        if self._stop_calls is not None:
            self._stop_calls()
        if self._parser is not None:
            self._parser.kill()
        self._service.close()

    def _open_service(self) -> AbstractContextManager[OffloadService]:
        from mcp_offload.service import open_service

        return open_service(self._settings, self._parser)
