"""Which descriptors have something to read, in the order in which it came. Standard library only."""

from __future__ import annotations

import select
from typing import Final

_EVER_SECONDS: Final = 3600.0


class Arrivals:
    """Waits on descriptors.

    Linux lists those with news in the order in which each became readable, edge-triggered, so that of two
    streams the one that was written to first is read first. Elsewhere they come in the order of addition.
    """

    def __init__(self) -> None:
        self._edges = select.epoll() if hasattr(select, "epoll") else None
        self._levels = select.poll()
        self._ended: set[int] = set()

    def add(self, fd: int) -> None:
        """Wait on a descriptor, too; whoever reads from it reads until it gives less than asked for."""
        if self._edges is not None:
            self._edges.register(fd, select.EPOLLIN | select.EPOLLET)
        else:
            self._levels.register(fd, select.POLLIN)

    def remove(self, fd: int) -> None:
        """Wait on a descriptor no more."""
        (self._edges or self._levels).unregister(fd)
        self._ended.discard(fd)

    def wait(self, seconds: float | None) -> list[int]:
        """Descriptors with something to read, or none after so long."""
        patience = _EVER_SECONDS if seconds is None else max(0.0, seconds)
        if self._edges is not None:
            events = self._edges.poll(patience)
            self._ended.update(fd for fd, event in events if event & select.EPOLLHUP)
        else:
            events = self._levels.poll(patience * 1000)
        return [fd for fd, _ in events]

    def has_ended(self, fd: int) -> bool:
        """True where nobody can write any more: nothing will be told of what is still to be read."""
        return fd in self._ended
