"""Lines of any length from a server, without holding more of one than is allowed. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from mcp_offload.wire.messages import RequestId, as_request_id

END_BYTES: Final = 4096
_ID: Final = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")'
# Servers write the id right at the front or right at the end; in between it may be anybody's.
_AT_HEAD: Final = re.compile(rb'\A\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_AT_TAIL: Final = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line that was longer than allowed: its size and its two ends."""

    size_bytes: int
    head: bytes
    tail: bytes

    def request_id(self) -> RequestId | None:
        """The id of the request that it answers, where it stands at one of its ends."""
        match = _AT_HEAD.search(self.head) or _AT_TAIL.search(self.tail)
        return None if match is None else as_request_id(json.loads(match[1].decode("utf-8", "replace")))


class LineCutter:
    """Cuts what arrives into lines; of a line over ``max_line_bytes`` only its ends are kept."""

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._head = b""
        self._tail = b""
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """The lines that ``chunk`` completes, without their line feeds."""
        *complete, tail = chunk.split(b"\n")
        lines = [self._finish(piece) for piece in complete]
        self._hold(tail)
        return lines

    def _hold(self, piece: bytes) -> None:
        self._held_bytes += len(piece)
        if self._dropping:
            self._tail = (self._tail + piece)[-END_BYTES:]
            return
        self._parts.append(piece)
        if self._held_bytes > self._max_line_bytes:
            whole = b"".join(self._parts)
            self._head, self._tail, self._dropping = whole[:END_BYTES], whole[-END_BYTES:], True
            self._parts.clear()

    def _finish(self, piece: bytes) -> bytes | Oversized:
        self._hold(piece)
        if self._dropping:
            line: bytes | Oversized = Oversized(self._held_bytes, self._head, self._tail)
        else:
            line = b"".join(self._parts)
        self._parts.clear()
        self._held_bytes = 0
        self._dropping = False
        return line
