"""Output that waits to be stored: files in a private directory that sandboxes leave writable."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from typing import BinaryIO, Final

_SHOWN_BYTES: Final = 40_000
"""Source: the most that Codex CLI 0.171 shows of an output, some 10,000 tokens."""
_KEPT_SECONDS: Final = 86_400.0
_OURS: Final = re.compile(r"[0-9a-f]{32}\.out")


def open_spool() -> tuple[BinaryIO, str]:
    """A new file, readable by the user alone, and its absolute path.

    Raises:
        OSError: no directory for temporary files can be written to, or ours belongs to somebody else.
    """
    directory = spool_directory()
    os.makedirs(directory, mode=0o700, exist_ok=True)
    _must_be_private(directory)
    _sweep(directory)
    path = os.path.join(directory, f"{os.urandom(16).hex()}.out")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    return os.fdopen(descriptor, "w+b"), path


def open_spooled(path: str) -> int:
    """A descriptor of a spool file.

    Raises:
        OSError: it is not a spool file of this user's.
    """
    directory, name = os.path.split(path)
    if directory != spool_directory() or not _OURS.fullmatch(name):
        raise PermissionError("no spool file of ours")
    _must_be_private(directory)
    return open_own_file(path)


def as_it_came(descriptor: int, path: str) -> str:
    """What a spool file holds; of a long one its ends, and where the whole is."""
    size = os.fstat(descriptor).st_size
    if size <= _SHOWN_BYTES:
        os.unlink(path)
        return os.pread(descriptor, size, 0).decode("utf-8", "replace")
    half = _SHOWN_BYTES // 2
    head = os.pread(descriptor, half, 0).decode("utf-8", "replace")
    tail = os.pread(descriptor, half, size - half).decode("utf-8", "replace")
    return f"{head}\n... {size - 2 * half} bytes left out; all of it is in {path}\n{tail}"


def open_own_file(path: str) -> int:
    """A descriptor of a regular file that belongs to this user; links are not followed.

    Raises:
        OSError: it is not there, or something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid():
        os.close(descriptor)
        raise PermissionError("not a file of this user's")
    return descriptor


def spool_directory() -> str:
    """Below the system's directory for temporary files, which sandboxes leave writable."""
    import tempfile  # takes as long as all the rest of a hook that has nothing to do

    return os.path.join(tempfile.gettempdir(), f"mcp-offload-spool-{os.getuid()}")


def _sweep(directory: str) -> None:
    """Remove what nobody took up for a day, as where a client killed the command."""
    oldest = time.time() - _KEPT_SECONDS
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # somebody else sweeps as well
                if _OURS.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)


def _must_be_private(directory: str) -> None:
    info = os.lstat(directory)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise PermissionError(f"{directory} is not private to this user")
