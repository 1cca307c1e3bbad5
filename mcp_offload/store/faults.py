"""What the system's and SQLite's errors mean for a caller."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import apsw

from mcp_offload.errors import StoreBusyError, StoreError, StoreFullError

_FULL_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL: Final = (
    "The disk that holds the store is full; nothing stored before was lost. "
    "Free some space, release handles, or choose another store directory."
)


def full() -> StoreFullError:
    """The error for a full disk, whichever way it was noticed."""
    return StoreFullError(_FULL)


def is_full(error: OSError) -> bool:
    """True where the system ran out of space, of inodes, or of the user's disk quota."""
    return error.errno in _FULL_ERRNOS


def meaning(error: OSError | apsw.Error) -> StoreError:
    """The package's own error for one of the disk or the catalog."""
    if isinstance(error, OSError):
        return full() if is_full(error) else StoreError(f"The store could not be used: {error.strerror}.")
    if isinstance(error, apsw.FullError):
        return full()
    if isinstance(error, apsw.BusyError):
        return StoreBusyError("The store's catalog is locked by another program. Try again.")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreError("The store's catalog is damaged. Remove the store directory; nothing else helps.")
    if isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return full()  # the log's index found no room
    return StoreError(f"The store's catalog could not be used ({type(error).__name__}).")


@contextmanager
def translated() -> Generator[None]:
    """Let errors of the disk and the catalog out as this package's own.

    Raises:
        StoreFullError: no space, no inodes, or over the user's disk quota.
        StoreBusyError: the catalog stayed locked.
        StoreError: anything else that the system or the catalog reports.
    """
    try:
        yield
    except (OSError, apsw.Error) as error:
        raise meaning(error) from error
