"""What stands behind the stdio front: the SDK, the tools and the service, loaded while it answers."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from mcp_offload.settings import Settings
from mcp_offload.wire.lazy import LazyService
from mcp_offload.wire.link import Link

if TYPE_CHECKING:
    from mcp_offload.parsing import ParserWorker
    from mcp_offload.service import OffloadService


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
        except Exception:  # whatever it was, the front ends the process and says so
            import logging  # the front does without it until something goes wrong

            logging.getLogger(__name__).exception("the server crashed")

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
            if not self._parser.busy:
                # It counts what was answered last; without it the vocabulary would be loaded for that.
                self._service.settle()
            self._parser.kill()
        self._service.close()

    def _open_service(self) -> AbstractContextManager[OffloadService]:
        from mcp_offload.service import open_service

        return open_service(self._settings, self._parser)
