"""The directory of blob files: written once under names that are never used again.

A file is named ``<blake3>.<generation>`` with a random generation, so that deleting an evicted blob
can never hit the same content stored anew. Linux writes into unnamed files (``O_TMPFILE``), which
vanish with the process; elsewhere, and where very many files are staged at once, they have temporary
names.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Iterable
from typing import Final

from mcp_offload.store.failpoints import Failpoints
from mcp_offload.store.temporaries import Temporaries

_O_TMPFILE: Final[int] = getattr(os, "O_TMPFILE", 0)
_MAX_HELD: Final = 64
"""Staged files kept open at once; a directory may hold more than a process may open."""

_MIN_FREE_INODES: Final = 16


class BlobDir:
    """Blob files below one directory descriptor.

    Attributes:
        path: absolute path of the directory, for programs that must be given one.
        failpoints: the store's.
    """

    def __init__(self, store_fd: int, store_dir: str, failpoints: Failpoints, *, sync: bool) -> None:
        self.path = os.path.join(store_dir, "blobs")
        self.failpoints = failpoints
        self._sync = sync
        try:
            os.mkdir("blobs", 0o700, dir_fd=store_fd)
        except FileExistsError:
            created = False
        else:
            created = True
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open("blobs", flags, dir_fd=store_fd)
        if created:
            os.fchmod(self._fd, 0o700)
            if sync:
                os.fsync(store_fd)
        self._proc_fd = _open_proc() if _O_TMPFILE else -1
        self._temporaries = Temporaries(self._fd)
        self._guard = threading.Lock()
        self._held = 0

    def create(self) -> tuple[int, str | None]:
        """Open a new file for writing and reading; its temporary name, or None where it has none."""
        if self._proc_fd >= 0:
            try:
                flags = _O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
                fd = os.open(".", flags, 0o600, dir_fd=self._fd)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
                    raise
            else:
                os.fchmod(fd, 0o600)
                return fd, None
        name = self._temporaries.name()
        fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self._fd)
        os.fchmod(fd, 0o600)
        return fd, name

    def park(self, fd: int) -> str:
        """Give an unnamed file a temporary name, so that it need not be kept open."""
        name = self._temporaries.name()
        self._link(fd, name)
        return name

    def hold(self) -> bool:
        """Count a staged file that stays open; False where there are so many that it should be parked."""
        with self._guard:
            if self._held >= _MAX_HELD:
                return False
            self._held += 1
            return True

    def let_go(self) -> None:
        """Count a staged file that is closed."""
        with self._guard:
            self._held -= 1

    def _link(self, fd: int, name: str) -> None:
        # CPython calls linkat(2), which follows the magic link, only where src_dir_fd is given.
        os.link(str(fd), name, src_dir_fd=self._proc_fd, dst_dir_fd=self._fd, follow_symlinks=True)

    def link(self, fd: int, temporary: str | None, blake3: str) -> str:
        """Give a written file its name, which is returned."""
        name = f"{blake3}.{secrets.token_hex(8)}"
        self.failpoints.hit("blob.linking")
        if temporary is None:
            self._link(fd, name)
        else:
            os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        return name

    def sync(self) -> None:
        """Make the names given so far survive a host crash, where that was asked for."""
        if self._sync:
            os.fsync(self._fd)

    def sync_file(self, name: str) -> None:
        """Make a file written without fsync survive a host crash."""
        fd = self.open(name)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def open(self, name: str) -> int:
        """Open a blob file for reading."""
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)

    def size_bytes(self, name: str) -> int | None:
        """Size of a blob file, or None where it is missing."""
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_size
        except FileNotFoundError:
            return None

    def unlink(self, name: str) -> None:
        """Delete a file; no error where it is gone already."""
        try:
            os.unlink(name, dir_fd=self._fd)
        except FileNotFoundError:
            return

    def forget_temporaries(self) -> None:
        """Leave what is still staged to the next sweep."""
        self._temporaries.close()

    def orphans(self, keep: Iterable[str]) -> list[str]:
        """Files that are neither kept nor being written.

        Exact only while the writer's lock is held: a blob file is named and its row committed under it.
        """
        kept = frozenset(keep)
        return [
            name for name in os.listdir(self._fd) if name not in kept and not self._temporaries.in_use(name)
        ]

    def sweep(self, keep: Iterable[str]) -> tuple[int, int]:
        """Delete the orphans; files and bytes deleted."""
        files = freed_bytes = 0
        for name in self.orphans(keep):
            freed_bytes += self.size_bytes(name) or 0
            self.unlink(name)
            files += 1
        return files, freed_bytes

    def free_bytes(self) -> int:
        """Bytes that an unprivileged user may still write; 0 where inodes are about to run out."""
        usage = os.fstatvfs(self._fd)
        if usage.f_files and usage.f_favail < _MIN_FREE_INODES:  # some file systems count none
            return 0
        return usage.f_bavail * usage.f_frsize

    def __del__(self) -> None:
        if hasattr(self, "_temporaries"):
            self._temporaries.close()
        # Staged content and sessions share this object from several threads: whoever lets go last
        # closes it, so that no descriptor is used after its number was given to something else.
        for name in ("_fd", "_proc_fd"):
            if getattr(self, name, -1) >= 0:
                os.close(getattr(self, name))


def _open_proc() -> int:
    try:
        return os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
