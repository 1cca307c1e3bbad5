"""The service as the servers use it: opened when something stored is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Final

from mcp_offload.errors import StoreError

if TYPE_CHECKING:
    from mcp_offload.service import OffloadService

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

    def settle(self) -> None:
        """Have the ledger of the service, where that is open, written; what fails is logged."""
        service = self._service
        if service is not None:
            try:
                service.leases.settle()
            except StoreError as exc:
                _warn("what was delivered could not be counted", exc)

    def close(self) -> None:
        """Close the service where it is open: its processes end, and its store is left clean."""
        self._closing.close()


def _collect(service: OffloadService) -> None:
    try:
        service.gc()
    except StoreError as exc:
        _warn("the store was not tidied", exc)


def _warn(what: str, exc: StoreError) -> None:
    import logging  # the front, which makes a service without opening it, starts without

    logging.getLogger(__name__).warning("%s: %s", what, exc)
