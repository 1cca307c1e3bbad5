"""The parent's side of the worker process: starts it, bounds it, replaces it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from mcp_offload.models import Outline
from mcp_offload.outline import chunked
from mcp_offload.outline.codec import decode
from mcp_offload.parsing.limits import Limits
from mcp_offload.parsing.protocol import ANSWER_PREFIX, STOPPED, Header, request

_MAIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from mcp_offload.parsing.child import main; main(sys.argv[2] or None)"
)
_ENV: Final = "/usr/bin/env"
_CACHE_VARIABLE: Final = "SEMBLE_GRAMMARS_CACHE_DIR"
_PIECE_BYTES: Final = 1 << 20
_STARTUP_SECONDS: Final = 10.0
_ENDING_SECONDS: Final = 0.1
_CLOSE_SECONDS: Final = 1.0


class _TimeIsUpError(Exception):
    """The worker did not answer in time."""


class _LostError(Exception):
    """The worker ended instead of answering."""


class ParserWorker:
    """Outlines texts in a process that is started on first use and replaced when a text defeats it.

    Thread-safe; calls queue up. Close it, or use it as a context manager. The process also ends when
    its parent does, whatever way that goes.
    """

    def __init__(self, limits: Limits | None = None, *, grammar_cache: Path | None = None) -> None:
        """``grammar_cache``: a private folder for the grammars of the extra languages; None = core only."""
        self._limits = limits or Limits()
        self._grammar_cache = grammar_cache
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def outline(self, view: bytes, language: str | None, name: str = "") -> Outline:
        """The outline of a UTF-8 view.

        A text that hangs, kills or starves the parser comes back with ``parsed`` False, the reason and
        chunks; the next text is outlined as usual.
        """
        size = len(view)
        limits = self._limits
        hard = limits.hard_seconds(size)
        header = Header(language, name, limits.soft_seconds(size), hard, limits.address_space_bytes(size))
        with self._lock:
            try:
                return decode(_exchange(self._running(), header, view))
            except _TimeIsUpError:
                self._kill()
                reason = STOPPED.format(hard)
            except _LostError:
                reason = STOPPED.format(hard) if self._kill() == -signal.SIGALRM else "parser crashed"
        return chunked(view, language, reason)

    def close(self) -> None:
        """End the process; a later call of ``outline`` starts another one."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(_CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._kill()
        if self._process is None:
            root = str(Path(__file__).parents[2])
            cache = "" if self._grammar_cache is None else str(self._grammar_cache)
            # The package of the extra grammars takes its folder from there and from nowhere else.
            prefix = [_ENV, f"{_CACHE_VARIABLE}={cache}"] if cache else []
            # -P: nothing from the current directory is ever imported. Its own process group: a Ctrl-C
            # at the terminal is the parent's to handle.
            self._process = subprocess.Popen(
                [*prefix, sys.executable, "-P", "-c", _MAIN, root, cache],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                process_group=0,
            )
        return self._process

    def _kill(self) -> int | None:
        """End the process now; returns how it ended, negative for a signal of that number."""
        process, self._process = self._process, None
        if process is None:
            return None
        ended = process.poll()
        if ended is None:
            # One that closed its pipe is about to end by itself, and how it ends is worth knowing.
            ended = _ending(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        return ended


def _ending(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _exchange(process: subprocess.Popen[bytes], header: Header, view: bytes) -> bytes:
    """Write the request and read the answer, both within the worker's time.

    Raises:
        _TimeIsUpError: no complete answer in time.
        _LostError: the worker ended first.
    """
    # The worker's own timer runs from when it has read the text; this one also covers its start.
    deadline = time.monotonic() + header.hard_seconds + _STARTUP_SECONDS
    source, sink = _pipes(process)
    for piece in request(header, view):
        _send(sink, piece, deadline)
    length = ANSWER_PREFIX.unpack(_receive(source, ANSWER_PREFIX.size, deadline))[0]
    return _receive(source, length, deadline)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise _LostError
    os.set_blocking(process.stdin.fileno(), False)
    os.set_blocking(process.stdout.fileno(), False)
    return process.stdout, process.stdin


def _send(sink: IO[bytes], piece: bytes, deadline: float) -> None:
    left = memoryview(piece)
    while left:
        _wait(sink, select.POLLOUT, deadline)
        try:
            left = left[os.write(sink.fileno(), left[:_PIECE_BYTES]) :]
        except BlockingIOError:
            continue
        except OSError as exc:
            raise _LostError from exc


def _receive(source: IO[bytes], size_bytes: int, deadline: float) -> bytes:
    pieces: list[bytes] = []
    while size_bytes > 0:
        _wait(source, select.POLLIN, deadline)
        try:
            piece = os.read(source.fileno(), min(size_bytes, _PIECE_BYTES))
        except BlockingIOError:
            continue
        if not piece:
            raise _LostError
        pieces.append(piece)
        size_bytes -= len(piece)
    return b"".join(pieces)


def _wait(pipe: IO[bytes], event: int, deadline: float) -> None:
    poller = select.poll()
    poller.register(pipe.fileno(), event)
    left = deadline - time.monotonic()
    if left <= 0 or not poller.poll(left * 1000):
        raise _TimeIsUpError
