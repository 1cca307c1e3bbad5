"""The catalog's tables, the steps between its versions, and how a connection to it is opened.

Never open the catalog's file by other means than SQLite, not even to read it: closing any descriptor
of a file drops all of the process's POSIX locks on it, and with them SQLite's.
"""

from __future__ import annotations

import os
import secrets
from typing import Final

import apsw

from mcp_offload.errors import StoreError, StoreVersionError
from mcp_offload.settings import Durability
from mcp_offload.store.failpoints import Failpoints
from mcp_offload.store.sql import Database

CATALOG: Final = "catalog.sqlite"
_APPLICATION_ID: Final = 0x6D637066
_BUSY_MILLISECONDS: Final = 5000

_STEP_1: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE workspace (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    last_number INTEGER NOT NULL DEFAULT 0,      -- newest number issued
    reserved INTEGER NOT NULL DEFAULT 0          -- numbers up to this one are ours to issue
);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY,
    blake3 TEXT NOT NULL UNIQUE,
    size_bytes INTEGER NOT NULL,
    newlines INTEGER NOT NULL,
    ends_with_newline INTEGER NOT NULL,
    file TEXT UNIQUE,                            -- NULL: the bytes are in inline
    durable INTEGER NOT NULL,                    -- 1: fsynced before it was acknowledged
    suspect INTEGER NOT NULL DEFAULT 0,          -- 1: the host crashed since; not yet hashed again
    counts BLOB NOT NULL
);
CREATE TABLE inline (blob_id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE doomed (file TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE artifact (
    workspace_id INTEGER NOT NULL REFERENCES workspace (id),
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    source_path TEXT,
    latest INTEGER NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    used_at REAL NOT NULL,
    gone TEXT,                                   -- why it is gone, NULL while a version lives
    gone_at REAL,
    PRIMARY KEY (workspace_id, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX artifact_path ON artifact (workspace_id, source_path)
    WHERE gone IS NULL AND source_path IS NOT NULL;
CREATE INDEX artifact_used ON artifact (used_at, workspace_id, number) WHERE gone IS NULL;
CREATE TABLE version (
    workspace_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    blob_id INTEGER REFERENCES blob (id),        -- NULL once gone
    view_blob_id INTEGER REFERENCES blob (id),
    blake3 TEXT NOT NULL,
    view_blake3 TEXT,
    encoding TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    language TEXT,
    created_at REAL NOT NULL,
    stamp TEXT,
    superseded INTEGER NOT NULL DEFAULT 0,       -- 1: a newer version exists
    gone TEXT,
    PRIMARY KEY (workspace_id, number, version)
) WITHOUT ROWID;
CREATE INDEX version_hash ON version (blake3);
CREATE INDEX version_blob ON version (blob_id) WHERE blob_id IS NOT NULL;
CREATE INDEX version_view ON version (view_blob_id) WHERE view_blob_id IS NOT NULL;
CREATE INDEX version_old ON version (created_at, workspace_id, number, version)
    WHERE gone IS NULL AND superseded = 1;
"""

_STEP_2: Final = """
CREATE TABLE outline (
    key TEXT PRIMARY KEY,
    view_blake3 TEXT NOT NULL,
    payload BLOB NOT NULL,
    names TEXT NOT NULL,
    created_at REAL NOT NULL
);
CREATE INDEX outline_view ON outline (view_blake3);
CREATE TABLE token_count (blake3 TEXT PRIMARY KEY, tokens INTEGER NOT NULL, created_at REAL NOT NULL)
    WITHOUT ROWID;
INSERT INTO meta VALUES ('stored_bytes', (SELECT COALESCE(SUM(size_bytes), 0) FROM blob));
CREATE TRIGGER blob_added AFTER INSERT ON blob BEGIN
    UPDATE meta SET value = value + NEW.size_bytes WHERE key = 'stored_bytes';
END;
CREATE TRIGGER blob_dropped AFTER DELETE ON blob BEGIN
    UPDATE meta SET value = value - OLD.size_bytes WHERE key = 'stored_bytes';
END;
"""

_STEP_3: Final = """
CREATE TABLE lease (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    session TEXT NOT NULL,                       -- whose context it is, as far as that is known
    state TEXT NOT NULL,
    created_at REAL NOT NULL,
    used_at REAL NOT NULL,
    UNIQUE (workspace, session)
);
CREATE TABLE lease_use (
    lease_id INTEGER NOT NULL REFERENCES lease (id),
    tool TEXT NOT NULL,
    artifact INTEGER NOT NULL,                   -- number, or 0 where a reply is about none or several
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (lease_id, tool, artifact)
) WITHOUT ROWID;
CREATE TABLE lease_content (
    lease_id INTEGER NOT NULL REFERENCES lease (id),
    artifact INTEGER NOT NULL,
    version INTEGER NOT NULL,
    tool TEXT NOT NULL,                          -- by which it came into the session
    handle TEXT NOT NULL,
    name TEXT NOT NULL,
    view_blake3 TEXT NOT NULL,
    tokens INTEGER,                              -- NULL: not counted; 0 for binary content
    PRIMARY KEY (lease_id, artifact, version)
) WITHOUT ROWID;
"""

STEPS: Final[tuple[str, ...]] = (_STEP_1, _STEP_2, _STEP_3)
"""``STEPS[n]`` leads from schema version n to n + 1; never changed once released, only added to."""


def connect(path: str, durability: Durability) -> Database:
    """Open the catalog for one thread at a time, without the right to create it.

    Closing such a connection never checkpoints, because that is done under the writer's lock only.
    """
    db = Database(path)
    db.set_up(_BUSY_MILLISECONDS)
    full = durability == "host"
    db.run(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
    db.run(f"PRAGMA fullfsync = {int(full)}")
    db.run("PRAGMA wal_autocheckpoint = 0")
    db.run("PRAGMA temp_store = MEMORY")
    return db


def version_of(db: Database) -> int:
    """The schema version of an open catalog; 0 for a new one."""
    row = db.row("PRAGMA user_version")
    return 0 if row is None else int(row[0])


def require_known(db: Database, path: str) -> int:
    """The catalog's schema version, without having changed anything.

    Raises:
        StoreVersionError: a newer release wrote it.
        StoreError: it is another program's database.
    """
    version = version_of(db)
    if version > len(STEPS):
        raise StoreVersionError(
            f"The store in {os.path.dirname(path)} was written by a newer release (schema {version}, this one"
            f" knows {len(STEPS)}). Use that release, or choose another store directory."
        )
    owner = db.row("PRAGMA application_id")
    if version and owner is not None and owner[0] != _APPLICATION_ID:
        raise StoreError(f"{path} is another program's database. Choose another store directory.")
    return version


def migrate(db: Database, version: int, failpoints: Failpoints) -> None:
    """Bring the catalog from ``version`` to the newest in one transaction; under the writer's lock."""
    if version == len(STEPS):
        return
    if version == 0:
        db.run("PRAGMA auto_vacuum = INCREMENTAL")
        mode = db.row("PRAGMA journal_mode = WAL")
        if mode is None or mode[0] != "wal":
            raise StoreError(
                "The file system of the store cannot hold its catalog. Choose another directory."
            )
    db.run("BEGIN IMMEDIATE")
    try:
        for step in range(version, len(STEPS)):
            db.script(STEPS[step])
            failpoints.hit("schema.step")
        db.run(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.run(f"PRAGMA user_version = {len(STEPS)}")
        db.run("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.run("ROLLBACK")
        raise
    failpoints.hit("schema.committed")


def create_file(dir_fd: int) -> bool:
    """Create the empty catalog file with mode 0600; False where it is there already.

    Safe for SQLite's locks because nobody can have opened a file that did not exist.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(CATALOG, flags, 0o600, dir_fd=dir_fd)
    except FileExistsError:
        return False
    try:
        os.fchmod(fd, 0o600)
    finally:
        os.close(fd)
    return True


def probe(store_dir: str) -> None:
    """Prove with a scratch database that the file system can hold a catalog.

    Some network and foreign file systems accept the journal mode and fail at the first write.

    Raises:
        StoreError: it cannot.
    """
    path = os.path.join(store_dir, f"probe-{secrets.token_hex(8)}.sqlite")
    try:
        db = Database(path, create=True)
        try:
            db.run("PRAGMA synchronous = OFF")
            db.run("PRAGMA journal_mode = WAL")
            db.script("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
            sound = db.rows("SELECT x FROM t") == [(1,)]
        finally:
            db.close()
    except (apsw.IOError, apsw.CantOpenError, apsw.ProtocolError, apsw.BusyError):
        sound = False
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                os.unlink(path + suffix)
            except FileNotFoundError:
                continue
    if not sound:
        raise StoreError(
            f"The file system of {store_dir} cannot hold the store's catalog (a network mount?)."
            " Choose another store directory."
        )
