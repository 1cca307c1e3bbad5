"""What a host crash may have damaged, found and dropped before anything is served.

Without fsync, a blob that was acknowledged before a host crash may be short, empty or zeros, and the
newest rows and marks may be missing. A kill of the process alone damages nothing.
"""

from __future__ import annotations

from typing import Final

from mcp_offload.store import reclaim
from mcp_offload.store.blobs import BlobDir
from mcp_offload.store.config import MARK_BLOCK, StoreConfig
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database

_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"


def boot_id(path: str = _BOOT_ID) -> str | None:
    """What names this run of the host's kernel; None where the system does not say.

    Source: proc_sys_kernel(5). Elsewhere than on Linux a host crash is not noticed.
    """
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def recover(session: Session, config: StoreConfig, boot: str | None) -> None:
    """Check the blobs once per boot of the host.

    Blobs that were not fsynced are dropped where their size is wrong, and otherwise marked to be
    hashed when they are next opened.
    """
    if boot is None:
        return
    with session.reading() as db:
        if _last_boot(db) == boot:
            return
    with session.writing():
        session.with_ballast(lambda: _recover(session, config, boot))
        reclaim.delete_doomed(session, config.failpoints)


def _last_boot(db: Database) -> str | None:
    row = db.row("SELECT value FROM meta WHERE key = 'boot_id'")
    return None if row is None else str(row[0])


def _recover(session: Session, config: StoreConfig, boot: str) -> None:
    with session.transaction() as db:
        before = _last_boot(db)
        if before == boot:
            return
        if before is not None:
            _drop_wrong_sizes(db, session.blobs, config)
            if config.durability == "process":
                # Numbers handed out just before the crash may have left no trace.
                db.run(
                    "UPDATE workspace SET last_number = max(last_number, reserved) + ?, reserved = 0",
                    2 * MARK_BLOCK,
                )
        config.failpoints.hit("recover.checked")
        db.run("INSERT OR REPLACE INTO meta VALUES ('boot_id', ?)", boot)


def _drop_wrong_sizes(db: Database, blobs: BlobDir, config: StoreConfig) -> None:
    rows = db.rows("SELECT id, file, size_bytes FROM blob WHERE file IS NOT NULL AND durable = 0")
    for blob_id, file, size_bytes in rows:
        if blobs.size_bytes(file) == size_bytes:
            db.run("UPDATE blob SET suspect = 1 WHERE id = ?", blob_id)
        else:
            drop_blob(db, blob_id, file, config.clock())


def drop_blob(db: Database, blob_id: int, file: str | None, now: float) -> None:
    """Turn every version that uses a damaged blob into a tombstone, unless it was mended meanwhile."""
    if db.row("SELECT 1 FROM blob WHERE id = ? AND file = ?", blob_id, file) is None:
        return
    sql = "SELECT workspace_id, number, version FROM version WHERE blob_id = ?1 OR view_blob_id = ?1"
    reclaim.drop(db, db.rows(sql, blob_id), "wiped", now)
