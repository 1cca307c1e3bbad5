"""Bytes on their way into the store: hashed, counted and written as they pass, dropped unless committed."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from mcp_offload.errors import ArtifactTooLargeError, QuotaExceededError
from mcp_offload.models import Monitor
from mcp_offload.settings import MIB
from mcp_offload.store.blobs import BlobDir
from mcp_offload.store.config import INLINE_MAX_BYTES, StoreConfig
from mcp_offload.store.faults import is_full, meaning, translated
from mcp_offload.store.staged import Staged, Tally

_PIECE_BYTES: Final = MIB
_PIECES_AHEAD: Final = 4
# Below, waking another thread and waiting for the interpreter take longer than the hash does.
_HELPER_FROM_BYTES: Final = 8 * MIB
_ASK_AGAIN_BYTES: Final = 256 * MIB
_ROOM_EVERY_BYTES: Final = 16 * MIB
_ADVANCE_SECONDS: Final = 0.05

MakeRoom = Callable[[int, bool], None]
"""Sees to it that so many bytes can be written (True: a write was refused), or raises ``StoreFullError``."""


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in objects that are small enough to report progress between."""
    for chunk in chunks:
        if len(chunk) <= _PIECE_BYTES:
            yield bytes(chunk)  # no copy, unless the caller passed something that can change
        else:
            for start in range(0, len(chunk), _PIECE_BYTES):
                yield bytes(chunk[start : start + _PIECE_BYTES])


class Buffers:
    """Memory that content passes through, kept for the next: fresh memory costs more than the hash.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._free: deque[bytearray] = deque(maxlen=1)

    def take(self) -> bytearray:
        """One buffer of a piece's size."""
        try:
            return self._free.pop()
        except IndexError:
            return bytearray(_PIECE_BYTES)

    def give_back(self, buffer: bytearray) -> None:
        """Nobody uses it any more."""
        self._free.append(buffer)


class _Helper:
    """Hashes and counts in a thread of its own, so that this overlaps with reading and writing."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._pieces: queue.SimpleQueue[bytes | memoryview | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(_PIECES_AHEAD)
        self.free: queue.SimpleQueue[memoryview] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="store-hash", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (piece := self._pieces.get()) is not None:
            if self._error is None:
                try:
                    self._tally.update(piece)
                except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                    self._error = error
            self._room.release()
            if isinstance(piece, memoryview):
                self.free.put(piece)

    def update(self, piece: bytes | memoryview) -> None:
        self._room.acquire()
        self._pieces.put(piece)

    def finish(self) -> None:
        """Wait for the rest.

        Raises:
            BaseException: whatever went wrong in the thread.
        """
        self._pieces.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error


def _core_is_free() -> bool:
    """False on a busy machine, where handing data to another thread costs more than it saves."""
    try:
        return os.getloadavg()[0] < (os.cpu_count() or 1)
    except OSError:
        return True


class Stager:
    """One pass of content into the store.

    Raises (from :meth:`chunks` and :meth:`file`):
        ArtifactTooLargeError, QuotaExceededError: the content can never be stored.
        StoreFullError: the disk is full.
        OperationCancelledError: let through from the monitor.
    """

    def __init__(
        self,
        config: StoreConfig,
        blobs: BlobDir,
        make_room: MakeRoom,
        monitor: Monitor,
        total_bytes: int | None,
        buffers: Buffers,
    ) -> None:
        self._buffers = buffers
        self._config = config
        self._blobs = blobs
        self._make_room = make_room
        self._monitor = monitor
        self._total_bytes = total_bytes
        self._tally = Tally()
        self._helper: _Helper | None = None
        self._helper_from_bytes = _HELPER_FROM_BYTES
        self._written_bytes = 0
        self._room_bytes = 0
        self._fd = -1
        self._temporary: str | None = None
        self._advanced_at = time.monotonic()
        if total_bytes is not None:
            self._require_size(total_bytes)

    def chunks(self, chunks: Iterable[bytes]) -> Staged:
        """Stage bytes objects of any size."""
        try:
            return self._finish(self._spill(chunks))
        except BaseException:
            self._abandon()
            raise

    def file(self, source_fd: int) -> Staged:
        """Stage what a descriptor gives from its present position to its end."""
        try:
            if self._left_bytes() > INLINE_MAX_BYTES:
                self._copy(source_fd)
                return self._finish(None if self._fd >= 0 else b"")
            head = self._read(source_fd)
            while len(head) <= INLINE_MAX_BYTES and (more := self._read(source_fd)):
                head += more
            if len(head) <= INLINE_MAX_BYTES:
                return self._finish(head)
            self._put(head)
            if more := self._read(source_fd):
                self._put(more)
                self._copy(source_fd)
            return self._finish(None)
        except BaseException:
            self._abandon()
            raise

    def _read(self, source_fd: int) -> bytes:
        """What comes next; where the size is known, one read takes a small file in."""
        left_bytes = self._left_bytes() if self._total_bytes else _PIECE_BYTES
        return os.read(source_fd, min(_PIECE_BYTES, max(left_bytes, INLINE_MAX_BYTES) + 1))

    def _copy(self, source_fd: int) -> None:
        """Take in all that comes, in buffers that are used again."""
        taken, buffer = 1, self._buffers.take()
        while size_bytes := os.readv(source_fd, [buffer]):
            self._put(memoryview(buffer)[:size_bytes])
            if self._helper is None:
                continue  # done with
            if taken < _PIECES_AHEAD:
                taken, buffer = taken + 1, bytearray(_PIECE_BYTES)
            else:
                buffer = self._freed(self._helper)
        self._buffers.give_back(buffer)

    def _freed(self, helper: _Helper) -> bytearray:
        buffer = helper.free.get().obj
        assert isinstance(buffer, bytearray)
        return buffer

    def _spill(self, chunks: Iterable[bytes]) -> bytes | None:
        """Write the chunks, unless all of them together are small: then return them."""
        held: list[bytes] = []
        held_bytes = 0
        source = _pieces(chunks)
        for chunk in source:
            held.append(chunk)
            held_bytes += len(chunk)
            if held_bytes > INLINE_MAX_BYTES:
                self._put(held[0] if len(held) == 1 else b"".join(held))
                held.clear()
                break
        else:
            return b"".join(held)
        for chunk in source:
            self._put(chunk)
        return None

    def _put(self, data: bytes | memoryview) -> None:
        size_bytes = len(data)
        self._require_size(self._written_bytes + size_bytes)
        self._require_room(size_bytes)
        if self._fd < 0:
            with translated():
                self._fd, self._temporary = self._blobs.create()
                self._config.failpoints.hit("stage.opened")
        if self._helper is None and self._written_bytes + size_bytes >= self._helper_from_bytes:
            if _core_is_free():
                self._helper = _Helper(self._tally)
            else:
                self._helper_from_bytes += _ASK_AGAIN_BYTES
        (self._helper or self._tally).update(data)
        self._write(memoryview(data))
        self._written_bytes += size_bytes
        now = time.monotonic()
        if now - self._advanced_at >= _ADVANCE_SECONDS:
            self._advanced_at = now
            self._monitor.advance(self._written_bytes, self._total_bytes, "storing")

    def _write(self, data: memoryview) -> None:
        made_room = False
        while data:
            try:
                self._config.failpoints.hit("stage.writing")
                data = data[os.write(self._fd, data) :]
            except OSError as error:
                if made_room or not is_full(error):
                    raise meaning(error) from error
                made_room = True
                self._make_room(max(len(data), self._left_bytes()), True)

    def _require_size(self, size_bytes: int) -> None:
        if size_bytes > self._config.max_artifact_bytes:
            raise ArtifactTooLargeError(
                f"The content is larger than the {self._config.max_artifact_bytes:,} bytes"
                " that one artifact may have."
            )
        if size_bytes > self._config.quota_bytes:
            raise QuotaExceededError(
                f"The content does not fit the store's quota of {self._config.quota_bytes:,} bytes."
            )

    def _require_room(self, size_bytes: int) -> None:
        """Ask for room for all of a known size at once, else at intervals."""
        if self._room_bytes < size_bytes:
            ahead_bytes = max(size_bytes, self._left_bytes())
            self._make_room(ahead_bytes, False)
            self._room_bytes = max(ahead_bytes, _ROOM_EVERY_BYTES)
        self._room_bytes -= size_bytes

    def _left_bytes(self) -> int:
        return (self._total_bytes or 0) - self._written_bytes

    def _finish(self, data: bytes | None) -> Staged:
        failpoints = self._config.failpoints
        if data is not None:
            self._require_size(len(data))
            self._tally.update(data)
            return Staged(self._blobs, self._tally, -1, None, data, durable=True)
        if self._helper is not None:
            helper, self._helper = self._helper, None
            helper.finish()
        durable = self._config.durability == "host"
        with translated():
            failpoints.hit("stage.written")
            if durable:
                os.fsync(self._fd)
                failpoints.hit("stage.synced")
        staged = Staged(self._blobs, self._tally, self._fd, self._temporary, None, durable=durable)
        self._fd, self._temporary = -1, None
        return staged

    def _abandon(self) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            with suppress(BaseException):  # what made us give up is already being raised
                helper.finish()
        if self._fd >= 0:
            os.close(self._fd)
        if self._temporary is not None:
            self._blobs.unlink(self._temporary)
