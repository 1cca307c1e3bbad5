"""High-water marks: the numbers a workspace may have issued, kept where a wiped store cannot lose them.

A mark is the *name* of an empty file in the workspace's own directory, so that raising it is one
rename: it can be neither torn nor left without content by a crash.
"""

from __future__ import annotations

import fcntl
import os

from blake3 import blake3

from mcp_offload.store.config import MARK_BLOCK
from mcp_offload.store.failpoints import Failpoints
from mcp_offload.store.places import ensure_private_dir


class Marks:
    """The marks of all workspaces of a user.

    Args:
        state_dir: absolute; created when first written to.
        sync: fsync a raised mark before it is used.
    """

    def __init__(self, state_dir: str, failpoints: Failpoints, *, sync: bool) -> None:
        self._state_dir = state_dir
        self._failpoints = failpoints
        self._sync = sync

    def _path(self, workspace: str) -> str:
        key = blake3(workspace.encode("utf-8", "surrogatepass")).hexdigest(length=16)
        return os.path.join(self._state_dir, "numbers", key)

    def current(self, workspace: str) -> int:
        """The highest number that may have been issued; 0 where none was."""
        try:
            return _highest(os.listdir(self._path(workspace)))
        except FileNotFoundError:
            return 0

    def reserve(self, workspace: str, count: int, above: int) -> tuple[int, int]:
        """Reserve numbers nobody has reserved before: all in ``(first - 1, last]``, at least ``count``.

        Returns the last number that is *not* ours and the last one that is.

        Raises:
            OSError: the state directory cannot be written.
            StoreUnsafeError, StoreError: the state directory is not ours alone, or cannot be made.
        """
        for directory in (self._state_dir, os.path.join(self._state_dir, "numbers")):
            os.close(ensure_private_dir(directory))
        fd = ensure_private_dir(self._path(workspace))
        try:
            # Held for the length of one rename, so the wait needs no limit of its own.
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._failpoints.hit("mark.locked")
            names = os.listdir(fd)
            before = _highest(names)
            base = max(before, above)
            last = base + max(count, MARK_BLOCK)
            self._raise(fd, str(before) if str(before) in names else None, str(last))
            self._failpoints.hit("mark.reserved")
            if self._sync or count > MARK_BLOCK:  # a burst would not be made up for after a crash
                os.fsync(fd)
                self._failpoints.hit("mark.synced")
            return base, last
        finally:
            os.close(fd)

    def _raise(self, fd: int, old: str | None, new: str) -> None:
        if old is None:
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=fd))
        else:
            os.rename(old, new, src_dir_fd=fd, dst_dir_fd=fd)


def _highest(names: list[str]) -> int:
    return max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)
