# ruff: noqa: S608 - the SQL is put together from constants of this module; values are bound
"""Whether what is stored is what was acknowledged."""

from __future__ import annotations

import os

from blake3 import blake3

from mcp_offload.models import Monitor
from mcp_offload.store import reclaim
from mcp_offload.store.config import CheckReport
from mcp_offload.store.reader import BlobReader, corrupt
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database


def verify_reader(reader: BlobReader, expected: str, monitor: Monitor) -> None:
    """Hash a whole blob.

    Raises:
        CorruptBlobError: it is not what it was.
        OperationCancelledError: let through from the monitor.
    """
    hasher = blake3()
    done_bytes = 0
    for chunk in reader.chunks():
        hasher.update(chunk)
        done_bytes += len(chunk)
        monitor.advance(done_bytes, reader.size_bytes, "verifying")
    if hasher.hexdigest() != expected:
        raise corrupt(expected)


def check(session: Session, monitor: Monitor, *, deep: bool) -> CheckReport:
    """Compare catalog and files, and where ``deep`` hash every blob; while the right to write is held."""
    with session.transaction() as db:
        problems = [f"catalog: {row[0]}" for row in db.rows("PRAGMA integrity_check") if row[0] != "ok"]
        problems += _row_problems(db)
        named = {row[0] for row in db.rows("SELECT file FROM blob WHERE file IS NOT NULL")}
        doomed = {row[0] for row in db.rows("SELECT file FROM doomed")}
        orphans = len(session.blobs.orphans(named | doomed))
        rows = db.rows(
            "SELECT b.blake3, b.size_bytes, b.file, i.data"
            " FROM blob b LEFT JOIN inline i ON i.blob_id = b.id",
        )
    checked_bytes = 0
    for expected, size_bytes, file, data in rows:
        problem = _blob_problem(session, expected, size_bytes, file, data, deep=deep)
        if problem is not None:
            problems.append(f"blob {expected[:12]}: {problem}")
        checked_bytes += size_bytes if deep else 0
        monitor.advance(checked_bytes, None, "checking")
    return CheckReport(tuple(problems), len(rows), checked_bytes, orphans)


def _row_problems(db: Database) -> list[str]:
    """What can never be in a sound catalog."""
    total = db.rows("SELECT COALESCE(SUM(size_bytes), 0) FROM blob")[0][0]
    problems = [] if total == reclaim.stored_bytes(db) else ["the sum of stored bytes is wrong"]
    never = {
        "live versions without a blob": "version v WHERE v.gone IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM blob b WHERE b.id = v.blob_id AND b.blake3 = v.blake3)",
        "live versions without their view": "version v WHERE v.gone IS NULL AND v.view_blake3 IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM blob b WHERE b.id = v.view_blob_id AND b.blake3 = v.view_blake3)",
        "blobs that nothing uses": "blob b WHERE NOT EXISTS (SELECT 1 FROM version WHERE blob_id = b.id)"
        " AND NOT EXISTS (SELECT 1 FROM version WHERE view_blob_id = b.id)",
        "live artifacts without a version": "artifact a WHERE a.gone IS NULL AND NOT EXISTS (SELECT 1 FROM"
        " version v WHERE v.workspace_id = a.workspace_id AND v.number = a.number AND v.gone IS NULL)",
        "live versions of a gone artifact": "version v WHERE v.gone IS NULL AND NOT EXISTS (SELECT 1 FROM"
        " artifact a WHERE a.workspace_id = v.workspace_id AND a.number = v.number AND a.gone IS NULL)",
        "numbers beyond the newest": "artifact a JOIN workspace w ON w.id = a.workspace_id"
        " WHERE a.number > w.last_number",
    }
    for what, rows in never.items():
        count = db.rows(f"SELECT count(*) FROM {rows}")[0][0]
        if count:
            problems.append(f"{count} {what}")
    return problems


def _blob_problem(
    session: Session, expected: str, size_bytes: int, file: str | None, data: bytes | None, *, deep: bool
) -> str | None:
    if file is None:
        if data is None:
            return "inline bytes are missing"
        return None if blake3(data).hexdigest() == expected else "inline bytes are wrong"
    found_bytes = session.blobs.size_bytes(file)
    if found_bytes is None:
        return "file is missing"
    if found_bytes != size_bytes:
        return f"file has {found_bytes} bytes instead of {size_bytes}"
    if not deep:
        return None
    hasher = blake3()
    fd = session.blobs.open(file)
    with os.fdopen(fd, "rb") as stream:
        while chunk := stream.read(1 << 20):
            hasher.update(chunk)
    return None if hasher.hexdigest() == expected else "file has other bytes"
