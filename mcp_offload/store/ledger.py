"""The ledger of what was delivered to which session: one state for each, changed in one transaction.

It is shared by every process on the store, so that those that serve one agent count together, and it
survives them. A session is forgotten when it was not used for as long as an artifact may be idle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mcp_offload.lease import LeaseState, from_record, to_record
from mcp_offload.store.access import Access
from mcp_offload.store.sql import Database, Row

_LEASE: Final = "SELECT id, session, state, created_at, used_at FROM lease WHERE workspace = ?"


class Use(NamedTuple):
    """A reply, or its part about one artifact: by which tool, the artifact (0 = none), what it cost.

    ``calls`` is 0 for the further parts of a reply.
    """

    tool: str
    artifact: int
    tokens: int
    calls: int = 1


class NewContent(NamedTuple):
    """Content that a session asked for and that would else have been put into its context.

    Attributes:
        view_blake3: of its text.
        tokens: of its text; 0 for binary content, None where they were not counted.
        once: it stands for every later version of the artifact as well.
    """

    artifact: int
    version: int
    tool: str
    handle: str
    name: str
    view_blake3: str
    tokens: int | None
    once: bool


class LeaseRow(NamedTuple):
    """One session; times in POSIX seconds."""

    lease_id: int
    session: str
    state: LeaseState
    created_at: float
    used_at: float


class UseRow(NamedTuple):
    """What one tool delivered about one artifact, in a session."""

    lease_id: int
    tool: str
    artifact: int
    calls: int
    tokens: int


class ContentRow(NamedTuple):
    """One content of a session; ``tokens`` as counted then or since, None where they never were."""

    lease_id: int
    artifact: int
    version: int
    tool: str
    handle: str
    name: str
    tokens: int | None


class Ledger:
    """The leases of an open store; may be used from any thread.

    Every method may raise what those of :class:`mcp_offload.store.Store` may.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, workspace: str, session: str) -> LeaseRow | None:
        """The lease of a session, or None where nothing was counted for it yet."""
        row = self._access.read(lambda db: _row(db, workspace, session))
        return None if row is None else _to_lease(row)

    def change(
        self,
        workspace: str,
        session: str,
        step: Callable[[LeaseState, float], LeaseState | None],
        *,
        uses: Sequence[Use] = (),
        contents: Sequence[NewContent] = (),
    ) -> LeaseState | None:
        """Take one step in one transaction, whatever other processes do.

        ``step`` gets the state and when it was last changed, and gives the next; where it gives None,
        nothing is written and None is returned.
        """
        now = self._access.config.clock()

        def work(db: Database) -> LeaseState | None:
            row = _row(db, workspace, session)
            before = LeaseState() if row is None else from_record(row[2])
            after = step(before, now if row is None else row[4])
            if after is None:
                return None
            lease_id = _write(db, workspace, session, to_record(after), now)
            _add(db, lease_id, uses, contents)
            return after

        return self._access.transact(work)

    def leases(self, workspace: str) -> list[LeaseRow]:
        """Every session of a workspace, the one used last first."""
        rows = self._access.read(lambda db: db.rows(_LEASE + " ORDER BY used_at DESC, id DESC", workspace))
        return [_to_lease(row) for row in rows]

    def uses(self, workspace: str) -> list[UseRow]:
        """What was delivered, by session, tool and artifact."""
        sql = (
            "SELECT u.lease_id, u.tool, u.artifact, u.calls, u.tokens FROM lease_use u"
            " JOIN lease l ON l.id = u.lease_id WHERE l.workspace = ? ORDER BY 1, 2, 3"
        )
        return [UseRow(*row) for row in self._access.read(lambda db: db.rows(sql, workspace))]

    def contents(self, workspace: str) -> list[ContentRow]:
        """What came into the sessions, with the tokens counted then or since."""
        sql = (
            "SELECT c.lease_id, c.artifact, c.version, c.tool, c.handle, c.name,"
            " COALESCE(c.tokens, t.tokens) FROM lease_content c JOIN lease l ON l.id = c.lease_id"
            " LEFT JOIN token_count t ON t.blake3 = c.view_blake3 WHERE l.workspace = ? ORDER BY 1, 2, 3"
        )
        return [ContentRow(*row) for row in self._access.read(lambda db: db.rows(sql, workspace))]


def forget_old(db: Database, oldest: float) -> None:
    """Delete sessions that were not used since; within the caller's transaction."""
    old = "SELECT id FROM lease WHERE used_at < ?"
    db.run(f"DELETE FROM lease_use WHERE lease_id IN ({old})", oldest)  # noqa: S608 - a constant
    db.run(f"DELETE FROM lease_content WHERE lease_id IN ({old})", oldest)  # noqa: S608 - a constant
    db.run("DELETE FROM lease WHERE used_at < ?", oldest)


def _row(db: Database, workspace: str, session: str) -> Row | None:
    return db.row(_LEASE + " AND session = ?", workspace, session)


def _to_lease(row: Row) -> LeaseRow:
    lease_id, session, state, created_at, used_at = row
    return LeaseRow(lease_id, session, from_record(state), created_at, used_at)


def _write(db: Database, workspace: str, session: str, state: str, now: float) -> int:
    row = db.row(
        "INSERT INTO lease (workspace, session, state, created_at, used_at) VALUES (?1, ?2, ?3, ?4, ?4)"
        " ON CONFLICT (workspace, session) DO UPDATE SET state = ?3, used_at = ?4 RETURNING id",
        workspace,
        session,
        state,
        now,
    )
    assert row is not None
    return int(row[0])


def _add(db: Database, lease_id: int, uses: Sequence[Use], contents: Sequence[NewContent]) -> None:
    for use in uses:
        db.run(
            "INSERT INTO lease_use VALUES (?1, ?2, ?3, ?5, ?4) ON CONFLICT (lease_id, tool, artifact)"
            " DO UPDATE SET calls = calls + ?5, tokens = tokens + ?4",
            lease_id,
            *use,
        )
    for content in contents:
        *values, once = content
        db.run(
            "INSERT OR IGNORE INTO lease_content SELECT ?, ?, ?, ?, ?, ?, ?, ?"
            " WHERE NOT (? AND EXISTS (SELECT 1 FROM lease_content WHERE lease_id = ? AND artifact = ?))",
            lease_id,
            *values,
            int(once),
            lease_id,
            content.artifact,
        )
