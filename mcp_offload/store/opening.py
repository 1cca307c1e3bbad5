"""Opening a stored blob, across evictions and after a crash of the host."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from mcp_offload.errors import CorruptBlobError
from mcp_offload.models import SilentMonitor, Version
from mcp_offload.store import caches, catalog, integrity, recovery
from mcp_offload.store.access import Access
from mcp_offload.store.growing import settled_key
from mcp_offload.store.reader import BlobReader, corrupt
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database

_ATTEMPTS: Final = 8


class _BlobRow(NamedTuple):
    blob_id: int
    blake3: str
    size_bytes: int
    newlines: int
    ends_with_newline: int
    file: str | None
    suspect: int
    counts: bytes
    data: bytes | None


def _blob_row(db: Database, blake3: str) -> _BlobRow | None:
    row = db.row(
        "SELECT b.id, b.blake3, b.size_bytes, b.newlines, b.ends_with_newline, b.file, b.suspect, b.counts,"
        " i.data FROM blob b LEFT JOIN inline i ON i.blob_id = b.id WHERE b.blake3 = ?",
        blake3,
    )
    return None if row is None else _BlobRow(*row)


def open_growing(access: Access, version: Version) -> BlobReader:
    """Open what has come of a growing artifact; where it is complete by now, that.

    Raises:
        HandleGoneError: the bytes are there no more.
    """
    reader = access.growing.reader(version)
    if reader is not None:
        return reader
    blake3 = access.read(lambda db: caches.outline_get(db, settled_key(version)))
    if blake3 is None:
        raise catalog.gone(version.number, "wiped")
    return open_blob(access, version, blake3.decode())


def open_blob(access: Access, version: Version, blake3: str) -> BlobReader:
    """Open one of a version's blobs.

    Raises:
        HandleGoneError: the bytes are there no more.
        CorruptBlobError: they are not what was acknowledged.
    """
    missing: str | None = None
    for _ in range(_ATTEMPTS):
        row = access.read(lambda db: _blob_row(db, blake3))
        if row is None:
            raise catalog.gone(version.number, access.read(lambda db: catalog.why_gone(db, version)))
        if row.suspect:
            _settle(access, row)
            continue
        try:
            return _reader(access.session, row)
        except FileNotFoundError:
            # Evicted since, and perhaps stored anew under another name. The same name once more means
            # that the file is gone while its row is not.
            if missing == row.file:
                break
            missing = row.file
    raise corrupt(blake3)


def _reader(session: Session, row: _BlobRow) -> BlobReader:
    fd, path = -1, None
    if row.file is None and row.data is None:
        raise corrupt(row.blake3)
    if row.file is not None:
        fd = session.blobs.open(row.file)
        path = os.path.join(session.blobs.path, row.file)
    reader = BlobReader(
        blake3=row.blake3,
        size_bytes=row.size_bytes,
        newlines=row.newlines,
        ends_with_newline=bool(row.ends_with_newline),
        counts=row.counts,
        data=row.data,
        fd=fd,
        path=path,
    )
    if fd >= 0 and os.fstat(fd).st_size != row.size_bytes:
        reader.close()
        raise corrupt(row.blake3)
    return reader


def _settle(access: Access, row: _BlobRow) -> None:
    """Hash a blob that a crash of the host may have damaged, and drop it if it was."""
    try:
        with _reader(access.session, row) as reader:
            integrity.verify_reader(reader, row.blake3, SilentMonitor())
    except (CorruptBlobError, FileNotFoundError):
        access.transact(lambda db: recovery.drop_blob(db, row.blob_id, row.file, access.config.clock()))
    else:
        access.transact(lambda db: db.run("UPDATE blob SET suspect = 0 WHERE file = ?", row.file))
