"""A typed door to SQLite: every query fetches all of its rows, unless it says that it does not."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, cast

import apsw

Row = tuple[Any, ...]


class Database:
    """One connection, used by one thread at a time.

    Args:
        path: of a database that exists.
        create: make it where it is missing.
    """

    def __init__(self, path: str, *, create: bool = False) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        self._db = apsw.Connection(path, flags=flags | (apsw.SQLITE_OPEN_CREATE if create else 0))

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows at once: an open cursor would hold the log's snapshot and let it grow without end."""
        # The driver's stubs name a type that Python 3.11 does not have, which makes all of it unknown.
        return cast("list[Row]", self._db.execute(sql, values).fetchall())  # pyright: ignore[reportUnknownMemberType]

    def row(self, sql: str, *values: Any) -> Row | None:
        """The first row, or None."""
        rows = self.rows(sql, *values)
        return rows[0] if rows else None

    def run(self, sql: str, *values: Any) -> None:
        """A statement whose rows, if any, are of no interest."""
        self.rows(sql, *values)

    def script(self, sql: str) -> None:
        """Several statements without values."""
        for _ in self._db.execute(sql):  # pyright: ignore[reportUnknownMemberType]
            pass

    def stream(self, sql: str) -> Generator[Row]:
        """Row by row, for the writer only, who does not change the tables meanwhile."""
        cursor = self._db.execute(sql)  # pyright: ignore[reportUnknownMemberType]
        try:
            yield from cast("Iterator[Row]", cursor)
        finally:
            cursor.close(True)

    @property
    def in_transaction(self) -> bool:
        """True between BEGIN and COMMIT or ROLLBACK."""
        return self._db.in_transaction

    def set_up(self, busy_milliseconds: int) -> None:
        """Wait so long for locks, and never checkpoint on closing."""
        self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._db.set_busy_timeout(busy_milliseconds)

    def checkpoint(self) -> None:
        """Fold the whole log into the database and empty it."""
        self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Close; an open transaction is rolled back."""
        self._db.close(True)
