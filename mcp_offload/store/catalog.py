# ruff: noqa: S608 - the SQL is put together from constants of this module; values are bound
"""Reading the catalog: rows to values, and the reasons why a handle cannot be served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from mcp_offload.errors import HandleGoneError, HandleNotFoundError
from mcp_offload.models import Artifact, FileStamp, Kind, Version
from mcp_offload.store.config import StoreStats, SymbolCandidate
from mcp_offload.store.sql import Database, Row

ARTIFACT: Final = (
    "a.number, a.kind, a.name, a.source_path, a.latest, a.pinned, a.created_at, a.used_at, a.gone"
)
VERSION: Final = (
    "v.number, v.version, v.blake3, v.view_blake3, v.encoding, v.size_bytes, v.lines, v.language,"
    " v.created_at, v.stamp, v.gone"
)
_ARTIFACT_COLUMNS: Final = 9
_LIVE_LATEST: Final = (
    "FROM artifact a JOIN version v ON v.workspace_id = a.workspace_id AND v.number = a.number"
    " AND v.version = a.latest AND v.gone IS NULL"
)
_BY_WORKSPACE: Final = "a.workspace_id = (SELECT id FROM workspace WHERE key = ?)"
_OF_ARTIFACT: Final = (
    f"SELECT {VERSION} FROM version v"
    " WHERE v.workspace_id = (SELECT id FROM workspace WHERE key = ?) AND v.number = ?"
)
_WHY: Final[dict[str, str]] = {
    "evicted": "was evicted to make room",
    "expired": "was not used for so long that it expired",
    "released": "was released",
    "wiped": "was lost with an earlier store",
}


def gone(number: int, reason: str, version: int | None = None) -> HandleGoneError:
    """The error for a handle whose bytes are gone."""
    what = f"Artifact {number}" if version is None else f"Version {version} of artifact {number}"
    return HandleGoneError(f"{what} {_WHY.get(reason, reason)}. Store it again.", reason=reason)


def to_artifact(workspace: str, row: Row) -> Artifact:
    """The value of a row of :data:`ARTIFACT`."""
    number, kind, name, source_path, latest, pinned, created_at, used_at, _ = row
    return Artifact(
        workspace=workspace,
        number=number,
        kind=Kind(kind),
        name=name,
        source_path=source_path,
        latest=latest,
        pinned=bool(pinned),
        created_at=created_at,
        used_at=used_at,
    )


def to_version(row: Row) -> Version:
    """The value of a row of :data:`VERSION`."""
    number, version, blake3, view_blake3, encoding, size_bytes, lines, language, created_at, stamp, _ = row
    return Version(
        number=number,
        version=version,
        blake3=blake3,
        view_blake3=view_blake3,
        encoding=encoding,
        size_bytes=size_bytes,
        lines=lines,
        language=language,
        created_at=created_at,
        stamp=to_stamp(stamp),
    )


def to_stamp(text: str | None) -> FileStamp | None:
    """A stamp from its text: inode numbers do not fit SQLite's signed integers."""
    return None if text is None else FileStamp(*(int(part) for part in text.split(" ")))


def stamp_text(stamp: FileStamp | None) -> str | None:
    """The text a stamp is kept as."""
    if stamp is None:
        return None
    parts = (stamp.device, stamp.inode, stamp.size_bytes, stamp.mtime_ns, stamp.ctime_ns, stamp.read_at_ns)
    return " ".join(str(part) for part in parts)


def artifact_row(db: Database, workspace: str, number: int) -> Row | None:
    """The row of an artifact, alive or gone."""
    return db.row(
        f"SELECT {ARTIFACT} FROM artifact a WHERE {_BY_WORKSPACE} AND a.number = ?", workspace, number
    )


def raise_unknown(db: Database, workspace: str, number: int, mark: int) -> NoReturn:
    """Say why there is no row for this number; ``mark`` is the highest that may have been issued.

    Raises:
        HandleGoneError: issued by a store that was wiped since, or so long ago that its record is gone.
        HandleNotFoundError: never issued.
    """
    row = db.row("SELECT last_number, reserved FROM workspace WHERE key = ?", workspace)
    unissued = row is not None and row[0] < number <= row[1]
    if 0 < number <= mark and not unissued:
        raise gone(number, "wiped")
    raise HandleNotFoundError(
        f"No artifact {number} in this workspace. Use a path, or the handle that storing it printed."
    )


def live_artifact(db: Database, workspace: str, number: int) -> Artifact | None:
    """An artifact, or None where there is no row.

    Raises:
        HandleGoneError: it is there no more.
    """
    row = artifact_row(db, workspace, number)
    if row is None:
        return None
    if row[-1] is not None:
        raise gone(number, row[-1])
    return to_artifact(workspace, row)


def artifact_by_path(db: Database, workspace: str, source_path: str) -> Artifact | None:
    """The live artifact read from a path."""
    sql = f"SELECT {ARTIFACT} FROM artifact a WHERE {_BY_WORKSPACE} AND a.source_path = ? AND a.gone IS NULL"
    row = db.row(sql, workspace, source_path)
    return None if row is None else to_artifact(workspace, row)


def live_versions(db: Database, artifact: Artifact) -> list[Version]:
    """The versions of an artifact whose bytes are there, oldest first."""
    sql = f"{_OF_ARTIFACT} AND v.gone IS NULL ORDER BY v.version"
    return [to_version(row) for row in db.rows(sql, artifact.workspace, artifact.number)]


def version(db: Database, artifact: Artifact, number: int) -> Version:
    """One version of an artifact.

    Raises:
        HandleGoneError: its bytes are gone.
        HandleNotFoundError: the artifact never had it.
    """
    row = db.row(f"{_OF_ARTIFACT} AND v.version = ?", artifact.workspace, artifact.number, number)
    if row is not None and row[-1] is None:
        return to_version(row)
    if row is not None:
        raise gone(artifact.number, row[-1], number)
    if 0 < number <= artifact.latest:
        raise gone(artifact.number, "evicted", number)
    raise HandleNotFoundError(
        f"Artifact {artifact.number} has no version {number}; the newest is {artifact.latest}."
    )


def find_by_hash(db: Database, workspace: str, blake3: str) -> list[tuple[Artifact, Version]]:
    """Live versions whose stored bytes have a hash, in order of number and version."""
    sql = (
        f"SELECT {ARTIFACT}, {VERSION} FROM version v JOIN artifact a ON a.workspace_id = v.workspace_id"
        f" AND a.number = v.number WHERE {_BY_WORKSPACE} AND v.blake3 = ? AND v.gone IS NULL"
        " ORDER BY v.number, v.version"
    )
    return [_pair(workspace, row) for row in db.rows(sql, workspace, blake3)]


def _pair(workspace: str, row: Row) -> tuple[Artifact, Version]:
    return to_artifact(workspace, row[:_ARTIFACT_COLUMNS]), to_version(row[_ARTIFACT_COLUMNS:])


def listing(
    db: Database,
    workspace: str,
    *,
    limit: int,
    offset: int,
    kind: Kind | None,
    name_contains: str | None,
) -> tuple[list[tuple[Artifact, Version]], int]:
    """Live artifacts with their latest version, most recently used first, and how many there are."""
    where, values = _BY_WORKSPACE + " AND a.gone IS NULL", [workspace]
    if kind is not None:
        where, values = where + " AND a.kind = ?", [*values, kind.value]
    if name_contains:
        where, values = where + " AND instr(lower(a.name), lower(?))", [*values, name_contains]
    counted = db.row(f"SELECT count(*) {_LIVE_LATEST} WHERE {where}", *values)
    page = (
        f"SELECT {ARTIFACT}, {VERSION} {_LIVE_LATEST} WHERE {where}"
        " ORDER BY a.used_at DESC, a.number DESC LIMIT ? OFFSET ?"
    )
    rows = db.rows(page, *values, limit, offset)
    return [_pair(workspace, row) for row in rows], counted[0] if counted else 0


def symbol_candidates(db: Database, workspace: str, needle: str, limit: int) -> list[SymbolCandidate]:
    """Cached outlines of latest views whose names contain the text, ASCII case aside."""
    sql = (
        f"SELECT a.number, v.version, o.key, o.payload {_LIVE_LATEST}"
        " JOIN outline o ON o.view_blake3 = COALESCE(v.view_blake3, v.blake3)"
        f" WHERE {_BY_WORKSPACE} AND a.gone IS NULL AND instr(lower(o.names), lower(?))"
        " ORDER BY a.used_at DESC, a.number DESC LIMIT ?"
    )
    return [SymbolCandidate(*row) for row in db.rows(sql, workspace, needle, limit)]


def why_gone(db: Database, version: Version) -> str:
    """Why a version that was handed out earlier has no bytes any more."""
    sql = "SELECT gone FROM version WHERE blake3 = ? AND number = ? AND version = ? AND gone IS NOT NULL"
    row = db.row(sql, version.blake3, version.number, version.version)
    return "wiped" if row is None else str(row[0])


def counts(db: Database, workspace: str) -> Sequence[int]:
    """Live artifacts, live versions and pinned artifacts of a workspace; blobs and bytes of all."""
    sql = (
        f"SELECT (SELECT count(*) FROM artifact a WHERE {_BY_WORKSPACE} AND a.gone IS NULL),"
        f" (SELECT count(*) FROM version a WHERE {_BY_WORKSPACE} AND a.gone IS NULL),"
        f" (SELECT count(*) FROM artifact a WHERE {_BY_WORKSPACE} AND a.gone IS NULL AND a.pinned = 1),"
        " (SELECT count(*) FROM blob), (SELECT value FROM meta WHERE key = 'stored_bytes')"
    )
    row = db.row(sql, workspace, workspace, workspace)
    assert row is not None
    return row


def workspace_bytes(db: Database, workspace: str) -> int:
    """Stored bytes of the live versions of a workspace."""
    sql = f"SELECT COALESCE(SUM(a.size_bytes), 0) FROM version a WHERE {_BY_WORKSPACE} AND a.gone IS NULL"
    row = db.row(sql, workspace)
    return 0 if row is None else int(row[0])


def to_stats(
    row: Sequence[int], *, catalog_bytes: int, wal_bytes: int, free_bytes: int, schema: int
) -> StoreStats:
    """The statistics from a row of :func:`counts`."""
    artifacts, live_versions, pinned, blobs, stored_bytes = row
    return StoreStats(
        artifacts=artifacts,
        versions=live_versions,
        pinned=pinned,
        blobs=blobs,
        stored_bytes=stored_bytes,
        catalog_bytes=catalog_bytes,
        wal_bytes=wal_bytes,
        free_disk_bytes=free_bytes,
        schema_version=schema,
    )
