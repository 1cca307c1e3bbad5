"""One opening of the store's directory: its locks, its two connections, its blobs and its ballast.

A session belongs to the directory it was opened on. Where that directory has been wiped or replaced
meanwhile, :meth:`Session.is_current` says so and the store opens a new session.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

import apsw

from mcp_offload.errors import StoreBusyError, StoreError, StoreFullError
from mcp_offload.store import schema
from mcp_offload.store.blobs import BlobDir
from mcp_offload.store.config import BALLAST_BYTES, StoreConfig
from mcp_offload.store.faults import translated
from mcp_offload.store.locks import Gate, SessionLost, WriterLock
from mcp_offload.store.places import ensure_private_dir
from mcp_offload.store.sql import Database, Row

_BALLAST: Final = "ballast"
_Result = TypeVar("_Result")


class Session:
    """An open store directory, shared by the threads of a process.

    Attributes:
        blobs: the blob files.
        version: the schema version found before migration; 0 where the store was created.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        self._failpoints = config.failpoints
        self._path = os.path.join(config.store_dir, schema.CATALOG)
        self._reader_lock = threading.Lock()
        self._closed = False
        self._dir_fd = ensure_private_dir(config.store_dir)
        try:
            with translated():
                self._writer_lock = WriterLock(self._dir_fd)
                self._reader_gate = Gate(self._dir_fd)
                self._writer_gate = Gate(self._dir_fd)
                self.blobs = BlobDir(
                    self._dir_fd, config.store_dir, config.failpoints, sync=config.durability == "host"
                )
            self._open_catalog()
        except BaseException:
            os.close(self._dir_fd)
            raise

    def _open_catalog(self) -> None:
        config = self._config
        with self._writer_lock.held(config.lock_timeout_seconds), translated():
            if not self._writer_lock.is_file(self._dir_fd):
                raise SessionLost
            if not self._has_catalog():
                schema.probe(config.store_dir)
                schema.create_file(self._dir_fd)
                self._failpoints.hit("schema.created")
            self._identity = os.stat(schema.CATALOG, dir_fd=self._dir_fd, follow_symlinks=False)
            self._writer = self._connect_making_room()
            try:
                self.version = schema.require_known(self._writer, self._path)
                schema.migrate(self._writer, self.version, self._failpoints)
                self._reader = schema.connect(self._path, config.durability)
            except BaseException:
                self._writer.close()
                raise
            if config.durability == "host" and self.version == 0:
                os.fsync(self._dir_fd)
            self.restore_ballast()

    def _has_catalog(self) -> bool:
        try:
            os.stat(schema.CATALOG, dir_fd=self._dir_fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _connect_making_room(self) -> Database:
        """Connect; on a full disk even that needs the room that the ballast keeps."""
        try:
            db = schema.connect(self._path, self._config.durability)
            schema.version_of(db)
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError):
            if not self.drop_ballast():
                raise
            db = schema.connect(self._path, self._config.durability)
        return db

    def is_current(self) -> bool:
        """False where the directory was wiped or replaced since the session was opened."""
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return not self._closed and os.path.samestat(there, self._identity)

    @contextmanager
    def reading(self) -> Generator[Database]:
        """The reading connection, for queries that fetch all their rows and take little time.

        Raises:
            SessionLost: the store must be opened anew.
            StoreBusyError: a checkpoint of another process took too long.
        """
        timeout_seconds = self._config.lock_timeout_seconds
        with self._reader_lock:
            if not self.is_current():
                raise SessionLost
            with translated(), self._reader_gate.reading(timeout_seconds):
                yield self._reader

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Hold the right to write; transactions are begun with :meth:`transaction` inside.

        Raises:
            SessionLost: the store must be opened anew.
            StoreBusyError: another process wrote for too long.
        """
        with self._writer_lock.held(self._config.lock_timeout_seconds):
            if not self.is_current() or not self._writer_lock.is_file(self._dir_fd):
                raise SessionLost
            yield self
            self._checkpoint_if_large()

    @contextmanager
    def transaction(self) -> Generator[Database]:
        """One transaction on the writing connection; only inside :meth:`writing`.

        Raises:
            StoreFullError: the disk is full; nothing was changed.
        """
        db = self._writer
        with translated():
            db.run("BEGIN IMMEDIATE")
            try:
                yield db
                db.run("COMMIT")
            except BaseException:
                if db.in_transaction:
                    with suppress(apsw.Error):  # a failed rollback is undone by the next opener
                        db.run("ROLLBACK")
                raise

    def ask(self, sql: str, *values: str) -> Row | None:
        """The first row of a query on what is committed; only inside :meth:`writing`, so that it stays so."""
        with translated():
            return self._writer.row(sql, *values)

    def wal_bytes(self) -> int:
        """Size of the write-ahead log."""
        try:
            return os.stat(self._path + "-wal").st_size
        except FileNotFoundError:
            return 0

    def wal_stamp(self) -> tuple[int, ...]:
        """What changes with every commit of any process: file, size and time of the write-ahead log."""
        try:
            found = os.stat(self._path + "-wal")
        except FileNotFoundError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def catalog_bytes(self) -> int:
        """Size of the catalog itself."""
        return os.stat(self._path).st_size

    def _checkpoint_if_large(self) -> None:
        if self.wal_bytes() > self._config.wal_limit_bytes:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Fold the log into the catalog; only inside :meth:`writing`.

        What fails here has failed after the caller's work was acknowledged and is tried again by the
        next writer, so it is not raised.
        """
        try:
            with translated(), self._writer_gate.closed(self._config.lock_timeout_seconds):
                self._failpoints.hit("checkpoint.gated")
                self._writer.checkpoint()
                self._failpoints.hit("checkpoint.done")
        except StoreBusyError:
            return
        except StoreError:
            return

    def drop_ballast(self) -> bool:
        """Give the ballast's disk space up; False where there was none."""
        try:
            os.unlink(_BALLAST, dir_fd=self._dir_fd)
        except FileNotFoundError:
            return False
        self._failpoints.hit("ballast.freed")
        return True

    def missing_bytes(self, ahead_bytes: int = 0) -> int:
        """What must be freed before so many bytes may be written; 0 or less where they may.

        The floor below which nothing is stored is the reserve, and the ballast where that has been
        given up: it is won back before anything else.
        """
        floor_bytes = self._config.reserve_bytes
        try:
            os.stat(_BALLAST, dir_fd=self._dir_fd)
        except FileNotFoundError:
            floor_bytes += BALLAST_BYTES
        return floor_bytes + ahead_bytes - self.blobs.free_bytes()

    def restore_ballast(self) -> None:
        """Set disk space aside again where there is some; only under the writer's lock."""
        if self.blobs.free_bytes() < BALLAST_BYTES:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            fd = os.open(_BALLAST, flags, 0o600, dir_fd=self._dir_fd)
        except OSError:  # there already, or no inode for it
            return
        try:
            os.fchmod(fd, 0o600)
            _fill(fd, BALLAST_BYTES)
        except OSError:
            os.unlink(_BALLAST, dir_fd=self._dir_fd)
        finally:
            os.close(fd)
        self._failpoints.hit("ballast.restored")

    def with_ballast(self, attempt: Callable[[], _Result]) -> _Result:
        """Do something, and on a full disk once more with the ballast's room; inside :meth:`writing`.

        Raises:
            StoreFullError: that was not enough.
        """
        try:
            return attempt()
        except StoreFullError:
            if not self.drop_ballast():
                raise
            return attempt()

    def close(self) -> None:
        """Close everything once no thread is inside; blobs being staged or read stay open.

        Raises:
            StoreBusyError: a thread stayed inside for too long.
        """
        self._writer_lock.close(self._config.lock_timeout_seconds)
        with self._reader_lock:
            if self._closed:
                return
            self._closed = True
            self._writer.close()
            self._reader.close()
            self._reader_gate.close()
            self._writer_gate.close()
            self.blobs.forget_temporaries()
            os.close(self._dir_fd)


def _fill(fd: int, size_bytes: int) -> None:
    """Allocate really, also where the file system would make a hole of zeros."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size_bytes)
    else:
        os.write(fd, os.urandom(size_bytes))
