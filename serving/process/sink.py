"""Where the engine's log is kept: in the store, under a handle that can be read while the engine runs."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_offload import OffloadError, OffloadService
from serving.errors import EngineError

PART_BYTES: Final = 256 << 20
"""A longer log goes on under the next handle, so that old parts expire while the engine runs on."""

_OPENING_SECONDS: Final = 0.05


class LogSink:
    """The engine's log in the store, in parts.

    Each part is a captured run of ``cat``, fed through a named pipe: what is written is stored at once,
    survives ``kill -9`` of this process, and if the store can take no more, only that command ends.

    Attributes:
        handles: of the parts, oldest first.

    Args:
        service: the store.
        name: what the parts are called.
        note: is told when the log cannot be stored any more.
    """

    def __init__(
        self, service: OffloadService, name: str, note: Callable[[str], None], part_bytes: int = PART_BYTES
    ) -> None:
        self.handles: list[str] = []
        self._service = service
        self._name = name
        self._note = note
        self._part_bytes = part_bytes
        self._written_bytes = 0
        self._fd: int | None = None
        self._open()

    def write(self, text: bytes) -> None:
        """Store more of the log; never fails: what cannot be stored is told once. May wait for the disk."""
        if self._fd is None:
            return
        try:
            self._write_all(text)
        except OSError as error:
            self._stop()
            self._note(f"the engine's log is not stored any more: {error.strerror or error}")
            return
        self._written_bytes += len(text)
        if self._written_bytes >= self._part_bytes:
            self._stop()
            try:
                self._open()
            except (EngineError, OSError) as error:
                self._note(str(error))

    def close(self) -> None:
        """Commit what was written."""
        self._stop()
        if self.handles:
            with suppress(OffloadError):
                self._service.runs.wait(self.handles[-1], 10.0, _Silent())

    def _write_all(self, text: bytes) -> None:
        assert self._fd is not None
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def _open(self) -> None:
        cat = shutil.which("cat", path="/bin:/usr/bin:/usr/local/bin")
        if cat is None:
            raise EngineError("The log cannot be stored: there is no program 'cat'.")
        folder = Path(tempfile.mkdtemp(prefix="mcp-offload-log-"))
        pipe = folder / "engine.log"
        try:
            os.mkfifo(pipe, 0o600)
            handle = self._service.run([cat, str(pipe)], name=self._part_name(), wait_seconds=0).handle
            self._fd = self._opened_with_reader(pipe, handle)
        except OffloadError as error:
            raise EngineError(f"The log cannot be stored: {error} Name a place with --store.") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.handles.append(handle)
        self._written_bytes = 0

    def _part_name(self) -> str:
        part = len(self.handles) + 1
        return self._name if part == 1 else f"{self._name}, part {part}"

    def _opened_with_reader(self, pipe: Path, handle: str) -> int:
        """The pipe's writing end, as soon as the command reads the other."""
        while True:
            try:
                fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                if error.errno != errno.ENXIO:  # nobody reads yet
                    raise
                if self._service.runs.wait(handle, _OPENING_SECONDS, _Silent()):
                    raise EngineError("The log cannot be stored: what writes it ended at once.") from error
                continue
            os.set_blocking(fd, True)
            return fd

    def _stop(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class _Silent:
    """A monitor that nobody listens to."""

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        """Do nothing."""
