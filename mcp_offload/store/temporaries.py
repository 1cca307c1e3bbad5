"""Temporary names of content that is being staged, told apart from those that a dead process left.

All of a process's temporary files carry the token of one lock file that it holds under ``flock``; when
the process dies, however it dies, the kernel drops the lock and the files may be swept.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from typing import Final

_PREFIX: Final = "tmp."


class Temporaries:
    """Temporary names in one directory; the lock file is made with the first name.

    Args:
        dir_fd: of the directory; stays the caller's, who closes it after this.
    """

    def __init__(self, dir_fd: int) -> None:
        self._dir_fd = dir_fd
        self._guard = threading.Lock()
        self._lock_fd = -1
        self._lock_name = ""

    def name(self) -> str:
        """A new name, safe from sweeps for as long as this process lives."""
        with self._guard:
            if self._lock_fd < 0:
                self._lock_fd, self._lock_name = self._make_lock()
        return f"{self._lock_name}.{secrets.token_hex(8)}"

    def _make_lock(self) -> tuple[int, str]:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        while True:
            name = _PREFIX + secrets.token_hex(8)
            fd = os.open(name, flags, 0o600, dir_fd=self._dir_fd)
            os.fchmod(fd, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:  # else a sweep saw it before it was locked
                return fd, name
            os.close(fd)

    def in_use(self, name: str) -> bool:
        """True for a temporary file, or a lock file of such, whose process lives."""
        if not name.startswith(_PREFIX):
            return False
        lock_name = ".".join(name.split(".")[:2])
        if lock_name == self._lock_name:
            return True
        try:
            fd = os.open(lock_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._dir_fd)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def close(self) -> None:
        """Delete and close the lock file; names given before are swept from now on."""
        with self._guard:
            if self._lock_fd >= 0:
                fd, self._lock_fd = self._lock_fd, -1
                try:
                    os.unlink(self._lock_name, dir_fd=self._dir_fd)
                except OSError:
                    pass  # with its directory, or by hand
                finally:
                    os.close(fd)
