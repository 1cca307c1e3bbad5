"""A session that goes on in other processes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from mcp_offload.errors import OffloadError
from mcp_offload.service.context import Session
from mcp_offload.settings import Settings
from mcp_offload.store.shown import ShownRecord

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class KeptSession(Session):
    """A session by name: what it was shown is read before each call and written after it.

    Where it cannot be written the call succeeds all the same, and the reason is logged.
    """

    record: ShownRecord
    learned: dict[int, int] = field(default_factory=dict[int, int])

    def begin(self) -> None:
        """Take over what other processes of the session were shown."""
        for number, version in self.record.load().items():
            if number not in self.learned:
                self.shown[number] = version

    def show(self, number: int, version: int) -> None:
        """Remember that the client has now seen ``version`` of artifact ``number``."""
        if self.shown.get(number) != version:
            self.learned[number] = version
        self.shown[number] = version

    def keep(self) -> None:
        """Write down what this process has shown since the last time."""
        learned = dict(self.learned)
        if not learned:
            return
        try:
            self.record.merge(learned)
        except (OSError, OffloadError) as exc:
            _log.warning("what this session was shown cannot be kept: %s", exc)
            return
        for number, version in learned.items():
            if self.learned.get(number) == version:
                del self.learned[number]


def kept_session(settings: Settings, name: str) -> KeptSession:
    """The session of that name in the settings' workspace; nothing is written yet."""
    return KeptSession(record=ShownRecord(settings.state_dir, settings.workspace, name))
