"""Machine-packed source: an outline of it would be longer than useful."""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Symbol
from mcp_offload.outline.raw import raw

_PACKED_LANGUAGES: Final = frozenset(("javascript", "typescript", "tsx"))
_SMALL_BYTES: Final = 4096
_PACKED_LINE_BYTES: Final = 300
_LINE_BYTES: Final = 2000
_ONE_LINE_BYTES: Final = 20_000
_EXPORT: Final = re.compile(rb"(?<![\w$.])(?:module\.)?exports\.([A-Za-z_$][\w$]*)\s*=(?!=)")
_EXPORTED_NAMES: Final = 40


def is_minified(view: bytes, language: str) -> bool:
    """True where the average line is longer than anybody writes.

    Scripts are packed on purpose, onto one line or wrapped at about 500 characters throughout; other
    languages only have long lines where data is embedded, which parses well, so their bar is higher.
    """
    if len(view) < _SMALL_BYTES:
        return False
    average = len(view) / (view.count(b"\n") + 1)
    if language not in _PACKED_LANGUAGES:
        return average > _LINE_BYTES
    if average <= _PACKED_LINE_BYTES:
        return False
    lengths = [len(line) for line in view.split(b"\n")]
    packed = sum(length > _PACKED_LINE_BYTES for length in lengths)
    return max(lengths) > _ONE_LINE_BYTES or packed * 2 >= len(lengths)


def exported_names(view: bytes) -> list[Symbol]:
    """The first places where names are exported; each names its statement's first line only."""
    found: dict[str, Symbol] = {}
    for match in _EXPORT.finditer(view):
        name = match[1].decode("ascii", "replace")
        if name not in found and name != "__esModule":
            found[name] = raw((name,), "variable", match.span())
        if len(found) >= _EXPORTED_NAMES:
            break
    return list(found.values())
