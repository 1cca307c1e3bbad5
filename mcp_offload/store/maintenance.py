# ruff: noqa: S608 - the SQL is put together from constants of this module; values are bound
"""What an operator or a timer asks for: release, pin, purge and collection."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_offload.errors import HandleGoneError
from mcp_offload.store import catalog, ledger_rows, reclaim
from mcp_offload.store.config import TOMBSTONE_SECONDS, Gone, ReleaseReport, StoreConfig
from mcp_offload.store.faults import full
from mcp_offload.store.marks import Marks
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database

if TYPE_CHECKING:
    from mcp_offload.models import GcResult

_UNUSED_SECONDS: Final = 3600.0
"""Age from which a cached outline or count is dropped when nothing stored has its hash."""

_LIVE: Final = "SELECT workspace_id, number, version FROM version WHERE gone IS NULL"


class Maintenance:
    """Works on one session while the right to write is held: one transaction, then the files it doomed."""

    def __init__(self, config: StoreConfig, session: Session, marks: Marks) -> None:
        self._config = config
        self._session = session
        self._marks = marks

    def release(self, workspace: str, numbers: Iterable[int]) -> ReleaseReport:
        """Drop artifacts with all their versions, pinned ones too; gone ones are passed over.

        Raises:
            HandleNotFoundError: a number was never issued; nothing is dropped then.
        """
        report = self._session.with_ballast(lambda: self._release(workspace, tuple(numbers)))
        self._config.failpoints.hit("release.committed")
        reclaim.delete_doomed(self._session, self._config.failpoints)
        return report

    def _release(self, workspace: str, numbers: tuple[int, ...]) -> ReleaseReport:
        with self._session.transaction() as db:
            for number in numbers:
                if catalog.artifact_row(db, workspace, number) is None:
                    self._require_issued(db, workspace, number)
            keys = [key for number in numbers for key in self._live_keys(db, workspace, number)]
            report = self._drop(db, keys, "released")
            self._config.failpoints.hit("release.rows")
        return report

    def _require_issued(self, db: Database, workspace: str, number: int) -> None:
        with suppress(HandleGoneError):
            catalog.raise_unknown(db, workspace, number, self._marks.current(workspace))

    def _live_keys(self, db: Database, workspace: str, number: int) -> list[reclaim.Key]:
        sql = _LIVE + " AND workspace_id = (SELECT id FROM workspace WHERE key = ?) AND number = ?"
        return [(row[0], row[1], row[2]) for row in db.rows(sql, workspace, number)]

    def _drop(self, db: Database, keys: list[reclaim.Key], reason: Gone) -> ReleaseReport:
        freed_bytes = reclaim.drop(db, keys, reason, self._config.clock())
        numbers = tuple(dict.fromkeys(key[1] for key in keys))
        return ReleaseReport(numbers, len(keys), freed_bytes)

    def pin(self, workspace: str, numbers: Iterable[int], pinned: bool) -> None:
        """Keep artifacts from eviction and expiry, or no longer.

        Raises:
            HandleNotFoundError, HandleGoneError: a number names no live artifact; nothing is changed then.
        """
        with self._session.transaction() as db:
            for number in numbers:
                if catalog.live_artifact(db, workspace, number) is None:
                    catalog.raise_unknown(db, workspace, number, self._marks.current(workspace))
                db.run(
                    "UPDATE artifact SET pinned = ? WHERE number = ?"
                    " AND workspace_id = (SELECT id FROM workspace WHERE key = ?)",
                    int(pinned),
                    number,
                    workspace,
                )

    def purge(self, workspace: str | None) -> ReleaseReport:
        """Drop everything of a workspace, or of all, pinned or not; their numbers stay used up."""
        report = self._session.with_ballast(lambda: self._purge(workspace))
        reclaim.delete_doomed(self._session, self._config.failpoints)
        return report

    def _purge(self, workspace: str | None) -> ReleaseReport:
        with self._session.transaction() as db:
            where = " AND (?1 IS NULL OR workspace_id = (SELECT id FROM workspace WHERE key = ?1))"
            keys = [(row[0], row[1], row[2]) for row in db.rows(_LIVE + where, workspace)]
            report = self._drop(db, keys, "released")
            for table in ("version", "artifact"):
                db.run(f"DELETE FROM {table} WHERE 1 = 1" + where, workspace)
        return report

    def collect(self, now: float) -> GcResult:
        """Expire, evict over quota, delete orphans and old records, and shrink the catalog."""
        expired, evicted, freed_bytes = self._session.with_ballast(lambda: self._collect(now))
        self._config.failpoints.hit("gc.expired")
        reclaim.delete_doomed(self._session, self._config.failpoints)
        with self._session.transaction() as db:
            keep = [row[0] for row in db.rows("SELECT file FROM blob WHERE file IS NOT NULL")]
            orphans, orphan_bytes = self._session.blobs.sweep(keep)
        self._config.failpoints.hit("gc.swept")
        self._session.restore_ballast()
        from mcp_offload.models import GcResult  # loaded here: whoever only opens a store needs none

        return GcResult(expired, evicted, orphans, freed_bytes + orphan_bytes)

    def _collect(self, now: float) -> tuple[int, int, int]:
        config = self._config
        with self._session.transaction() as db:
            expired, freed_bytes = self._expire(db, now)
            over_bytes = reclaim.stored_bytes(db) - config.quota_bytes
            low_bytes = self._session.missing_bytes()
            dropped = reclaim.evict(db, max(over_bytes, low_bytes), now, config.failpoints)
            evicted, evicted_bytes = dropped or (0, 0)
            self._forget_old(db, now)
            db.run("PRAGMA incremental_vacuum")
        return expired, evicted, freed_bytes + evicted_bytes

    def _expire(self, db: Database, now: float) -> tuple[int, int]:
        rows = db.rows(
            "SELECT workspace_id, number, version FROM version v WHERE gone IS NULL AND EXISTS (SELECT 1"
            " FROM artifact a WHERE a.workspace_id = v.workspace_id AND a.number = v.number"
            " AND a.gone IS NULL AND a.pinned = 0 AND a.used_at < ?)",
            now - self._config.ttl_seconds,
        )
        keys = [(row[0], row[1], row[2]) for row in rows]
        report = self._drop(db, keys, "expired")
        return len({key[:2] for key in keys}), report.freed_bytes

    def _forget_old(self, db: Database, now: float) -> None:
        oldest = now - TOMBSTONE_SECONDS
        db.run("DELETE FROM artifact WHERE gone IS NOT NULL AND gone_at < ?", oldest)
        db.run(
            "DELETE FROM version WHERE gone IS NOT NULL AND (created_at < ? OR NOT EXISTS (SELECT 1"
            " FROM artifact a WHERE a.workspace_id = version.workspace_id AND a.number = version.number))",
            oldest,
        )
        ledger_rows.forget_old(db, now - self._config.ttl_seconds)
        unused = "created_at < ? AND {0} NOT IN (SELECT blake3 FROM blob)"
        db.run("DELETE FROM outline WHERE " + unused.format("view_blake3"), now - _UNUSED_SECONDS)
        db.run("DELETE FROM token_count WHERE " + unused.format("blake3"), now - _UNUSED_SECONDS)

    def make_room(self, size_bytes: int, *, refused: bool) -> None:
        """Evict until so many bytes can be written above the disk's floor.

        Args:
            size_bytes: about to be written.
            refused: the system has just refused a write, so that its free space is not to be believed
                (another's disk quota, say) and that much is evicted in any case.

        Raises:
            StoreFullError: that cannot be reached; nothing is dropped then.
        """
        config = self._config
        need_bytes = self._session.missing_bytes(size_bytes)
        if refused:
            need_bytes = max(need_bytes, size_bytes)
        if need_bytes <= 0:
            return

        def attempt() -> bool:
            with self._session.transaction() as db:
                return reclaim.evict(db, need_bytes, config.clock(), config.failpoints) is not None

        if not self._session.with_ballast(attempt):
            raise full()
        reclaim.delete_doomed(self._session, config.failpoints)
