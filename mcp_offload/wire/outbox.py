"""The one writer of the wire: a thread that writes whole lines in order. Standard library only."""

from __future__ import annotations

import os
import select
import stat
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

FULL_BYTES: Final = 8 << 20


class Outbox:
    """Lines on their way to a descriptor. Thread-safe; nobody but its thread ever blocks on a slow reader.

    ``on_broken`` is called once, from the thread, when the reader is gone; what is put later is dropped.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._is_pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
        self._on_broken = on_broken
        self._lines: deque[bytes] = deque()
        self._held_bytes = 0
        self._changed = threading.Condition()
        self._broken = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="wire-writer", daemon=True)

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Send or queue one line that ends in a line feed. Never blocks."""
        with self._changed:
            if self._broken or self._closed or (self._held_bytes == 0 and self._sent(line)):
                return
            self._lines.append(line)
            self._held_bytes += len(line)
            self._changed.notify_all()

    @property
    def full(self) -> bool:
        """True while so much is unwritten that producers should wait."""
        return self._held_bytes > FULL_BYTES

    def wait_for_room(self, timeout_seconds: float) -> bool:
        """Block until not :attr:`full`; False on time out."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.full, timeout_seconds)

    def drain(self, timeout_seconds: float) -> bool:
        """Block until all is written or the reader is gone; False on time out."""
        with self._changed:
            return self._changed.wait_for(lambda: self._held_bytes == 0, timeout_seconds)

    def close(self) -> None:
        """End the thread after the line that it is at; what waits or is put later is dropped."""
        with self._changed:
            self._closed = True
            self._lines.clear()
            self._held_bytes = 0
            self._changed.notify_all()

    def join(self) -> None:
        """Block until the thread has ended, after which the descriptor is not written to."""
        self._thread.join()

    def _sent(self, line: bytes) -> bool:
        """Write a short line at once where that cannot block: waking the thread takes longer.

        A pipe that is ready takes this much whole. Source: pipe(7), PIPE_BUF, and poll(2), POLLOUT. An
        error is left to the thread, which meets it again.
        """
        if not self._is_pipe or len(line) > select.PIPE_BUF:
            return False
        room = select.poll()
        room.register(self._fd, select.POLLOUT)
        if room.poll(0) != [(self._fd, select.POLLOUT)]:
            return False
        try:
            return os.write(self._fd, line) == len(line)
        except OSError:
            return False

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._lines) or self._closed)
                if not self._lines:
                    return
                line = self._lines.popleft()
            try:
                self._write(line)
            except OSError:
                self._give_up()
                return
            with self._changed:
                self._held_bytes = max(0, self._held_bytes - len(line))
                self._changed.notify_all()

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:  # whoever gave us the descriptor made it non-blocking
                room = select.poll()
                room.register(self._fd, select.POLLOUT)
                room.poll()

    def _give_up(self) -> None:
        with self._changed:
            self._broken = True
            self._lines.clear()
            self._held_bytes = 0
            self._changed.notify_all()
        self._on_broken()
