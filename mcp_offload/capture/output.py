"""Both streams of a command as one, with what came from standard error kept as ranges of bytes."""

from __future__ import annotations

import os
from typing import Final

MOST_RANGES: Final = 20_000
"""Ranges of standard error that are kept; a command that alternates more often is kept whole all the same."""

_ASK_EVERY_BYTES: Final = 16 * 1024 * 1024


class OutputLimitError(Exception):
    """The command printed more than it may; what fits was written."""


class Output:
    """Appends to a file.

    Args:
        fd: opened for appending; stays the caller's.
        limit_bytes: most bytes that are written.
        free_bytes: of the disk, below which writing fails as on a full disk.

    Attributes:
        stderr: half-open ranges of the file, in order.
        stderr_cut: True where there were more.
    """

    def __init__(self, fd: int, limit_bytes: int, free_bytes: int) -> None:
        self._fd = fd
        self._limit_bytes = limit_bytes
        self._free_bytes = free_bytes
        self._size_bytes = 0
        self._ask_at_bytes = 0
        self._full = False
        self.stderr: list[tuple[int, int]] = []
        self.stderr_cut = False

    def write(self, data: bytes, *, is_stderr: bool) -> None:
        """Append what came next.

        Raises:
            OutputLimitError: the limit is reached, now or before.
            OSError: the disk is (nearly) full, now or before.
        """
        if self._full:
            raise OSError
        room = self._limit_bytes - self._size_bytes
        try:
            self._append(data[:room], is_stderr=is_stderr)
        except OSError:
            self._full = True
            raise
        if len(data) > room:
            raise OutputLimitError

    def _append(self, data: bytes, *, is_stderr: bool) -> None:
        if self._size_bytes >= self._ask_at_bytes:
            self._require_room()
        left = memoryview(data)
        while left:
            written = os.write(self._fd, left)
            left = left[written:]
            if is_stderr:
                self._mark(self._size_bytes, self._size_bytes + written)
            self._size_bytes += written

    def _require_room(self) -> None:
        usage = os.fstatvfs(self._fd)
        if usage.f_bavail * usage.f_frsize < self._free_bytes:
            raise OSError
        self._ask_at_bytes = self._size_bytes + _ASK_EVERY_BYTES

    def _mark(self, start: int, end: int) -> None:
        if self.stderr and self.stderr[-1][1] == start:
            self.stderr[-1] = self.stderr[-1][0], end
        elif len(self.stderr) < MOST_RANGES:
            self.stderr.append((start, end))
        else:
            self.stderr_cut = True
