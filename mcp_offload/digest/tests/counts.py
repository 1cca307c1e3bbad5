"""Small readers of counts and merged verdicts that several runners share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ..model import Verdict

_PAIR: Final = re.compile(r"(\d+) ([a-z][a-z ]*[a-z])")


def pairs(text: str, names: Mapping[str, str]) -> dict[str, int]:
    """``"6 failed, 1 passed"`` as totals; words that ``names`` does not know are left out."""
    found: dict[str, int] = {}
    for count, word in _PAIR.findall(text):
        key = names.get(word)
        if key:
            found[key] = found.get(key, 0) + int(count)
    return found


def add(into: dict[str, int], more: Mapping[str, int]) -> None:
    """Sum totals."""
    for key, value in more.items():
        into[key] = into.get(key, 0) + value


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of several runs together; where the last one was cut, they are not over."""
    said = list(verdicts)
    if said and said[-1] is Verdict.INCOMPLETE:
        return Verdict.INCOMPLETE
    for verdict in (Verdict.FAILED, Verdict.ERROR, Verdict.INCOMPLETE, Verdict.UNKNOWN, Verdict.PASSED):
        if verdict in said:
            return verdict
    return Verdict.UNKNOWN


def seconds(text: str) -> float | None:
    """``"1.2 s"``, ``"35ms"``, ``"2m 3s"``, ``"1h 2m 3.5s"`` in seconds."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
    found = re.findall(r"(\d+(?:\.\d+)?) ?(ms|min|s|m|h)(?![a-z])", text)
    return round(sum(float(value) * units[unit] for value, unit in found), 3) if found else None
