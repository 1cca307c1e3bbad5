"""The ledger of what was delivered to which session: one state for each, changed in transactions.

It is shared by every process on the store, so that those that serve one agent count together, and it
survives them. A session is forgotten when it was not used for as long as an artifact may be idle.

What a process delivers waits in memory for a moment, so that no reply waits for the disk. Of a hard
lease that is done within what the process has set aside in the ledger before, so that all processes
together never deliver more than the lease, and a killed one has at most delivered less than it is
charged with.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from mcp_offload.errors import StoreError
from mcp_offload.lease import LeaseState, Terms, from_record, reserve, to_record, unreserved
from mcp_offload.store.access import Access
from mcp_offload.store.keeper import Keeper
from mcp_offload.store.ledger_rows import (
    LEASE,
    ContentRow,
    LeaseRow,
    NewContent,
    Use,
    UseRow,
    add_uses,
    lease_row,
    to_lease,
    write_lease,
)
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database
from mcp_offload.store.tab import MOST_WAITING, Posting, Tab

_RESERVABLE: Final = frozenset({"result", "error", "prompt", "resource"})

_log = logging.getLogger(__name__)
_Key = tuple[str, str]
Step = Callable[[LeaseState, float], LeaseState | None]
"""Gets the state and when it was last changed, and gives the next; None: nothing is to be written."""


class _Entry(NamedTuple):
    """What a transaction adds to a session besides the deliveries that wait."""

    step: Step
    uses: Callable[[], Sequence[Use]]
    contents: Sequence[NewContent]
    terms: Terms | None


class Ledger:
    """The leases of an open store; may be used from any thread.

    Every method may raise what those of :class:`mcp_offload.store.Store` may.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._owner = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._tabs: dict[_Key, Tab] = {}
        self._guard = threading.Lock()
        self._closed = False
        self._keeper = Keeper(
            access.config.write_after_seconds, self._count_waiting, self._settle_waiting, self.give_back
        )

    def peek(self, workspace: str, session: str, *, exact: bool = True) -> tuple[LeaseState, float] | None:
        """The state as of now and when it was last changed, what this process has not yet written included.

        None where nothing was counted yet. Not ``exact``: what is not counted yet costs the most it can.
        """
        with self._tab(workspace, session) as tab:
            self._refresh(workspace, session, tab)
            if exact:
                tab.fold()
            if tab.record is None and not tab.waiting:
                return None
            return tab.at_most(), tab.used_at

    def get(self, workspace: str, session: str) -> LeaseRow | None:
        """The lease of a session as it is written, or None where nothing was counted for it yet."""
        with self._tab(workspace, session) as tab:
            self._settle(workspace, session, tab)
        row = self._access.read(lambda db: lease_row(db, workspace, session))
        return None if row is None else to_lease(row)

    def deliver(self, workspace: str, session: str, posting: Posting) -> bool:
        """Count a delivery before it is sent; False, and nothing counted, where a hard lease forbids it."""
        posting.at = self._access.config.clock()
        with self._tab(workspace, session) as tab:
            if not self._may_wait(workspace, session, tab, posting):
                return self._write_now(workspace, session, tab, posting)
            tab.waiting.append(posting)
        self._keeper.wake()
        return True

    def change(
        self,
        workspace: str,
        session: str,
        step: Step,
        *,
        uses: Sequence[Use] = (),
        contents: Sequence[NewContent] = (),
    ) -> LeaseState | None:
        """Take one step in one transaction, whatever other processes do.

        Where ``step`` gives None, nothing is written but what waited, and None is returned.
        """
        with self._tab(workspace, session) as tab:
            return self._transact(workspace, session, tab, _Entry(step, lambda: uses, contents, None))

    def settle(self, *, count_only: bool = False) -> None:
        """Write what waits, or count it alone."""
        for (workspace, session), tab in self._all():
            with tab.lock:
                if count_only:
                    tab.count()
                elif not tab.dropped:
                    self._settle(workspace, session, tab)

    def close(self) -> None:
        """Write what waits and give back what is set aside. Later deliveries are written at once."""
        self._closed = True
        self._keeper.stop()
        self.give_back()

    def leases(self, workspace: str) -> list[LeaseRow]:
        """Every session of a workspace, the one used last first."""
        self.settle()
        rows = self._access.read(lambda db: db.rows(LEASE + " ORDER BY used_at DESC, id DESC", workspace))
        return [to_lease(row) for row in rows]

    def uses(self, workspace: str) -> list[UseRow]:
        """What was delivered, by session, tool and artifact."""
        self.settle()
        sql = (
            "SELECT u.lease_id, u.tool, u.artifact, u.calls, u.tokens FROM lease_use u"
            " JOIN lease l ON l.id = u.lease_id WHERE l.workspace = ? ORDER BY 1, 2, 3"
        )
        return [UseRow(*row) for row in self._access.read(lambda db: db.rows(sql, workspace))]

    def contents(self, workspace: str) -> list[ContentRow]:
        """What came into the sessions, with the tokens counted then or since."""
        self.settle()
        sql = (
            "SELECT c.lease_id, c.artifact, c.version, c.tool, c.handle, c.name,"
            " COALESCE(c.tokens, t.tokens) FROM lease_content c JOIN lease l ON l.id = c.lease_id"
            " LEFT JOIN token_count t ON t.blake3 = c.view_blake3 WHERE l.workspace = ? ORDER BY 1, 2, 3"
        )
        return [ContentRow(*row) for row in self._access.read(lambda db: db.rows(sql, workspace))]

    # --- tabs ---

    @contextmanager
    def _tab(self, workspace: str, session: str) -> Generator[Tab]:
        """The session's tab, held."""
        while True:
            with self._guard:
                tab = self._tabs.setdefault((workspace, session), Tab())
            with tab.lock:
                if not tab.dropped:
                    yield tab
                    return

    def _all(self) -> list[tuple[_Key, Tab]]:
        with self._guard:
            return list(self._tabs.items())

    def _may_wait(self, workspace: str, session: str, tab: Tab, posting: Posting) -> bool:
        """Whether a delivery need not be written before it is sent."""
        if self._closed or len(tab.waiting) >= MOST_WAITING:
            return False
        if posting.terms.mode != "hard":
            return True
        if tab.reserved_tokens == 0 or posting.delivery.kind not in _RESERVABLE:
            return False
        self._refresh(workspace, session, tab)
        if not tab.has_room(posting):
            tab.fold()
            posting.make_exact()
        return tab.has_room(posting)

    def _refresh(self, workspace: str, session: str, tab: Tab) -> None:
        """See what other processes have written since; costs a look at the log where they have not."""
        present = self._access.current()
        seen = (present, present.wal_stamp())
        if tab.seen == seen:
            return
        row = self._access.read(lambda db: lease_row(db, workspace, session))
        record = None if row is None else str(row[2])
        if record is None or tab.seen is None or record != tab.record:
            at = self._access.config.clock() if row is None else float(row[4])
            tab.show(self._owner, LeaseState() if record is None else from_record(record), record, at)
        tab.seen = seen

    def _settle(self, workspace: str, session: str, tab: Tab) -> None:
        if tab.waiting:
            terms = None if self._closed else tab.waiting[-1].terms
            self._transact(workspace, session, tab, _Entry(_nothing, tuple, (), terms))

    def _write_now(self, workspace: str, session: str, tab: Tab, posting: Posting) -> bool:
        posting.make_exact()

        def step(state: LeaseState, used_at: float) -> LeaseState | None:
            return posting.applied(state, used_at, sent=False)

        entry = _Entry(
            step,
            lambda: posting.uses(posting.delivery),
            posting.contents,
            None if self._closed else posting.terms,
        )
        return self._transact(workspace, session, tab, entry) is not None

    def _transact(self, workspace: str, session: str, tab: Tab, entry: _Entry) -> LeaseState | None:
        """Write what waits and take one more step; what was set aside is given back or renewed."""
        tab.count()
        now = self._access.config.clock()

        def work(db: Database) -> tuple[LeaseState | None, LeaseState, str | None]:
            row = lease_row(db, workspace, session)
            before = LeaseState() if row is None else from_record(row[2])
            settled, used_at = _settled(
                unreserved(before, self._owner), now if row is None else row[4], tab.waiting
            )
            after = entry.step(settled, used_at)
            if after is None and settled == before:
                return None, before, None if row is None else row[2]
            kept = settled if after is None else after
            if entry.terms is not None:
                kept = reserve(entry.terms, kept, self._owner)
            record = to_record(kept)
            lease_id = write_lease(db, workspace, session, record, now)
            for posting in tab.waiting:
                add_uses(db, lease_id, posting.uses(posting.delivery), posting.contents)
            if after is not None:
                add_uses(db, lease_id, entry.uses(), entry.contents)
            return after, kept, record

        def action(session_: Session) -> LeaseState | None:
            after, kept, record = session_.with_ballast(lambda: _in_transaction(session_, work))
            tab.waiting.clear()
            tab.show(self._owner, kept, record, now)
            tab.seen = (session_, session_.wal_stamp())
            return after

        after = self._access.write(action)
        if tab.reserved_tokens:
            self._keeper.wake()
        return after

    # --- what the keeper does ---

    def _count_waiting(self) -> None:
        self.settle(count_only=True)

    def _settle_waiting(self) -> None:
        self._each(self._settle)

    def give_back(self) -> None:
        """Write what waits, set nothing aside any more, and forget the tabs."""
        self._each(self._end)

    def _end(self, workspace: str, session: str, tab: Tab) -> None:
        if tab.waiting or tab.reserved_tokens:
            self._transact(workspace, session, tab, _Entry(_nothing, tuple, (), None))
        tab.dropped = True
        with self._guard:
            self._tabs.pop((workspace, session), None)

    def _each(self, action: Callable[[str, str, Tab], None]) -> None:
        """Where one cannot be written it waits on, and the reason is logged."""
        for (workspace, session), tab in self._all():
            with tab.lock:
                try:
                    if not tab.dropped:
                        action(workspace, session, tab)
                except StoreError as exc:
                    _log.warning("what was delivered could not be counted: %s", exc)


def _nothing(state: LeaseState, used_at: float) -> None:
    """The step that changes nothing."""


def _settled(state: LeaseState, used_at: float, waiting: Sequence[Posting]) -> tuple[LeaseState, float]:
    """The state after what was sent already, whatever the lease says by now."""
    for posting in waiting:
        after = posting.applied(state, used_at, sent=True)
        assert after is not None
        state, used_at = after, posting.at
    return state, used_at


def _in_transaction(
    session: Session, work: Callable[[Database], tuple[LeaseState | None, LeaseState, str | None]]
) -> tuple[LeaseState | None, LeaseState, str | None]:
    with session.transaction() as db:
        return work(db)
