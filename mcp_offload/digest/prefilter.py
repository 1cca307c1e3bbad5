"""One scan over raw bytes that finds the lines any family may want, and which families those are.

The scan is for literals that triggers need (see :mod:`needles`), all in one RE2 automaton: linear time
on any input, no matter how many triggers there are. On the lines it finds the triggers themselves run,
all at once as a second automaton.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import re2 as _untyped

from .family import Family
from .needles import DIGIT, Needle, needles

re2: Any = _untyped

# What may stand before the text of a line where a wrapper precedes it.
_LOOSE_START: Final = r"(?:^|[\s\]mKZ|>\x{FEFF}])"
_LONG_CHARS: Final = 8
_MAX_MEMORY_BYTES: Final = 256 << 20


def _loosen(trigger: str) -> str:
    """The same trigger for unpeeled bytes: no line anchors, because of prefixes and CRLF."""
    if trigger.startswith("^"):
        trigger = _LOOSE_START + trigger[1:]
    if trigger.endswith("$") and not trigger.endswith(r"\$"):
        trigger = trigger[:-1]
    return trigger


def _escaped(text: str) -> str:
    text = re.escape(text.replace(DIGIT, "0\uffff0")).replace("0\uffff0", "[0-9]")
    return re.sub(r"\\([\s<>&~#'\"=:,/@%!;`-])", r"\1", text)


def _atom(needle: Needle) -> str:
    """What to scan for: long texts anywhere, because a start to look for costs states of the automaton."""
    text = _escaped(needle.text)
    start = _LOOSE_START if needle.start and len(needle.text) < _LONG_CHARS else ""
    end = r"(?:\s|$)" if needle.end and len(needle.text) < _LONG_CHARS else ""
    return f"{start}{f'(?i:{text})' if needle.fold else text}{end}"


class Prefilter:
    """The triggers of all families, compiled. Immutable; shared by all logs."""

    def __init__(self, families: Sequence[Family]) -> None:
        options: Any = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY_BYTES
        options.never_capture = True
        atoms: dict[str, None] = {}
        self._which: Any = re2.Set.SearchSet(options)
        self._owners: list[int] = []
        for index, family in enumerate(families):
            for trigger in family.triggers:
                found = needles(trigger)
                atoms.update(dict.fromkeys([_atom(needle) for needle in found] or [_loosen(trigger)]))
                self._which.Add(trigger)
                self._owners.append(index)
        self._which.Compile()
        self._scan: Any = re2.compile(("(?m)" + "|".join(atoms)).encode(), options)

    def next_hit(self, data: bytes, start: int, end: int) -> int:
        """Offset in ``data[start:end]`` inside the next line of interest, or -1."""
        found = self._scan.search(data, start, end)
        if found is None:
            return -1
        # The loose start may have matched the LF before the line.
        first, last = found.span()
        return max(last - 1 if last > first else first, start)

    def families_of(self, text: str) -> list[int]:
        """Indexes of the families that have a trigger on this peeled line, in order."""
        hits: list[int] = self._which.Match(text.encode("utf-8", "replace")) or []
        return sorted({self._owners[hit] for hit in hits})
