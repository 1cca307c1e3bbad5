"""Shell functions by the layout of their lines, for scripts the grammar cannot read in full."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_offload.models import Symbol
from mcp_offload.outline.raw import raw

_OPENING = re.compile(
    rb"^([ \t]*)(?:function[ \t]+([\w:.@+-]+)[ \t]*(?:\([ \t]*\))?|([\w:.@+-]+)[ \t]*\([ \t]*\))"
    rb"\s*([{(])([^\n]*)$",
    re.MULTILINE,
)
_CLOSERS = {b"{": b"}", b"(": b")"}


def corrected(found: Iterable[Symbol], view: bytes) -> list[Symbol]:
    """What the grammar found, and the functions it lost: each ends at the brace in line with its start."""
    known = list(found)
    starts = {symbol.span.start_byte for symbol in known if symbol.kind == "function"}
    for match in _OPENING.finditer(view):
        start = match.end(1)
        end = _end(view, match)
        if start in starts or end is None:
            continue
        name = (match[2] or match[3]).decode("utf-8", "replace")
        body = (match.start(4), end)
        known.append(raw((name,), "function", (start, end), sig=(start, match.start(4)), body=body))
    return known


def _end(view: bytes, match: re.Match[bytes]) -> int | None:
    closer = _CLOSERS[match[4]]
    rest = match[5].rstrip()
    if rest.endswith(closer) and rest.count(match[4]) < rest.count(closer):
        return match.start(5) + len(rest)
    at = view.find(b"\n" + match[1] + closer, match.end())
    return None if at < 0 else at + 1 + len(match[1]) + 1
