"""Writing a file as a whole, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from mcp_offload.errors import PathNotAllowedError, SourceError, SourceUnreadableError
from mcp_offload.models import FileStamp
from mcp_offload.paths.confine import ConfinedPath, open_error
from mcp_offload.paths.openat import open_beneath

LOCK_ATTEMPTS = 200
LOCK_PAUSE_SECONDS = 0.005


def replace_file(path: ConfinedPath, data: bytes, expected: FileStamp, *, durable: bool = False) -> bool:
    """Replace an existing regular file atomically, keeping its mode bits and owner.

    Returns False, with nothing written, where the file no longer has the identity, size and times of
    ``expected``. Two callers never overwrite each other: the last look and the rename happen under a lock
    on the file. A writer that ignores locks can still fall into the few microseconds between them. Hard
    links to the old file keep the old bytes.

    Raises:
        PathNotAllowedError: the file is a symbolic link, or a link leads out of the root.
        SourceError: the directory does not allow it or the disk is full.
    """
    directory_fd, name = _open_parent(path)
    try:
        info = _stat_regular(directory_fd, name, path)
        temp = _write_temp(directory_fd, name, (data,), stat.S_IMODE(info.st_mode), durable=durable)
        try:
            _keep_owner(temp, directory_fd, info)
            with _locked(directory_fd, name):
                if not _unchanged(_stat_regular(directory_fd, name, path), expected):
                    os.unlink(temp, dir_fd=directory_fd)
                    return False
                os.rename(temp, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd)
        except BaseException:
            _discard(temp, directory_fd)
            raise
        if durable:
            os.fsync(directory_fd)
        return True
    except OSError as exc:
        raise _write_error(path, exc) from exc
    finally:
        os.close(directory_fd)


def create_file(
    path: ConfinedPath, chunks: Iterable[bytes], *, overwrite: bool, durable: bool = False
) -> None:
    """Write a new file, appearing under its name only when complete; mode 0666 less the umask.

    Raises:
        SourceError: it exists and ``overwrite`` is False, its directory is missing, or it cannot be
            written.
        PathNotAllowedError: a link leads out of the root, or the name is a symbolic link.
    """
    directory_fd, name = _open_parent(path)
    try:
        mode = 0o666 & ~_umask(directory_fd)
        try:
            mode = stat.S_IMODE(_stat_regular(directory_fd, name, path).st_mode)
            exists = True
        except FileNotFoundError:
            exists = False
        if exists and not overwrite:
            raise SourceError(f"{path.absolute} exists; choose another path or allow overwriting it.")
        temp = _write_temp(directory_fd, name, chunks, mode, durable=durable)
        try:
            if overwrite:
                os.rename(temp, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd)
            else:
                os.link(temp, name, src_dir_fd=directory_fd, dst_dir_fd=directory_fd, follow_symlinks=False)
                os.unlink(temp, dir_fd=directory_fd)
        except BaseException:
            _discard(temp, directory_fd)
            raise
        if durable:
            os.fsync(directory_fd)
    except OSError as exc:
        raise _write_error(path, exc) from exc
    finally:
        os.close(directory_fd)


def _open_parent(path: ConfinedPath) -> tuple[int, str]:
    parent, name = os.path.split(path.relative)
    if name in ("", ".", ".."):
        raise SourceUnreadableError(f"{path.absolute} is a directory; name a file in it.")
    try:
        root_fd = os.open(path.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as exc:
        raise open_error(path.root, exc) from exc
    try:
        return open_beneath(root_fd, parent or ".", os.O_RDONLY | os.O_DIRECTORY), name
    except OSError as exc:
        raise open_error(os.path.dirname(path.absolute), exc) from exc
    finally:
        os.close(root_fd)


@contextmanager
def _locked(directory_fd: int, name: str) -> Generator[None]:
    """Hold the lock of the file that has the name now.

    Another process holds it for the time of a rename only. Where a foreign program keeps it for longer,
    or the file system has no locks, things go on without it: the caller compares the file anyway.
    """
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory_fd)
    try:
        for _ in range(LOCK_ATTEMPTS):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOCK_PAUSE_SECONDS)
            except OSError:
                break
        yield
    finally:
        os.close(fd)


def _stat_regular(directory_fd: int, name: str, path: ConfinedPath) -> os.stat_result:
    info = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode):
        raise PathNotAllowedError(f"{path.absolute} is a symbolic link; name the file it points to.")
    if not stat.S_ISREG(info.st_mode):
        raise SourceUnreadableError(f"{path.absolute} is not a regular file and cannot be replaced.")
    return info


def _unchanged(info: os.stat_result, expected: FileStamp) -> bool:
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns) == (
        expected.device,
        expected.inode,
        expected.size_bytes,
        expected.mtime_ns,
        expected.ctime_ns,
    )


def _write_temp(directory_fd: int, name: str, chunks: Iterable[bytes], mode: int, *, durable: bool) -> str:
    temp = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temp, flags, 0o600, dir_fd=directory_fd)
    try:
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(fd, rest) :]
        os.fchmod(fd, mode)
        if durable:
            os.fsync(fd)
    except BaseException:
        _discard(temp, directory_fd)
        raise
    finally:
        os.close(fd)
    return temp


def _keep_owner(temp: str, directory_fd: int, info: os.stat_result) -> None:
    mine = os.stat(temp, dir_fd=directory_fd, follow_symlinks=False)
    if (mine.st_uid, mine.st_gid) == (info.st_uid, info.st_gid):
        return
    try:
        os.chown(temp, info.st_uid, info.st_gid, dir_fd=directory_fd, follow_symlinks=False)
        # chown clears set-id bits; the file must keep the mode it had.
        os.chmod(temp, stat.S_IMODE(info.st_mode), dir_fd=directory_fd)
    except PermissionError:
        # Not privileged: the file becomes ours, as with any editor that saves by rename.
        return


def _discard(temp: str, directory_fd: int) -> None:
    try:
        os.unlink(temp, dir_fd=directory_fd)
    except FileNotFoundError:
        return


def _umask(directory_fd: int) -> int:
    # The umask can only be read by setting it, which other threads would feel; a probe file cannot race.
    probe = f".{secrets.token_hex(8)}.umask"
    fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=directory_fd)
    try:
        return 0o666 & ~stat.S_IMODE(os.fstat(fd).st_mode)
    finally:
        os.close(fd)
        _discard(probe, directory_fd)


def _write_error(path: ConfinedPath, exc: OSError) -> SourceError:
    if exc.errno == errno.ENOENT:
        return SourceUnreadableError(f"{path.absolute} does not exist; check the path.")
    if exc.errno == errno.EEXIST:
        return SourceError(f"{path.absolute} exists; choose another path or allow overwriting it.")
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return SourceError(
            f"{path.absolute} was not written: no space left on its disk. Free some and retry."
        )
    return SourceError(f"{path.absolute} was not written: {exc.strerror}.")
