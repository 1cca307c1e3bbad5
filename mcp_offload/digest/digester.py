"""Feeds a log through the families, line by line where one wants it and in one scan where none does."""

from __future__ import annotations

from functools import cache
from typing import Final

from . import merge
from .family import DocumentParser, Findings, Group, Recogniser
from .generic import FAMILY as GENERIC
from .generic import Generic
from .lines import Peeler, strip_control
from .model import Digest
from .prefilter import Prefilter
from .table import DOCUMENTS, FAMILIES

_WINDOW_BYTES: Final = 1 << 20
_LINE_LIMIT_BYTES: Final = 1 << 20
_SNIFF_BYTES: Final = 4096
ROWS: Final = (*FAMILIES, GENERIC)


@cache
def _prefilter() -> Prefilter:
    """The compiled triggers; built on first use because compiling costs some 10 ms."""
    return Prefilter(ROWS)


class Digester:
    """Digests one log: feed its bytes in any pieces, then finish.

    Memory is bounded whatever the log: one window, one line of at most 1 MiB (the middle of longer
    ones is not looked at) and the findings. Nothing raises on any input.
    """

    def __init__(self, exit_status: int | None = None) -> None:
        self._exit_status = exit_status
        self._filter = _prefilter()
        self._generic = Generic()
        self._families: list[Recogniser] = [*(family.make() for family in FAMILIES), self._generic]
        self._full = [family.full_lines for family in ROWS]
        self._wanting: dict[int, int] = {}
        self._peeler = Peeler()
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._number = 1
        self._started = False
        self._sniffed = False
        self._documents: list[tuple[Group, DocumentParser]] = []

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the log."""
        if not self._started:
            self._pending.append(chunk)
            self._pending_bytes += len(chunk)
            if self._pending_bytes < _SNIFF_BYTES:
                return
            chunk = self._begin()
        self._scan(chunk)

    def finish(self) -> Digest:
        """The digest of everything fed. Call once."""
        if not self._started:
            self._scan(self._begin())
        rest = b"".join(self._pending)
        if rest.strip():
            self._block(rest)
        elif rest:  # the cut start of a line, not the empty line with which some reports end
            self._number += 1
        last = self._number - 1
        documents = [(group, parser.finish(last)) for group, parser in self._documents]
        conclusive = [pair for pair in documents if pair[1].conclusive]
        texts = [] if conclusive else self._finish_families(last)
        return merge.merge(conclusive or texts, self._generic, last, self._exit_status)

    def _finish_families(self, last: int) -> list[tuple[Group, Findings]]:
        return [(row.group, family.finish(last)) for row, family in zip(ROWS, self._families, strict=True)]

    def _begin(self) -> bytes:
        """Leave the stage where the head is gathered; what came so far is scanned at once."""
        data = b"".join(self._pending)
        self._pending, self._pending_bytes, self._started = [], 0, True
        return data

    def _scan(self, chunk: bytes) -> None:
        if not self._sniffed:
            self._sniffed = True
            head = chunk[:_SNIFF_BYTES]
            self._peeler.learn(head)
            self._documents = [(row.group, row.make()) for row in DOCUMENTS if row.sniff(head)]
        for start in range(0, len(chunk), _WINDOW_BYTES):
            window = chunk[start : start + _WINDOW_BYTES] if len(chunk) > _WINDOW_BYTES else chunk
            for _, parser in self._documents:
                parser.feed(window)
            self._feed_window(window)

    def _keep(self, piece: bytes) -> None:
        """Hold part of an unfinished line; drop the middle where it grows beyond the limit."""
        self._pending.append(piece)
        self._pending_bytes += len(piece)
        if self._pending_bytes > 2 * _LINE_LIMIT_BYTES:
            whole = b"".join(self._pending)
            half = _LINE_LIMIT_BYTES // 2
            self._pending = [whole[:half], whole[len(whole) - half :]]
            self._pending_bytes = 2 * half

    def _feed_window(self, window: bytes) -> None:
        end = window.rfind(b"\n") + 1
        if not end:
            if window:
                self._keep(window)
            return
        if self._pending:
            first = window.find(b"\n") + 1
            self._block(b"".join([*self._pending, window[:first]]))
            self._pending, self._pending_bytes = [], 0
            window = window[first:]
            end -= first
        if end:
            self._block(window if end == len(window) else window[:end])
        if end < len(window):
            self._keep(window[end:])

    def _block(self, data: bytes) -> None:
        """Go through whole lines (the log's last one may lack its LF)."""
        data = strip_control(data)
        at, end = 0, len(data)
        self._generic.see(data)
        while at < end:
            if not self._wanting:
                hit = self._filter.next_hit(data, at, end)
                start = data.rfind(b"\n", at, hit) + 1 or at if hit >= 0 else end
                self._number += data.count(b"\n", at, start)
                if hit < 0:
                    self._number += 0 if data.endswith(b"\n") else 1
                    return
                at = start
            stop = data.find(b"\n", at)
            stop = end if stop < 0 else stop
            self._line(data[at:stop])
            self._number += 1
            at = stop + 1

    def _line(self, raw: bytes) -> None:
        """Hand one line to the families that want it."""
        number = self._number
        text = self._peeler.peel(raw)
        hits = self._filter.families_of(text)
        wanting = self._wanting
        if wanting:
            hits = sorted({*hits, *wanting}) if hits else list(wanting)
        for index in hits:
            given = self._peeler.peel(raw, full=True) if self._full[index] and len(raw) > len(text) else text
            want = self._families[index].feed(number, given)
            if want:
                wanting[index] = want
            else:
                wanting.pop(index, None)
