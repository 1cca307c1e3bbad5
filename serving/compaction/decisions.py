"""The choices that were made, kept so that a text is shown alike from turn to turn and after a restart."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serving.compaction.choice import Form
from serving.errors import CompactionError

KEPT_SECONDS: Final = 14 * 24 * 3600.0
"""Twice as long as the store keeps what nobody uses, unless told otherwise."""

_TOUCH_SECONDS: Final = 3600.0
_AT_ONCE: Final = 500
_SCHEMA: Final = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS decisions (
    workspace TEXT NOT NULL, key BLOB NOT NULL, form INTEGER NOT NULL, handle TEXT NOT NULL,
    notice TEXT NOT NULL, line TEXT NOT NULL, saved INTEGER NOT NULL, used_at REAL NOT NULL,
    PRIMARY KEY (workspace, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS served (
    workspace TEXT NOT NULL, call_id TEXT NOT NULL, calls TEXT NOT NULL, used_at REAL NOT NULL,
    PRIMARY KEY (workspace, call_id)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What stands for a text.

    Attributes:
        form: how it is shown.
        handle: of the stored text.
        notice: what stands for it as a notice.
        line: the same as a line.
        saved: o200k tokens that the text costs more than what stands for it now.
    """

    form: Form
    handle: str
    notice: str
    line: str
    saved: int

    @property
    def shown(self) -> str:
        """What stands for the text now."""
        return self.line if self.form is Form.LINE else self.notice


class Decisions:
    """Decisions by workspace and text, in a file that several gates may share. Thread-safe.

    Args:
        path: made where it is missing; None for memory.
        clock: seconds since 1970.

    Raises:
        CompactionError: from any method: the file cannot be read or written.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=10.0)
            self._db.executescript(_SCHEMA)
            if path is not None:
                path.chmod(0o600)
            before = clock() - KEPT_SECONDS
            with self._db:
                for table in ("decisions", "served"):
                    self._db.execute(f"DELETE FROM {table} WHERE used_at < ?", (before,))  # noqa: S608
        except (OSError, sqlite3.Error) as error:
            raise CompactionError(f"the choices of compaction cannot be kept in {path}: {error}") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def find(self, workspace: str, keys: Iterable[bytes]) -> dict[bytes, Decision]:
        """The decisions about these texts, as far as there are any."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, Decision] = {}
        now = self._clock()
        with self._lock, self._failing():
            for first in range(0, len(wanted), _AT_ONCE):
                part = wanted[first : first + _AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(
                    "SELECT key, form, handle, notice, line, saved, used_at FROM decisions "  # noqa: S608
                    f"WHERE workspace = ? AND key IN ({marks})",
                    (workspace, *part),
                ).fetchall()
                old = [(now, workspace, row[0]) for row in rows if now - row[6] > _TOUCH_SECONDS]
                if old:
                    self._db.executemany(
                        "UPDATE decisions SET used_at = ? WHERE workspace = ? AND key = ?", old
                    )
                    self._db.commit()
                for key, form, *rest in rows:
                    found[bytes(key)] = Decision(Form(form), *rest[:4])
        return found

    def keep(self, workspace: str, decided: dict[bytes, Decision]) -> None:
        """Keep decisions; of two about one text and handle that which takes less room stays."""
        now = self._clock()
        rows = [
            (workspace, key, int(one.form), one.handle, one.notice, one.line, one.saved, now)
            for key, one in decided.items()
        ]
        with self._lock, self._failing():
            self._db.executemany(
                "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "form = excluded.form, handle = excluded.handle, notice = excluded.notice, "
                "line = excluded.line, saved = excluded.saved, used_at = excluded.used_at "
                "WHERE excluded.form > form OR excluded.handle <> handle",
                rows,
            )
            self._db.commit()

    def keep_served(self, workspace: str, call_id: str, calls: str) -> None:
        """Keep the calls that the gate answered beside a call of the client's, as JSON."""
        with self._lock, self._failing():
            self._db.execute(
                "INSERT OR REPLACE INTO served VALUES (?, ?, ?, ?)",
                (workspace, call_id, calls, self._clock()),
            )
            self._db.commit()

    def find_served(self, workspace: str, call_ids: Iterable[str]) -> dict[str, str]:
        """The calls that were answered beside these, as JSON by the client's call."""
        found: dict[str, str] = {}
        with self._lock, self._failing():
            for call_id in call_ids:
                with closing(
                    self._db.execute(
                        "SELECT calls FROM served WHERE workspace = ? AND call_id = ?", (workspace, call_id)
                    )
                ) as rows:
                    row = rows.fetchone()
                if row is not None:
                    found[call_id] = row[0]
        return found

    def _failing(self) -> _Failing:
        return _Failing()


class _Failing:
    """Says what a failure of the file means."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise CompactionError(f"the choices of compaction cannot be read or kept: {error}") from error
