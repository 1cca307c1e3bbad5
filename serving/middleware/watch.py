"""Reads an answer as it passes, without holding it up: tokens so far, and the usage at its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from serving.compaction.dialects import Usage, usage_of

_LARGEST_EVENT_BYTES: Final = 2**20
_LARGEST_ANSWER_BYTES: Final = 16 * 2**20


class Watch:
    """One answer's bytes, in the order in which they pass.

    Attributes:
        events: server-sent events seen; without speculation one carries one token, else at least one.
        usage: what the engine said of tokens.
        first_seconds: when the first byte passed; None before.
        last_seconds: when the last did.
        complete: whether the engine's last byte has passed.
    """

    def __init__(self, *, stream: bool) -> None:
        self.events = 0
        self.usage = Usage()
        self.first_seconds: float | None = None
        self.last_seconds: float | None = None
        self.complete = False
        self._stream = stream
        self._kept = bytearray()
        self._dropped = False

    def feed(self, chunk: bytes, now: float) -> None:
        """Take the next bytes."""
        if not chunk:
            return
        if self.first_seconds is None:
            self.first_seconds = now
        self.last_seconds = now
        if self._stream:
            self._feed_events(chunk)
        elif not self._dropped:
            self._kept += chunk
            self._dropped = len(self._kept) > _LARGEST_ANSWER_BYTES

    def finish(self) -> None:
        """The answer has ended."""
        if self._stream:
            self._read_events(bytes(self._kept))
        elif not self._dropped:
            self._take(bytes(self._kept))
        self._kept.clear()

    @property
    def output_tokens(self) -> int:
        """Tokens written so far: as the engine counts them once it said so, else one for each event."""
        told = self.usage.output_tokens
        return self.events if told is None else max(told, 0)

    def _feed_events(self, chunk: bytes) -> None:
        if self._kept:
            self._kept += chunk
            chunk = bytes(self._kept)
        end = chunk.rfind(b"\n\n")
        if end < 0:
            end = chunk.rfind(b"\r\n\r\n")
        rest = chunk[end + 2 :] if end >= 0 else chunk
        self._kept = bytearray(rest if len(rest) <= _LARGEST_EVENT_BYTES else b"")
        if end >= 0:
            self._read_events(chunk[:end])

    def _read_events(self, events: bytes) -> None:
        self.events += events.count(b"\ndata:") + events.startswith(b"data:")
        if b'"usage"' in events:
            for data in _data_lines(events):
                if b'"usage"' in data:
                    self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            event: Any = json.loads(data)
        except ValueError:
            return
        usage = usage_of(cast("dict[str, Any]", event)) if isinstance(event, dict) else None
        if usage is not None:
            self.usage = self.usage.updated(usage)


def _data_lines(events: bytes) -> Iterator[bytes]:
    for line in events.split(b"\n"):
        if line.startswith(b"data:"):
            yield line[5:].strip()
