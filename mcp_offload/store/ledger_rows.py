"""The rows of the ledger of leases, and the statements on them; within the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mcp_offload.lease import LeaseState, from_record
from mcp_offload.store.sql import Database, Row

LEASE: Final = "SELECT id, session, state, created_at, used_at FROM lease WHERE workspace = ?"


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


def forget_old(db: Database, oldest: float) -> None:
    """Delete sessions that were not used since; within the caller's transaction."""
    old = "SELECT id FROM lease WHERE used_at < ?"
    db.run(f"DELETE FROM lease_use WHERE lease_id IN ({old})", oldest)  # noqa: S608 - a constant
    db.run(f"DELETE FROM lease_content WHERE lease_id IN ({old})", oldest)  # noqa: S608 - a constant
    db.run("DELETE FROM lease WHERE used_at < ?", oldest)


def lease_row(db: Database, workspace: str, session: str) -> Row | None:
    """The row of a session, or None."""
    return db.row(LEASE + " AND session = ?", workspace, session)


def to_lease(row: Row) -> LeaseRow:
    """The lease that a row holds."""
    lease_id, session, state, created_at, used_at = row
    return LeaseRow(lease_id, session, from_record(state), created_at, used_at)


def write_lease(db: Database, workspace: str, session: str, state: str, now: float) -> int:
    """Write a session's state; returns the number of its row."""
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


def add_uses(db: Database, lease_id: int, uses: Sequence[Use], contents: Sequence[NewContent]) -> None:
    """Add what was delivered and what came in to a session's."""
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
