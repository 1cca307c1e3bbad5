"""Acknowledging staged content: one transaction that dedupes, numbers, evicts and names the blob files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import apsw

from mcp_offload.errors import HandleGoneError, HandleNotFoundError, StoreError
from mcp_offload.models import Artifact, Version
from mcp_offload.store import catalog, reclaim
from mcp_offload.store.config import NewVersion, StoreConfig
from mcp_offload.store.marks import Marks
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database
from mcp_offload.store.staged import Staged
from mcp_offload.store.touches import Touches

Committed = list[tuple[Artifact, Version, bool]]


@dataclass(slots=True)
class _Attempt:
    """What one transaction has done so far."""

    db: Database
    workspace: str
    workspace_id: int
    now: float
    linked: bool = False


class Commit:
    """Commits to one session; used while the right to write is held."""

    def __init__(self, config: StoreConfig, session: Session, marks: Marks, touches: Touches) -> None:
        self._config = config
        self._touches = touches
        self._session = session
        self._marks = marks

    def run(self, workspace: str, puts: Sequence[NewVersion]) -> Committed:
        """Commit all or nothing; on a full disk once more with the ballast's room.

        Raises:
            HandleNotFoundError, HandleGoneError: ``number`` names no live artifact.
            QuotaExceededError, StoreFullError: there is no room, even after evicting.
            StoreError: the disk or the catalog failed.
        """
        self._config.failpoints.hit("commit.locked")
        try:
            self._session.with_ballast(lambda: self._reserve(workspace, len(puts)))
            results = self._session.with_ballast(lambda: self._attempt(workspace, puts))
        except BaseException:
            self._take_back(puts)
            with suppress(OSError):
                self._session.restore_ballast()
            raise
        for put in puts:
            for staged in _staged(put):
                staged.close()
        self._config.failpoints.hit("commit.after")
        with suppress(StoreError):  # committed: what is left to delete is deleted by the next writer
            reclaim.delete_doomed(self._session, self._config.failpoints)
            self._session.restore_ballast()
        self._config.failpoints.hit("commit.done")
        return results

    def issue(self, workspace: str) -> int:
        """Issue a number for an artifact that is not there yet."""
        self._session.with_ballast(lambda: self._reserve(workspace, 1))
        with self._session.transaction() as db:
            now = self._config.clock()
            return self._next_number(_Attempt(db, workspace, self._workspace_id(db, workspace), now))

    def _take_back(self, puts: Sequence[NewVersion]) -> None:
        """Delete the files that were named for rows that did not come to be."""
        for put in puts:
            for staged in _staged(put):
                with suppress(StoreError, OSError, apsw.Error):
                    named = "SELECT 1 FROM blob WHERE file = ?"
                    if staged.file is not None and self._session.ask(named, staged.file) is None:
                        staged.unlink(self._session.blobs)

    def _attempt(self, workspace: str, puts: Sequence[NewVersion]) -> Committed:
        config = self._config
        with self._session.transaction() as db:
            config.failpoints.hit("commit.begun")
            now = config.clock()
            self._touches.record(db)
            attempt = _Attempt(db, workspace, self._workspace_id(db, workspace), now)
            results = [self._put(attempt, put) for put in puts]
            config.failpoints.hit("commit.rows")
            if attempt.linked:
                self._session.blobs.sync()
                config.failpoints.hit("commit.synced")
            reclaim.fit(
                db,
                quota_bytes=config.quota_bytes,
                disk_bytes=self._session.missing_bytes(),
                now=now,
                failpoints=config.failpoints,
                protected={
                    (attempt.workspace_id, version.number, version.version) for _, version, _ in results
                },
            )
            config.failpoints.hit("commit.before")
        return results

    def _workspace_id(self, db: Database, workspace: str) -> int:
        row = db.row("SELECT id FROM workspace WHERE key = ?", workspace)
        if row is None:
            row = db.row("INSERT INTO workspace (key) VALUES (?) RETURNING id", workspace)
            assert row is not None
        return int(row[0])

    def _put(self, attempt: _Attempt, put: NewVersion) -> tuple[Artifact, Version, bool]:
        artifact = self._target(attempt, put)
        if artifact is None:
            number = self._next_number(attempt) if put.number is None else put.number
            self._insert_artifact(attempt, put, number)
            return self._insert_version(attempt, put, number, 1)
        latest = self._latest(attempt, artifact)
        if latest is not None and latest.blake3 == put.staged.blake3:
            return self._refresh(attempt, put, artifact)
        return self._insert_version(attempt, put, artifact.number, artifact.latest + 1)

    def _target(self, attempt: _Attempt, put: NewVersion) -> Artifact | None:
        """The artifact this content belongs to, or None for a new one."""
        db, workspace = attempt.db, attempt.workspace
        if put.number is not None:
            artifact = catalog.live_artifact(db, workspace, put.number)
            if artifact is None and not put.issued:
                mark = self._marks.current(workspace)
                catalog.raise_unknown(db, workspace, put.number, mark)
            return artifact
        if put.source_path is not None:
            return catalog.artifact_by_path(db, workspace, put.source_path)
        for artifact, version in catalog.find_by_hash(db, workspace, put.staged.blake3):
            same_place = artifact.source_path is None and artifact.name == put.name
            if same_place and artifact.kind is put.kind and version.version == artifact.latest:
                return artifact
        return None

    def _latest(self, attempt: _Attempt, artifact: Artifact) -> Version | None:
        try:
            return catalog.version(attempt.db, artifact, artifact.latest)
        except HandleGoneError:  # lost with a host crash while older versions were not
            return None

    def _reserve(self, workspace: str, count: int) -> None:
        """Have as many numbers reserved as may be needed, in a transaction that a failed commit leaves."""
        row = self._session.ask("SELECT reserved - last_number FROM workspace WHERE key = ?", workspace)
        if row is not None and row[0] >= count:
            return
        with self._session.transaction() as db:
            workspace_id = self._workspace_id(db, workspace)
            row = db.row("SELECT last_number, reserved FROM workspace WHERE id = ?", workspace_id)
            assert row is not None
            last, reserved = self._marks.reserve(workspace, count, int(row[0]))
            if last == row[1]:  # nobody reserved in between: what is left of the former range comes first
                last = int(row[0])
            db.run(
                "UPDATE workspace SET last_number = ?, reserved = ? WHERE id = ?",
                last,
                reserved,
                workspace_id,
            )

    def _next_number(self, attempt: _Attempt) -> int:
        """Issue one of the reserved numbers."""
        db, workspace_id = attempt.db, attempt.workspace_id
        row = db.row(
            "UPDATE workspace SET last_number = last_number + 1 WHERE id = ? AND last_number < reserved"
            " RETURNING last_number",
            workspace_id,
        )
        assert row is not None
        self._config.failpoints.hit("commit.numbered")
        return int(row[0])

    def _insert_artifact(self, attempt: _Attempt, put: NewVersion, number: int) -> None:
        attempt.db.run(
            "INSERT INTO artifact"
            " (workspace_id, number, kind, name, source_path, latest, created_at, used_at)"
            " VALUES (?, ?, ?, ?, ?, 1, ?, ?)",
            attempt.workspace_id,
            number,
            put.kind.value,
            put.name,
            put.source_path,
            attempt.now,
            attempt.now,
        )

    def _insert_version(
        self, attempt: _Attempt, put: NewVersion, number: int, version: int
    ) -> tuple[Artifact, Version, bool]:
        db, key = attempt.db, (attempt.workspace_id, number)
        blob_id = self._blob_id(attempt, put.staged)
        view_id = None if put.view is None else self._blob_id(attempt, put.view)
        if version > 1:
            self._supersede(attempt, number, version)
        db.run(
            "INSERT INTO version (workspace_id, number, version, blob_id, view_blob_id, blake3, view_blake3,"
            " encoding, size_bytes, lines, language, created_at, stamp)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *key,
            version,
            blob_id,
            view_id,
            put.staged.blake3,
            None if put.view is None else put.view.blake3,
            put.encoding,
            put.staged.size_bytes,
            put.lines,
            put.language,
            attempt.now if put.created_at is None else put.created_at,
            catalog.stamp_text(put.stamp),
        )
        return *self._result(attempt, number), True

    def _supersede(self, attempt: _Attempt, number: int, version: int) -> None:
        """Have ``version`` be the latest one of its artifact."""
        db, key = attempt.db, (attempt.workspace_id, number)
        db.run(
            "UPDATE version SET superseded = 1 WHERE workspace_id = ? AND number = ? AND superseded = 0", *key
        )
        db.run(
            "UPDATE artifact SET latest = ?, used_at = ? WHERE workspace_id = ? AND number = ?",
            version,
            attempt.now,
            *key,
        )

    def _refresh(
        self, attempt: _Attempt, put: NewVersion, artifact: Artifact
    ) -> tuple[Artifact, Version, bool]:
        """The bytes are the latest version's already: only note that they were seen again."""
        self._blob_id(attempt, put.staged)
        key = (attempt.workspace_id, artifact.number)
        if put.stamp is not None:
            attempt.db.run(
                "UPDATE version SET stamp = ? WHERE workspace_id = ? AND number = ? AND version = ?",
                catalog.stamp_text(put.stamp),
                *key,
                artifact.latest,
            )
        attempt.db.run(
            "UPDATE artifact SET used_at = ? WHERE workspace_id = ? AND number = ?", attempt.now, *key
        )
        return *self._result(attempt, artifact.number), False

    def _result(self, attempt: _Attempt, number: int) -> tuple[Artifact, Version]:
        artifact = catalog.live_artifact(attempt.db, attempt.workspace, number)
        if artifact is None:
            raise HandleNotFoundError(f"No artifact {number} in this workspace.")
        return artifact, catalog.version(attempt.db, artifact, artifact.latest)

    def _blob_id(self, attempt: _Attempt, staged: Staged) -> int:
        """The row of these bytes, made or mended: what is acknowledged is whole and as durable as set."""
        db = attempt.db
        row = db.row("SELECT id, file, durable, suspect FROM blob WHERE blake3 = ?", staged.blake3)
        if row is None:
            return self._insert_blob(attempt, staged)
        blob_id, file, durable, suspect = row
        if file is None:
            return int(blob_id)
        blobs = self._session.blobs
        if suspect or blobs.size_bytes(file) != staged.size_bytes:
            new = staged.link(self._session.blobs)
            attempt.linked = True
            db.run(
                "UPDATE blob SET file = ?, durable = ?, suspect = 0 WHERE id = ?",
                new,
                staged.durable,
                blob_id,
            )
            db.run("INSERT OR IGNORE INTO doomed VALUES (?)", file)
        elif staged.durable and not durable:
            blobs.sync_file(file)
            attempt.linked = True
            db.run("UPDATE blob SET durable = 1 WHERE id = ?", blob_id)
        return int(blob_id)

    def _insert_blob(self, attempt: _Attempt, staged: Staged) -> int:
        inline = staged.data is not None
        row = attempt.db.rows(
            "INSERT INTO blob (blake3, size_bytes, newlines, ends_with_newline, file, durable, counts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
            staged.blake3,
            staged.size_bytes,
            staged.newlines,
            int(staged.ends_with_newline),
            None if inline else staged.link(self._session.blobs),
            int(staged.durable),
            staged.counts,
        )[0]
        if inline:
            attempt.db.run("INSERT INTO inline VALUES (?, ?)", row[0], staged.data)
        else:
            attempt.linked = True
        return int(row[0])


def _staged(put: NewVersion) -> list[Staged]:
    return [put.staged] if put.view is None else [put.staged, put.view]
