"""The directory of blob files: written once under names that are never used again.

A file is named ``<blake3>.<generation>`` with a random generation, so that deleting an evicted blob
can never hit the same content stored anew. Linux writes into unnamed files (``O_TMPFILE``), which
vanish with the process; elsewhere a temporary name is held under ``flock`` while its writer lives.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Iterable
from typing import Final

from mcp_offload.store.failpoints import Failpoints

_O_TMPFILE: Final[int] = getattr(os, "O_TMPFILE", 0)
_TEMPORARY: Final = "tmp."
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
        return self._create_named()

    def _create_named(self) -> tuple[int, str]:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        while True:
            name = _TEMPORARY + secrets.token_hex(16)
            fd = os.open(name, flags, 0o600, dir_fd=self._fd)
            os.fchmod(fd, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:  # else a sweep saw it before it was locked
                return fd, name
            os.close(fd)

    def link(self, fd: int, temporary: str | None, blake3: str) -> str:
        """Give a written file its name, which is returned."""
        name = f"{blake3}.{secrets.token_hex(8)}"
        self.failpoints.hit("blob.linking")
        if temporary is None:
            # CPython calls linkat(2), which follows the magic link, only where src_dir_fd is given.
            os.link(str(fd), name, src_dir_fd=self._proc_fd, dst_dir_fd=self._fd, follow_symlinks=True)
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

    def names(self) -> list[str]:
        """All files, temporary ones too."""
        return os.listdir(self._fd)

    def sweep(self, keep: Iterable[str]) -> tuple[int, int]:
        """Delete every file that is neither kept nor being written; files and bytes deleted.

        Exact only while the writer's lock is held: a blob file is named and its row committed under it.
        """
        kept = frozenset(keep)
        files = freed_bytes = 0
        for name in self.names():
            if name in kept or (name.startswith(_TEMPORARY) and self._is_being_written(name)):
                continue
            freed_bytes += self.size_bytes(name) or 0
            self.unlink(name)
            files += 1
        return files, freed_bytes

    def _is_being_written(self, name: str) -> bool:
        try:
            fd = self.open(name)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def free_bytes(self) -> int:
        """Bytes that an unprivileged user may still write; 0 where inodes are about to run out."""
        usage = os.fstatvfs(self._fd)
        if usage.f_files and usage.f_favail < _MIN_FREE_INODES:  # some file systems count none
            return 0
        return usage.f_bavail * usage.f_frsize

    def __del__(self) -> None:
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
