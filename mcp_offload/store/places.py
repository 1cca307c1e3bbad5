"""Directories: where the store goes by default, and whether a directory is safe to use.

Linux and macOS; Windows is not supported.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Final

from mcp_offload.errors import StoreError, StoreUnsafeError
from mcp_offload.settings import GIB

ROOM_BYTES: Final = 1 * GIB
"""Free space that makes a file system a good default."""

_RAM_TYPES: Final = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def default_store_dir(env: Mapping[str, str], uid: int, *, darwin: bool = False) -> str:
    """A private, ephemeral place on a disk with room; nothing is created.

    On Linux the first of ``/var/tmp``, ``/tmp`` and the user's cache that is on a disk (not in RAM)
    with :data:`ROOM_BYTES` free; ``/var/tmp`` where none is. On macOS the per-user temporary directory.
    """
    if darwin and env.get("TMPDIR", "").startswith("/"):
        return os.path.join(env["TMPDIR"], "mcp-offload")
    own = f"mcp-offload-{uid}"
    # Shared directories are safe for a directory of our own, whose owner and mode are checked.
    places = [f"/var/tmp/{own}", f"/tmp/{own}"]  # noqa: S108 - as said above
    cache = _home_dir(env, "XDG_CACHE_HOME", ".cache")
    if cache is not None:
        places.append(os.path.join(cache, "mcp-offload", "store"))
    for place in places:
        if os.path.lexists(place) or has_room(os.path.dirname(place)):
            return place
    return places[0]


def default_state_dir(env: Mapping[str, str], uid: int) -> str:
    """Where what must outlive a wiped store is kept; nothing is created.

    Source: XDG Base Directory Specification 0.8, ``$XDG_STATE_HOME``.
    """
    state = _home_dir(env, "XDG_STATE_HOME", os.path.join(".local", "state"))
    if state is None:
        return f"/var/tmp/mcp-offload-{uid}-state"  # noqa: S108 - as above
    return os.path.join(state, "mcp-offload")


def _home_dir(env: Mapping[str, str], variable: str, under_home: str) -> str | None:
    """The directory a variable names if it is absolute, else the one below the home directory."""
    given = env.get(variable, "")
    if given.startswith("/"):
        return given
    home = env.get("HOME", "")
    return os.path.join(home, under_home) if home.startswith("/") else None


def has_room(path: str) -> bool:
    """True where ``path`` is writable, not in RAM, and has :data:`ROOM_BYTES` free."""
    existing: str = path
    while not os.path.isdir(existing) and existing != "/":
        existing = os.path.dirname(existing)
    try:
        usage = os.statvfs(existing)
    except OSError:
        return False
    free_bytes = usage.f_bavail * usage.f_frsize
    return os.access(existing, os.W_OK) and free_bytes >= ROOM_BYTES and not in_ram(existing)


def in_ram(path: str, mounts_file: str = "/proc/self/mountinfo") -> bool:
    """True where the file system below ``path`` is kept in memory; False where that cannot be told.

    Source: proc_pid_mountinfo(5): field 5 is the mount point, the type follows the ``-`` separator.
    """
    try:
        with open(mounts_file, encoding="utf-8", errors="surrogateescape") as mounts:
            lines = mounts.read().split("\n")
    except OSError:
        return False
    real = os.path.realpath(path)
    best, kind = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = fields[4].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, after.split(" ")[0]
    return kind in _RAM_TYPES


def ensure_private_dir(path: str) -> int:
    """Open a directory that is ours alone, creating it with mode 0700 whatever the umask.

    Returns a descriptor of the directory itself, so that a later swap of the path cannot redirect
    what is done through it; the caller closes it.

    Raises:
        StoreUnsafeError: a symbolic link, not a directory, another owner, or open to group or others.
        StoreError: it cannot be created or opened.
    """
    created = _make_dirs(path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except NotADirectoryError:
        raise StoreUnsafeError(
            f"{path} is not a directory of its own (a file or a symbolic link). Remove it or choose another."
        ) from None
    except OSError as error:
        if os.path.islink(path):
            raise StoreUnsafeError(f"{path} is a symbolic link. Remove it or choose another.") from None
        raise StoreError(f"{path} cannot be opened: {error.strerror}. Choose another directory.") from error
    try:
        if created and os.fstat(fd).st_uid == os.geteuid():
            os.fchmod(fd, 0o700)
        _require_private(path, os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def _make_dirs(path: str) -> bool:
    """Create ``path`` and its missing parents, all 0700; True where ``path`` itself was created."""
    if os.path.lexists(path):
        return False
    parent = os.path.dirname(path)
    if parent not in ("", path) and _make_dirs(parent):
        os.chmod(parent, 0o700)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(f"{path} cannot be created: {error.strerror}. Choose another directory.") from error
    return True


def _require_private(path: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise StoreUnsafeError(f"{path} belongs to another user. Choose another directory.")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise StoreUnsafeError(f"{path} is open to other users. Set its mode to 0700 or choose another.")
