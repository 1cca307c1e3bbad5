"""The roots that confine every path a client names."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_offload.errors import PathNotAllowedError, SourceUnreadableError
from mcp_offload.models import FileStamp
from mcp_offload.paths.openat import open_beneath

_ESCAPES = (errno.EXDEV, errno.ELOOP, errno.EAGAIN)


@dataclass(frozen=True, slots=True)
class ConfinedPath:
    """A path inside a root. ``relative`` is ``.`` for the root itself."""

    root: str
    relative: str

    @property
    def absolute(self) -> str:
        """The absolute path, for display and as an artifact's identity; opening goes through the root."""
        return self.root if self.relative == "." else os.path.join(self.root, self.relative)


class Roots:
    """Directories that clients may read from and write to. Immutable and thread-safe.

    Args:
        roots: absolute directories; links in them are resolved once, here.
        base_dir: absolute directory that relative paths start from.
    """

    def __init__(self, roots: Sequence[str], base_dir: str) -> None:
        self._roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self._base_dir = base_dir

    @property
    def directories(self) -> tuple[str, ...]:
        """The roots, links resolved."""
        return self._roots

    def confine(self, path: str) -> ConfinedPath:
        """Find the root that ``path`` lies in, without touching the file itself.

        Raises:
            PathNotAllowedError: no root contains it.
        """
        if "\x00" in path or not path:
            raise PathNotAllowedError("The path is empty or contains a NUL byte; give a plain path.")
        absolute = os.path.normpath(os.path.join(self._base_dir, path))
        real = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
        for candidate in (absolute, real):
            for root in self._roots:
                if candidate == root:
                    return ConfinedPath(root, ".")
                if candidate.startswith(root.rstrip("/") + "/"):
                    return ConfinedPath(root, os.path.relpath(candidate, root))
        raise PathNotAllowedError(
            f"{path} is outside the allowed roots ({', '.join(self._roots)}). "
            "Use a path inside them; an operator can allow more with --root DIR."
        )

    def open_file(self, path: ConfinedPath) -> int:
        """Open a regular file for reading; the caller owns the descriptor.

        Raises:
            PathNotAllowedError: a link on the way leads out of the root.
            SourceUnreadableError: missing, not a regular file, or not readable.
        """
        fd = self._open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise SourceUnreadableError(
                f"{path.absolute} is not a regular file, so there is nothing to read."
            )
        return fd

    def open_directory(self, path: ConfinedPath) -> int:
        """Open a directory; the caller owns the descriptor. Raises as :meth:`open_file`."""
        return self._open(path, os.O_RDONLY | os.O_DIRECTORY)

    def is_directory(self, path: ConfinedPath) -> bool:
        """True where ``path`` is a directory inside its root; False where missing or anything else."""
        try:
            fd = self.open_directory(path)
        except (SourceUnreadableError, PathNotAllowedError):
            return False
        os.close(fd)
        return True

    def is_file(self, path: ConfinedPath) -> bool:
        """True where ``path`` is a readable regular file inside its root."""
        try:
            fd = self.open_file(path)
        except (SourceUnreadableError, PathNotAllowedError):
            return False
        os.close(fd)
        return True

    def _open(self, path: ConfinedPath, flags: int) -> int:
        try:
            root_fd = os.open(path.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as exc:
            raise SourceUnreadableError(f"The root {path.root} cannot be opened: {exc.strerror}.") from exc
        try:
            return open_beneath(root_fd, path.relative, flags)
        except OSError as exc:
            raise open_error(path.absolute, exc) from exc
        finally:
            os.close(root_fd)


def open_error(path: str, exc: OSError) -> PathNotAllowedError | SourceUnreadableError:
    """The error that tells a client why a confined path could not be opened."""
    if exc.errno in _ESCAPES:
        return PathNotAllowedError(f"{path} leads through a link out of its root; use the real path.")
    if exc.errno == errno.ENOENT:
        return SourceUnreadableError(f"{path} does not exist; check the path.")
    return SourceUnreadableError(f"{path} cannot be opened: {exc.strerror}.")


def file_stamp(fd: int, read_at_ns: int) -> FileStamp:
    """What the open file looks like now. ``read_at_ns``: POSIX time at which it is being read."""
    info = os.fstat(fd)
    return FileStamp(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, read_at_ns)
