"""One scan over raw bytes that finds the lines any family may want, and which families those are.

The scan is for literals that triggers need (see :mod:`needles`), all in one RE2 automaton: linear time
on any input, no matter how many triggers there are. Triggers themselves run on the lines it finds.
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
# Longer than any literal that is not of fixed text.
_WINDOW_BYTES: Final = 112
_LONG_CHARS: Final = 8
_MAX_HITS: Final = 48
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
        varied: dict[str, set[int]] = {}
        self._fixed: dict[Needle, set[int]] = {}
        for index, family in enumerate(families):
            for trigger in family.triggers:
                self._add(index, trigger, varied)
        fixed = sorted(self._fixed)
        atoms = [*varied, *(_atom(needle) for needle in fixed)]
        self._scan: Any = re2.compile(("(?m)" + "|".join(atoms)).encode(), options)
        self._varied: Any = re2.compile(("(?m)" + "|".join(varied)).encode(), options)
        self._by_head: dict[bytes, list[tuple[bytes, bool, set[int]]]] = {}
        for needle in fixed:
            text = needle.text.encode()
            self._by_head.setdefault(text[:2], []).append((text, needle.start, self._fixed[needle]))
        self._which: Any = re2.Set.SearchSet(options)
        for atom in atoms:
            self._which.Add(atom)
        self._which.Compile()
        self._owners = [*varied.values(), *(self._fixed[key] for key in fixed)]
        self._triggers: list[Any] = [
            re2.compile("|".join(f"(?:{trigger})" for trigger in family.triggers), options)
            for family in families
        ]

    def _add(self, index: int, trigger: str, varied: dict[str, set[int]]) -> None:
        found = needles(trigger)
        if not found:
            varied.setdefault(_loosen(trigger), set()).add(index)
        for needle in found:
            if needle.fold or DIGIT in needle.text:
                varied.setdefault(_atom(needle), set()).add(index)
            else:
                self._fixed.setdefault(needle, set()).add(index)

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
        data = text.encode("utf-8", "replace")
        candidates: set[int] = set()
        at = 0
        for _ in range(_MAX_HITS):
            found = self._scan.search(data, at)
            if found is None:
                break
            start: int = found.start()
            self._at(data, start, candidates)
            if self._varied.match(data, start) is not None:
                self._look(data[max(0, start - 1) : start + _WINDOW_BYTES], candidates)
            at = start + 1
            if at >= len(data):
                break
        else:
            self._look(data, candidates)
        return [index for index in sorted(candidates) if self._triggers[index].search(data) is not None]

    def _look(self, data: bytes, candidates: set[int]) -> None:
        hits: list[int] = self._which.Match(data) or []
        for hit in hits:
            candidates.update(self._owners[hit])

    def _at(self, data: bytes, start: int, candidates: set[int]) -> None:
        """Families of the fixed literals at an offset; those that begin a line only at its start."""
        for text, begins, owners in self._by_head.get(data[start : start + 2], ()):
            if (start == 0 or not begins) and data.startswith(text, start):
                candidates |= owners
