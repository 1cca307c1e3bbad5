"""One scan over raw bytes that finds the lines any family wants, and one that says which families.

Both are RE2 automata: linear time on any input, no matter how many triggers there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import re2

from .family import Family

# What may stand before the text of a line where a wrapper or control sequence precedes it.
_LOOSE_START: Final = r"(?:^|[\s\]mK|>\x{FEFF}])"
_MAX_MEMORY_BYTES: Final = 128 << 20


def _loosen(trigger: str) -> str:
    """The same trigger for unpeeled bytes: no line anchors, because of prefixes and CRLF."""
    if trigger.startswith("^"):
        trigger = _LOOSE_START + trigger[1:]
    if trigger.endswith("$") and not trigger.endswith(r"\$"):
        trigger = trigger[:-1]
    return trigger


class Prefilter:
    """The triggers of all families, compiled. Immutable; shared by all logs."""

    def __init__(self, families: Sequence[Family]) -> None:
        options: Any = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY_BYTES
        options.never_capture = True
        triggers = [trigger for family in families for trigger in family.triggers]
        loose = "|".join(f"(?:{_loosen(trigger)})" for trigger in triggers)
        scan: Any = re2.compile(f"(?m){loose}".encode(), options)
        self._scan: Any = scan
        self._which: Any = re2.Set.SearchSet(options)
        self._owner: list[int] = []
        for index, family in enumerate(families):
            for trigger in family.triggers:
                self._which.Add(trigger)
                self._owner.append(index)
        self._which.Compile()

    def next_hit(self, data: bytes, start: int, end: int) -> int:
        """Offset in ``data[start:end]`` inside the next line of interest, or -1."""
        found = self._scan.search(data, start, end)
        if found is None:
            return -1
        # The loose start may have matched the LF before the line.
        at: int = found.end() - 1 if found.end() > found.start() else found.start()
        return max(at, start)

    def families_of(self, text: str) -> list[int]:
        """Indexes of the families that have a trigger on this peeled line, in order."""
        hits: list[int] = self._which.Match(text) or []
        if len(hits) < 2:
            return [self._owner[hit] for hit in hits]
        return sorted({self._owner[hit] for hit in hits})
