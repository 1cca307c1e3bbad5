"""Reading and replacing configuration files; links are followed, because many keep theirs elsewhere."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_offload.errors import RegistrationError
from mcp_offload.models import FileStamp
from mcp_offload.paths import ConfinedPath, create_file, replace_file


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read; ``data`` and ``stamp`` are None where there is none."""

    path: str
    data: bytes | None
    stamp: FileStamp | None


def choose(names: Sequence[str]) -> str:
    """The first name that exists, else the first; with links resolved."""
    return os.path.realpath(next((name for name in names if os.path.lexists(name)), names[0]))


def read_file(path: str) -> Found:
    """The file at ``path``.

    Raises:
        RegistrationError: it is there and cannot be read, or is not a regular file.
    """
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise RegistrationError(f"{path} is not a regular file.")
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Found(path, None, None)
    except OSError as exc:
        raise RegistrationError(f"{path} cannot be read: {exc.strerror}.") from exc
    stamp = FileStamp(
        info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, time.time_ns()
    )
    return Found(path, data, stamp)


def write_file(found: Found, data: bytes | None) -> tuple[str, ...]:
    """Have ``data`` stand at the path, or nothing; returns the directories made for it, outermost first.

    Raises:
        RegistrationError: the file has changed since it was read; nothing was written.
        SourceError: the directory does not allow it or the disk is full.
    """
    directory, name = os.path.split(found.path)
    place = ConfinedPath(directory, name)
    if data is None:
        os.unlink(found.path)
        return ()
    if found.stamp is not None:
        if not replace_file(place, data, found.stamp):
            raise RegistrationError(f"{found.path} has changed in the meantime; run the command again.")
        return ()
    made = _make_directories(directory)
    create_file(place, (data,), overwrite=False)
    return made


def remove_empty(directories: Sequence[str]) -> None:
    """Remove directories that hold nothing, innermost first; given outermost first."""
    for directory in reversed(directories):
        try:
            os.rmdir(directory)
        except OSError:
            return


def _make_directories(directory: str) -> tuple[str, ...]:
    missing: list[str] = []
    above = directory
    while not os.path.isdir(above) and above not in missing:
        missing.insert(0, above)
        above = os.path.dirname(above)
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as exc:
        raise RegistrationError(f"{directory} cannot be made: {exc.strerror}.") from exc
    return tuple(missing)
