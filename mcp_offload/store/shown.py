"""Which versions a named session was shown, kept in the state directory between processes.

One small file per session. It is replaced as a whole, so a reader never sees half of one; writers take
turns, and each writes only what it has learned itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

from blake3 import blake3

from mcp_offload.store.places import ensure_private_dir

MOST_ENTRIES: Final = 5_000
"""Newest artifact numbers kept; an older one counts as never shown."""

KEPT_SECONDS: Final = 30 * 24 * 3600
"""A session that was not used for so long is forgotten, as the artifacts are long before."""

_FOLDER: Final = "sessions"


class ShownRecord:
    """The record of one session in one workspace. Nothing is made before :meth:`merge`.

    Args:
        state_dir: absolute.
        session: any text; its hash is the file's name.
    """

    def __init__(self, state_dir: str, workspace: str, session: str) -> None:
        key = f"{len(workspace)} {workspace} {session}".encode("utf-8", "surrogatepass")
        self._state_dir = state_dir
        self._name = blake3(key).hexdigest(length=16)

    def load(self) -> dict[int, int]:
        """The version shown last of each artifact by number; empty where nothing is recorded or readable."""
        try:
            with open(os.path.join(self._state_dir, _FOLDER, self._name), "rb") as file:
                recorded: object = json.loads(file.read())
        except (OSError, ValueError):
            return {}
        return _as_shown(recorded)

    def merge(self, learned: Mapping[int, int]) -> None:
        """Add what was shown to the record, over what it says of the same artifacts.

        Raises:
            OSError: it cannot be written.
            StoreUnsafeError, StoreError: the state directory is not ours alone, or cannot be made.
        """
        os.close(ensure_private_dir(self._state_dir))
        fd = ensure_private_dir(os.path.join(self._state_dir, _FOLDER))
        try:
            # Held for one read and one rename, so the wait needs no limit of its own.
            fcntl.flock(fd, fcntl.LOCK_EX)
            shown = {**self.load(), **learned}
            newest = sorted(shown)[-MOST_ENTRIES:]
            self._replace(fd, {str(number): shown[number] for number in newest})
            _forget_old(fd)
        finally:
            os.close(fd)

    def _replace(self, dir_fd: int, shown: Mapping[str, int]) -> None:
        temp = f".{self._name}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        file_fd = os.open(temp, flags, 0o600, dir_fd=dir_fd)
        try:
            with os.fdopen(file_fd, "wb") as file:
                file.write(json.dumps(shown, separators=(",", ":")).encode())
            os.rename(temp, self._name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError:
            with suppress(OSError):
                os.unlink(temp, dir_fd=dir_fd)
            raise


def _as_shown(recorded: object) -> dict[int, int]:
    if not isinstance(recorded, dict):
        return {}
    items = cast("dict[str, object]", recorded).items()
    return {
        int(number): version for number, version in items if number.isdecimal() and isinstance(version, int)
    }


def _forget_old(dir_fd: int) -> None:
    """Delete records, and what crashed writers left, that nobody touched for too long."""
    oldest = time.time() - KEPT_SECONDS
    for name in os.listdir(dir_fd):
        with suppress(OSError):
            if os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mtime < oldest:
                os.unlink(name, dir_fd=dir_fd)
