"""Locks between threads and processes: one writer at a time, and a gate that checkpoints can close.

The kernel drops ``flock`` locks when a process dies, however it dies. Each lock is an open file
description that threads of a process share, so each is also guarded by a lock between threads. A wait
sleeps in the kernel, which queues waiters, and not in a retry loop, which would favour the lucky.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from mcp_offload.errors import StoreBusyError

_BUSY: Final = "Another process is using the store and did not finish in time. Try again."


class SessionLost(Exception):
    """The store's directory is no longer the one that these locks are in, or they were closed."""


class FairLock:
    """A lock between threads that is handed over in the order of asking."""

    __slots__ = ("_guard", "_held", "_waiters")

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiters: deque[threading.Lock] = deque()

    def acquire(self, timeout_seconds: float) -> None:
        """Take the lock.

        Raises:
            StoreBusyError: other threads held it for too long.
        """
        with self._guard:
            if not self._held:
                self._held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiters.append(turn)
        if turn.acquire(timeout=timeout_seconds):
            return
        with self._guard:
            if turn in self._waiters:
                self._waiters.remove(turn)
                raise StoreBusyError(_BUSY)
        # the lock was handed to us between the timeout and the removal: it is ours

    def release(self) -> None:
        """Hand the lock to the thread that has waited longest."""
        with self._guard:
            if self._waiters:
                self._waiters.popleft().release()
            else:
                self._held = False


class FileLock:
    """A ``flock`` on a file of a directory; one holder at a time within the process.

    Attributes:
        fd: the descriptor that holds or would hold the lock.
    """

    __slots__ = ("_dir_fd", "_name", "fd")

    def __init__(self, dir_fd: int, name: str) -> None:
        self._dir_fd = dir_fd
        self._name = name
        self.fd = open_lock_file(dir_fd, name)

    def acquire(self, timeout_seconds: float, *, shared: bool = False) -> None:
        """Take the lock.

        Raises:
            StoreBusyError: another process held it for too long.
        """
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            fd = _wait_for_flock(open_lock_file(self._dir_fd, self._name), kind, timeout_seconds)
            self.fd, old = fd, self.fd
            os.close(old)

    def release(self) -> None:
        """Drop the lock."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Drop the lock and close the file."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:  # a store that could not be opened after all
            self.close()


def open_lock_file(dir_fd: int, name: str) -> int:
    """Open a lock file of mode 0600, whatever the umask, creating it where it is missing."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=dir_fd)
    except FileExistsError:
        return os.open(name, flags | os.O_CREAT, 0o600, dir_fd=dir_fd)
    os.fchmod(fd, 0o600)
    return fd


class _Wait:
    """A blocking ``flock`` in a thread of its own, because the call itself has no time limit.

    The thread owns the descriptor until the lock is taken; a wait that was given up closes it then,
    which drops the lock.
    """

    def __init__(self, fd: int, kind: int) -> None:
        self._fd = fd
        self._kind = kind
        self._guard = threading.Lock()
        self._abandoned = False
        self.taken = threading.Event()
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            fcntl.flock(self._fd, self._kind)
        except OSError as error:
            self.error = error
        with self._guard:
            if self._abandoned:
                os.close(self._fd)
            else:
                self.taken.set()

    def abandon(self) -> bool:
        """Give up; False where the lock was taken at the last moment."""
        with self._guard:
            self._abandoned = not self.taken.is_set()
            return self._abandoned


def _wait_for_flock(fd: int, kind: int, timeout_seconds: float) -> int:
    wait = _Wait(fd, kind)
    threading.Thread(target=wait.run, name="store-lock", daemon=True).start()
    if not wait.taken.wait(timeout_seconds) and wait.abandon():
        raise StoreBusyError(_BUSY)
    if wait.error is not None:
        os.close(fd)
        raise wait.error
    return fd


class WriterLock:
    """The right to write, for one thread of one process at a time.

    The queue lock in front keeps the last holder from taking the lock again before whoever waits for
    it has been woken.
    """

    def __init__(self, dir_fd: int) -> None:
        self._threads = FairLock()
        self._queue = FileLock(dir_fd, "q.lock")
        self._lock = FileLock(dir_fd, "w.lock")
        self._closed = False

    @contextmanager
    def held(self, timeout_seconds: float) -> Generator[None]:
        """Hold the right to write.

        Raises:
            StoreBusyError: somebody else held it for too long.
            SessionLost: the lock was closed.
        """
        deadline = time.monotonic() + timeout_seconds
        self._threads.acquire(timeout_seconds)
        try:
            if self._closed:
                raise SessionLost
            self._queue.acquire(max(0.0, deadline - time.monotonic()))
            try:
                self._lock.acquire(max(0.0, deadline - time.monotonic()))
            finally:
                self._queue.release()
            try:
                yield
            finally:
                self._lock.release()
        finally:
            self._threads.release()

    def is_file(self, dir_fd: int) -> bool:
        """True while the lock file in the directory is the one that is locked here."""
        try:
            there = os.stat("w.lock", dir_fd=dir_fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._lock.fd))

    def close(self, timeout_seconds: float) -> None:
        """Close the lock files once no thread holds the lock.

        Raises:
            StoreBusyError: a thread held it for too long; it stays open.
        """
        self._threads.acquire(timeout_seconds)
        try:
            self._closed = True
            self._queue.close()
            self._lock.close()
        finally:
            self._threads.release()


class Gate:
    """Readers pass together; a checkpoint waits until none is inside and keeps new ones out.

    The turnstile makes new readers wait behind a checkpoint that waits for the present ones, so that
    readers who overlap for ever cannot keep the log growing for ever. One user at a time per instance.
    """

    def __init__(self, dir_fd: int) -> None:
        self._turnstile = FileLock(dir_fd, "turnstile.lock")
        self._gate = FileLock(dir_fd, "gate.lock")

    @contextmanager
    def reading(self, timeout_seconds: float) -> Generator[None]:
        """Be inside with other readers; never wait for the right to write in here.

        Raises:
            StoreBusyError: a checkpoint took too long.
        """
        self._turnstile.acquire(timeout_seconds)
        try:
            self._gate.acquire(timeout_seconds, shared=True)
        finally:
            self._turnstile.release()
        try:
            yield
        finally:
            self._gate.release()

    @contextmanager
    def closed(self, timeout_seconds: float) -> Generator[None]:
        """Be inside alone.

        Raises:
            StoreBusyError: a reader stayed inside for too long.
        """
        self._turnstile.acquire(timeout_seconds)
        try:
            self._gate.acquire(timeout_seconds)
            try:
                yield
            finally:
                self._gate.release()
        finally:
            self._turnstile.release()

    def close(self) -> None:
        """Close the lock files."""
        self._turnstile.close()
        self._gate.close()
