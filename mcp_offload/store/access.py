"""Reaching the store's directory from any thread, also when it is wiped while the store is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from mcp_offload.errors import StoreError
from mcp_offload.store import recovery
from mcp_offload.store.config import StoreConfig
from mcp_offload.store.faults import translated
from mcp_offload.store.growing import GrowingDir
from mcp_offload.store.locks import SessionLost
from mcp_offload.store.maintenance import Maintenance
from mcp_offload.store.marks import Marks
from mcp_offload.store.session import Session
from mcp_offload.store.sql import Database
from mcp_offload.store.touches import Touches

_ATTEMPTS: Final = 4
_Result = TypeVar("_Result")


class Access:
    """The present session of a store, and the ways to act on it.

    Attributes:
        config: what the store was opened with.
        marks: the workspaces' high-water marks.
        touches: uses that are not yet in the catalog.
        growing: artifacts that are not complete yet.
    """

    def __init__(self, config: StoreConfig) -> None:
        self.config = config
        self.touches = Touches()
        self.marks = Marks(config.state_dir, config.failpoints, sync=config.durability == "host")
        self.growing = GrowingDir(config.store_dir)
        self._session_lock = threading.Lock()
        self._closed = False
        self._session = _open_session(config)

    @property
    def session(self) -> Session:
        """The session as of now; another thread may replace it."""
        return self._session

    def again(self, action: Callable[[Session], _Result]) -> _Result:
        """Act on the session; where the store was wiped under it, on a new one."""
        for _ in range(_ATTEMPTS):
            session = self._session
            try:
                return action(session)
            except SessionLost:
                self._replace(session)
        raise StoreError("The store's directory is being replaced again and again.")

    def _replace(self, lost: Session) -> None:
        with self._session_lock:
            if self._closed:
                raise StoreError("The store is closed.")
            if self._session is lost:
                self._session = _open_session(self.config)
                with suppress(StoreError):
                    lost.close()

    def current(self) -> Session:
        """The session, made sure of not to be that of a wiped store."""
        return self.again(_require_current)

    def read(self, query: Callable[[Database], _Result]) -> _Result:
        """Ask the catalog; the query fetches all its rows and takes little time."""

        def action(session: Session) -> _Result:
            with session.reading() as db:
                return query(db)

        return self.again(action)

    def write(self, action: Callable[[Session], _Result]) -> _Result:
        """Act while holding the right to write."""

        def locked(session: Session) -> _Result:
            with session.writing(), translated():
                return action(session)

        return self.again(locked)

    def transact(self, change: Callable[[Database], _Result]) -> _Result:
        """Change the catalog in one transaction; on a full disk once more with the ballast's room."""

        def action(session: Session) -> _Result:
            def attempt() -> _Result:
                with session.transaction() as db:
                    return change(db)

            return session.with_ballast(attempt)

        return self.write(action)

    def maintain(self, action: Callable[[Maintenance], _Result]) -> _Result:
        """Act with :class:`Maintenance`."""
        return self.write(lambda session: action(Maintenance(self.config, session, self.marks)))

    def make_room(self, size_bytes: int, refused: bool) -> None:
        """See to it that so many bytes can be written above the disk's floor.

        Raises:
            StoreFullError: that cannot be reached.
        """
        if refused or self._session.missing_bytes(size_bytes) > 0:
            self.maintain(lambda maintenance: maintenance.make_room(size_bytes, refused=refused))

    def close(self) -> None:
        """Write the last uses and close."""
        with suppress(StoreError, SessionLost):
            if self.touches.waiting():
                with self._session.writing() as session, session.transaction() as db:
                    self.touches.record(db)
        with self._session_lock:
            self._closed = True
            with suppress(StoreError):  # a thread is still inside; the process ends all the same
                self._session.close()


def _require_current(session: Session) -> Session:
    if not session.is_current():
        raise SessionLost
    return session


def _open_session(config: StoreConfig) -> Session:
    for _ in range(_ATTEMPTS):
        try:
            session = Session(config)
            recovery.recover(session, config, recovery.boot_id())
        except SessionLost:
            continue
        return session
    raise StoreError("The store's directory is being replaced again and again.")
