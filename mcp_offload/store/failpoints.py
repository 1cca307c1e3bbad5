"""Named steps at which a test can stop or fail the process.

Written as ``name=action`` or ``name@3=action`` for the third time the step is reached. Actions:
``kill`` (SIGKILL to the process itself), ``enospc``, ``edquot``, ``eio`` (an ``OSError`` as the system
would raise it). In normal use the table is empty and a step costs one attribute test.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections.abc import Iterable
from typing import Final

from mcp_offload.errors import SettingsError

NAMES: Final[tuple[str, ...]] = (
    "stage.opened",
    "stage.writing",
    "stage.written",
    "stage.synced",
    "commit.locked",
    "commit.begun",
    "commit.numbered",
    "blob.linking",
    "blob.linked",
    "commit.rows",
    "commit.synced",
    "commit.before",
    "commit.after",
    "commit.done",
    "mark.locked",
    "mark.reserved",
    "mark.synced",
    "evict.planned",
    "evict.rows",
    "release.rows",
    "release.committed",
    "doomed.unlinking",
    "doomed.unlinked",
    "doomed.forgotten",
    "checkpoint.gated",
    "checkpoint.done",
    "ballast.freed",
    "ballast.restored",
    "gc.expired",
    "gc.swept",
    "schema.created",
    "schema.step",
    "schema.committed",
    "recover.checked",
)
"""Every step that can be named."""

_ACTIONS: Final[dict[str, int | None]] = {
    "kill": None,
    "enospc": errno.ENOSPC,
    "edquot": errno.EDQUOT,
    "eio": errno.EIO,
}
_FORM: Final = re.compile(r"([a-z.]+)(?:@([1-9][0-9]{0,8}))?=([a-z]+)")


class Failpoints:
    """The steps to stop at, counted over all threads.

    Raises:
        SettingsError: a text that is not ``name=action`` or ``name@n=action``, or an unknown name.
    """

    __slots__ = ("_armed", "_hits", "_lock")

    def __init__(self, specs: Iterable[str] = ()) -> None:
        self._armed: dict[tuple[str, int], int | None] = {}
        self._hits: dict[str, int] = {}
        self._lock = threading.Lock()
        for spec in specs:
            form = _FORM.fullmatch(spec)
            if form is None or form[1] not in NAMES or form[3] not in _ACTIONS:
                raise SettingsError(f"Unknown failpoint {spec!r}: write name=action or name@n=action.")
            self._armed[form[1], int(form[2] or 1)] = _ACTIONS[form[3]]

    def hit(self, name: str) -> None:
        """Pass a step; does nothing unless the step is armed for this time.

        Raises:
            OSError: the armed action is an error of the system.
        """
        if not self._armed:
            return
        with self._lock:
            count = self._hits[name] = self._hits.get(name, 0) + 1
        key = (name, count)
        if key not in self._armed:
            return
        error = self._armed[key]
        if error is None:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # the signal is on its way; nothing after this step may run
        else:
            raise OSError(error, os.strerror(error))
