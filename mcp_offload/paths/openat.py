"""Opening a path beneath a directory so that no link or ``..`` leads out of it.

On Linux >= 5.6 the kernel does it (openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS): links that
stay inside are followed, everything else is refused. Elsewhere each component is opened by itself
with O_NOFOLLOW, so every link is refused.
Source: openat2(2); syscall number 437 on every architecture (asm-generic/unistd.h).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from typing import Final

_SYS_OPENAT2: Final = 437
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_BENEATH: Final = 0x08
_RETRIES: Final = 16


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(directory_fd: int, relative: str, flags: int, mode: int = 0) -> int:
    """Open ``relative`` beneath ``directory_fd``; the caller owns the returned descriptor.

    Raises:
        OSError: as open(2); EXDEV or ELOOP where the path leads out of the directory or through a
            forbidden link.
    """
    flags |= os.O_CLOEXEC
    if sys.platform == "linux":
        try:
            return _openat2(directory_fd, relative, flags, mode)
        except OSError as exc:
            if exc.errno not in (errno.ENOSYS, errno.EPERM):
                raise
    return _open_by_component(directory_fd, relative, flags, mode)


@functools.cache
def _libc() -> ctypes.CDLL:
    """The C library; finding it takes longer than the call."""
    return ctypes.CDLL(None, use_errno=True)


def _openat2(directory_fd: int, relative: str, flags: int, mode: int) -> int:
    libc = _libc()
    how = _OpenHow(flags, mode if flags & os.O_CREAT else 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    path = os.fsencode(relative)
    code = errno.EAGAIN
    for _ in range(_RETRIES):
        fd = libc.syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(directory_fd),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        # EAGAIN: something was renamed while ".." was being checked; the kernel asks for a retry.
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), relative)


def _open_by_component(directory_fd: int, relative: str, flags: int, mode: int) -> int:
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
    if not parts:
        return os.open(".", flags, dir_fd=directory_fd)
    current = os.dup(directory_fd)
    try:
        for part in parts[:-1]:
            step = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
            os.close(current)
            current = step
        return os.open(parts[-1], flags | os.O_NOFOLLOW, mode, dir_fd=current)
    finally:
        os.close(current)
