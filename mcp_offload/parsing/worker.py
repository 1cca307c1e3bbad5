"""The parent's side of the worker process: starts it, bounds it, replaces it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from mcp_offload.models import Outline
from mcp_offload.outline.codec import decode
from mcp_offload.parsing.limits import Limits
from mcp_offload.parsing.protocol import ANSWER_PREFIX, STOPPED, Header, Task, request

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
# Longer than nearly every parse. Whoever counts can do without the process, at a price.
_BUSY_SECONDS: Final = 3.0


class WorkerUnavailableError(Exception):
    """The process was not running, was busy for too long, or ended instead of answering."""


class _TimeIsUpError(Exception):
    """The worker did not answer in time."""


class _LostError(Exception):
    """The worker ended instead of answering."""


class ParserWorker:
    """Outlines texts and counts tokens in a process that is replaced when a text defeats it.

    The process starts with :meth:`start` or the first outline. Thread-safe; calls queue up. Close it, or
    use it as a context manager. The process also ends when its parent does, whatever way that goes.
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

    def start(self) -> None:
        """Have the process started, without waiting until it can answer."""
        with self._lock:
            self._running()

    @property
    def started(self) -> bool:
        """True where a process has been started and was not found dead since."""
        return self._process is not None

    def outline(self, view: bytes, language: str | None, name: str = "") -> Outline:
        """The outline of a UTF-8 view, with the tokens of each symbol and, up to 4 MB, of the view.

        A text that hangs, kills or starves the parser comes back with ``parsed`` False, the reason and
        chunks; the next text is outlined as usual. Tokens are None where there was no time for them.
        """
        header = self._header("outline", len(view), language=language, name=name)
        with self._lock:
            try:
                return decode(_exchange(self._running(), header, view))
            except _TimeIsUpError:
                self._kill()
                reason = STOPPED.format(header.hard_seconds)
            except _LostError:
                killed = self._kill() == -signal.SIGALRM
                reason = STOPPED.format(header.hard_seconds) if killed else "parser crashed"
        from mcp_offload.outline import chunked

        return chunked(view, language, reason)

    @property
    def busy(self) -> bool:
        """Whether it is at work for somebody, so that whoever asks has to wait."""
        return self._lock.locked()

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """The tokens of each text, as :meth:`TokenCounter.count` counts them; never starts the process.

        Raises:
            WorkerUnavailableError: the caller has to count for itself.
        """
        joined = b"".join(texts)
        header = self._header("count", len(joined), sizes=tuple(map(len, texts)))
        return self._asked(header, joined)

    def fit(self, text: bytes, max_tokens: int) -> tuple[int, int]:
        """How many characters of valid UTF-8 fit, as :meth:`TokenCounter.fit` says, and their tokens.

        Raises:
            WorkerUnavailableError: as :meth:`count`.
        """
        length, tokens = self._asked(self._header("fit", len(text), max_tokens=max_tokens), text)
        return length, tokens

    def kill(self) -> None:
        """End the process at once, also under a call that waits for it; that call finds it lost."""
        process = self._process
        if process is not None:
            process.kill()

    def _asked(self, header: Header, text: bytes) -> list[int]:
        with self._unless_busy() as process:
            try:
                numbers: list[int] = json.loads(_exchange(process, header, text))
            except (_TimeIsUpError, _LostError):
                self._kill()
                raise WorkerUnavailableError from None
            return numbers

    @contextmanager
    def _unless_busy(self) -> Generator[subprocess.Popen[bytes]]:
        if not self._lock.acquire(timeout=_BUSY_SECONDS):
            raise WorkerUnavailableError
        try:
            if self._process is None:
                raise WorkerUnavailableError
            yield self._process
        finally:
            self._lock.release()

    def _header(
        self,
        task: Task,
        size_bytes: int,
        *,
        language: str | None = None,
        name: str = "",
        sizes: tuple[int, ...] = (),
        max_tokens: int = 0,
    ) -> Header:
        limits = self._limits
        return Header(
            task,
            limits.soft_seconds(size_bytes),
            limits.hard_seconds(size_bytes),
            limits.address_space_bytes(size_bytes),
            language,
            name,
            sizes,
            max_tokens,
        )

    def close(self) -> None:
        """End the process; a later outline starts another one."""
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
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
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
    source, sink = process.stdout, process.stdin
    if source is None or sink is None:
        raise _LostError
    for piece in request(header, view):
        _send(sink, piece, deadline)
    return _receive(source, deadline)


def _send(sink: IO[bytes], piece: bytes, deadline: float) -> None:
    left = memoryview(piece)
    while left:
        try:
            left = left[os.write(sink.fileno(), left[:_PIECE_BYTES]) :]
        except BlockingIOError:
            _wait(sink, select.POLLOUT, deadline)
        except OSError as exc:
            raise _LostError from exc


def _receive(source: IO[bytes], deadline: float) -> bytes:
    """The payload of one answer: the worker sends nothing beyond it before it is asked again."""
    received = bytearray()
    size_bytes = ANSWER_PREFIX.size
    while len(received) < size_bytes:
        _wait(source, select.POLLIN, deadline)
        try:
            piece = os.read(source.fileno(), _PIECE_BYTES)
        except BlockingIOError:
            continue
        if not piece:
            raise _LostError
        received += piece
        if len(received) >= ANSWER_PREFIX.size:
            size_bytes = ANSWER_PREFIX.size + ANSWER_PREFIX.unpack_from(received)[0]
    return bytes(received[ANSWER_PREFIX.size :])


def _wait(pipe: IO[bytes], event: int, deadline: float) -> None:
    poller = select.poll()
    poller.register(pipe.fileno(), event)
    left = deadline - time.monotonic()
    if left <= 0 or not poller.poll(left * 1000):
        raise _TimeIsUpError
