"""Uses of artifacts, gathered in memory and written together, because a read should not cost a write."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from mcp_offload.store.config import TOUCH_SECONDS
from mcp_offload.store.sql import Database


class Touches:
    """The newest use of each artifact that is not yet in the catalog."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used_at: dict[tuple[str, int], float] = {}
        self._since: float | None = None

    def add(self, workspace: str, numbers: Iterable[int], now: float) -> bool:
        """Note a use; True where the oldest note has waited so long that it should be written now."""
        with self._lock:
            for number in numbers:
                self._used_at[workspace, number] = now
            if self._since is None:
                self._since = now
            return not 0 <= now - self._since < TOUCH_SECONDS

    def waiting(self) -> bool:
        """True where something is not yet written."""
        return bool(self._used_at)

    def record(self, db: Database) -> None:
        """Write what is waiting, within the caller's transaction."""
        with self._lock:
            used_at, self._used_at, self._since = self._used_at, {}, None
        for (workspace, number), at in used_at.items():
            db.run(
                "UPDATE artifact SET used_at = max(used_at, ?) WHERE number = ? AND gone IS NULL"
                " AND workspace_id = (SELECT id FROM workspace WHERE key = ?)",
                at,
                number,
                workspace,
            )
