# ruff: noqa: S608 - the SQL is put together from constants of this module; values are bound
"""Taking space back: dropping versions, deleting their files, expiry and collection.

Files are deleted only after the transaction that dropped their rows: it puts the names into ``doomed``
first, so that a process that dies in between leaves the deletion to the next one.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from contextlib import closing
from typing import Final

from mcp_offload.errors import QuotaExceededError
from mcp_offload.store.config import Gone
from mcp_offload.store.eviction import BlobUse, Candidate, plan
from mcp_offload.store.failpoints import Failpoints
from mcp_offload.store.faults import full, translated
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database, Row

_REFERENCES: Final = (
    "(SELECT count(*) FROM version x WHERE x.blob_id = {0}.id)"
    " + (SELECT count(*) FROM version x WHERE x.view_blob_id = {0}.id)"
)
_CANDIDATE: Final = (
    "v.workspace_id, v.number, v.version,"
    f" b.id, b.size_bytes, {_REFERENCES.format('b')}, w.id, w.size_bytes, {_REFERENCES.format('w')}"
)
_BLOBS: Final = "JOIN blob b ON b.id = v.blob_id LEFT JOIN blob w ON w.id = v.view_blob_id"
_LATEST: Final = (
    f"SELECT a.used_at, {_CANDIDATE} FROM artifact a INDEXED BY artifact_used"
    " JOIN version v ON v.workspace_id = a.workspace_id AND v.number = a.number AND v.version = a.latest"
    f" AND v.gone IS NULL {_BLOBS}"
    " WHERE a.gone IS NULL AND a.pinned = 0 ORDER BY a.used_at, a.workspace_id, a.number"
)
_SUPERSEDED: Final = (
    f"SELECT v.created_at, {_CANDIDATE} FROM version v INDEXED BY version_old"
    f" JOIN artifact a ON a.workspace_id = v.workspace_id AND a.number = v.number AND a.pinned = 0 {_BLOBS}"
    " WHERE v.gone IS NULL AND v.superseded = 1"
    " ORDER BY v.created_at, v.workspace_id, v.number, v.version"
)

Key = tuple[int, int, int]


def _to_candidate(row: Row) -> Candidate:
    idle_since, workspace_id, number, version, *blobs = row
    uses = [BlobUse(*blobs[:3])]
    if blobs[3] is not None:
        uses.append(BlobUse(*blobs[3:]))
    return Candidate(idle_since, workspace_id, number, version, tuple(uses))


def stored_bytes(db: Database) -> int:
    """Bytes of all live blobs; kept by triggers in the same transaction as the rows it sums."""
    row = db.row("SELECT value FROM meta WHERE key = 'stored_bytes'")
    return 0 if row is None else int(row[0])


def drop(db: Database, keys: Iterable[Key], reason: Gone, now: float) -> int:
    """Turn versions into tombstones and doom the blobs that nothing uses any more; bytes freed.

    Whether a blob is still used is asked of the rows themselves, so it can never be wrong.
    """
    touched: set[int] = set()
    artifacts: set[tuple[int, int]] = set()
    for key in keys:
        for row in db.rows(
            "SELECT blob_id, view_blob_id FROM version"
            " WHERE workspace_id = ? AND number = ? AND version = ? AND gone IS NULL",
            *key,
        ):
            touched.update(blob_id for blob_id in row if blob_id is not None)
        db.run(
            "UPDATE version SET gone = ?, blob_id = NULL, view_blob_id = NULL"
            " WHERE workspace_id = ? AND number = ? AND version = ? AND gone IS NULL",
            reason,
            *key,
        )
        artifacts.add(key[:2])
    for artifact in artifacts:
        db.run(
            "UPDATE artifact SET gone = ?1, gone_at = ?2, pinned = 0"
            " WHERE workspace_id = ?3 AND number = ?4 AND gone IS NULL AND NOT EXISTS"
            " (SELECT 1 FROM version WHERE workspace_id = ?3 AND number = ?4 AND gone IS NULL)",
            reason,
            now,
            *artifact,
        )
    return sum(_drop_blob_if_unused(db, blob_id) for blob_id in touched)


def _drop_blob_if_unused(db: Database, blob_id: int) -> int:
    row = db.row(
        "DELETE FROM blob WHERE id = ?1"
        " AND NOT EXISTS (SELECT 1 FROM version WHERE blob_id = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM version WHERE view_blob_id = ?1)"
        " RETURNING file, size_bytes, blake3",
        blob_id,
    )
    if row is None:
        return 0
    file, size_bytes, blake3 = row
    db.run("DELETE FROM inline WHERE blob_id = ?", blob_id)
    db.run("DELETE FROM outline WHERE view_blake3 = ?", blake3)
    db.run("DELETE FROM token_count WHERE blake3 = ?", blake3)
    if file is not None:
        db.run("INSERT OR IGNORE INTO doomed VALUES (?)", file)
    return int(size_bytes)


def evict(
    db: Database,
    need_bytes: int,
    now: float,
    failpoints: Failpoints,
    *,
    protected: Collection[Key] = (),
) -> tuple[int, int] | None:
    """Drop the longest-idle versions until so many bytes are freed; versions and bytes dropped.

    Returns None, having changed nothing, where even all of them would not be enough.
    """
    with closing(db.stream(_LATEST)) as latest, closing(db.stream(_SUPERSEDED)) as superseded:
        idle = heapq.merge(map(_to_candidate, latest), map(_to_candidate, superseded))
        victims = plan(idle, need_bytes, protected)
    if victims is None:
        return None
    failpoints.hit("evict.planned")
    freed_bytes = drop(db, [victim.key for victim in victims], "evicted", now)
    failpoints.hit("evict.rows")
    return len(victims), freed_bytes


def fit(
    db: Database,
    *,
    quota_bytes: int,
    disk_bytes: int,
    now: float,
    failpoints: Failpoints,
    protected: Collection[Key],
) -> None:
    """Evict until the quota and the disk's floor hold; ``disk_bytes`` is what is missing below the floor.

    Raises:
        QuotaExceededError, StoreFullError: that cannot be reached.
    """
    over_bytes = stored_bytes(db) - quota_bytes
    need_bytes = max(over_bytes, disk_bytes)
    if need_bytes <= 0:
        return
    if evict(db, need_bytes, now, failpoints, protected=protected) is not None:
        return
    if over_bytes > 0:
        raise QuotaExceededError(
            f"The content does not fit the store's quota of {quota_bytes:,} bytes beside what is pinned."
            " Release or unpin something."
        )
    raise full()


def delete_doomed(session: Session, failpoints: Failpoints) -> None:
    """Delete the files of dropped blobs; only inside ``session.writing()``."""
    if session.ask("SELECT 1 FROM doomed LIMIT 1") is None:
        return
    with session.transaction() as db:
        names = [row[0] for row in db.rows("SELECT file FROM doomed")]
        failpoints.hit("doomed.unlinking")
        with translated():
            for name in names:
                session.blobs.unlink(name)
        failpoints.hit("doomed.unlinked")
        db.run("DELETE FROM doomed")
    failpoints.hit("doomed.forgotten")
