"""The process's edge on stdio: reads, answers what cannot wait, and ends when it must.

The client's first requests are answered from recorded results within milliseconds of the start, while
a thread loads the SDK; from then on every message is passed on to it. The front alone owns the
standard streams: while it runs, descriptor 1 points at standard error and descriptor 0 at the null
device, so that neither a stray print nor a child can touch the protocol.

The process ends on the end of input, on SIGINT, SIGTERM or SIGHUP, and when its parent dies.
Standard library only.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Final, Protocol

from mcp_offload.errors import UsageError
from mcp_offload.wire.canned import Handshake, Snapshot
from mcp_offload.wire.lines import LineBuffer
from mcp_offload.wire.link import Link
from mcp_offload.wire.messages import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Message,
    Rejected,
    as_request_id,
    encode,
    error_answer,
    read_line,
    result_answer,
)
from mcp_offload.wire.outbox import Outbox

READ_BYTES: Final = 1 << 18
# A client may send SIGKILL half a second after its first signal, and another signal after 100 ms.
HARD_EXIT_SECONDS: Final = 0.06
DRAIN_SECONDS: Final = 0.03
# How long a thread that computes may keep the front waiting: five times sooner than by default. An end goes
# through a dozen such waits while the SDK's modules are loading.
SWITCH_SECONDS: Final = 0.001
# Only where the parent cannot be watched directly (no pidfd).
PARENT_POLL_SECONDS: Final = 1.0
UNREAD_POLL_SECONDS: Final = 0.05
EXIT_CRASHED: Final = 70

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Backend(Protocol):
    """What stands behind the front."""

    def run(self, link: Link) -> None:
        """Serve until the link's inbox closes. Called in its own thread; may take long to start."""
        ...

    def close(self) -> None:
        """Stop what is running, end children and leave the store clean, fast. Called from any thread."""
        ...


class Front:
    """One connection over a pair of descriptors.

    Without a ``snapshot`` every request is the backend's to answer.
    """

    def __init__(self, snapshot: Snapshot | None, backend: Backend, stdin_fd: int, stdout_fd: int) -> None:
        self._handshake = None if snapshot is None else Handshake(snapshot)
        self._backend = backend
        self._stdin_fd = stdin_fd
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._exit_code: int | None = None
        self.link = Link(Outbox(stdout_fd, self._reader_gone), self._wake)
        self._parent = os.getppid()
        self._parent_fd = _watch_process(self._parent)

    def run(self) -> int:
        """Serve until the connection or the process must end; return the exit status.

        0 at the end of input and when the client or the parent is gone, 128 + n for signal n, 70
        where the backend crashed. The hard limit on the end's duration is enforced by ending the
        process on the spot.
        """
        self._catch_signals()
        sys.setswitchinterval(SWITCH_SECONDS)
        self.link.outbox.start()
        lines = LineBuffer()
        # What has arrived by now is answered before the loading competes for the interpreter.
        if self._wait(at_most_ms=0):
            self._take_input(lines)
        threading.Thread(target=self._run_backend, name="sdk", daemon=True).start()
        while self._exit_code is None:
            if self._wait():
                self._take_input(lines)
        return self._stop(self._exit_code)

    def _take_input(self, lines: LineBuffer) -> None:
        chunk = self._read()
        if chunk is None:
            return
        for line in lines.feed(chunk):
            self._handle_line(line)
        if not chunk:
            self._handle_line(lines.rest() or b"")
            self._end(0)

    def _read(self) -> bytes | None:
        """What has arrived: None where nothing has, empty at the end of input.

        Whoever gave us the descriptor may have made it non-blocking. A terminal's hang-up is an end.
        """
        try:
            return os.read(self._stdin_fd, READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _wait(self, at_most_ms: float | None = None) -> bool:
        """Block until there may be input (True) or anything else has happened (False)."""
        poll = select.poll()
        unread = self.link.outbox.full
        paused = self.link.inbox.full or unread
        poll.register(self._stdin_fd, 0 if paused else select.POLLIN)
        poll.register(self._wake_read, select.POLLIN)
        if self._parent_fd is not None:
            poll.register(self._parent_fd, select.POLLIN)
        events = dict(poll.poll(self._patience_ms(unread) if at_most_ms is None else at_most_ms))
        if self._wake_read in events:
            self._read_wakes()
        if self._parent_fd in events or os.getppid() != self._parent:
            self._end(0)
        hung_up = events.get(self._stdin_fd, 0)
        if paused and hung_up:
            self._end(0)
        return self._exit_code is None and not paused and bool(hung_up)

    def _patience_ms(self, unread: bool) -> float | None:
        """How long to wait for an event: the outbox's reader and an unwatched parent give none."""
        if unread:
            return UNREAD_POLL_SECONDS * 1000
        return None if self._parent_fd is not None else PARENT_POLL_SECONDS * 1000

    def _read_wakes(self) -> None:
        """Empty the wake-up pipe; the bytes are signal numbers, or 0 where somebody else woke us."""
        with suppress(BlockingIOError):
            for number in os.read(self._wake_read, 4096):
                if number in _SIGNALS:
                    self._end(128 + number)

    def _handle_line(self, line: bytes | None) -> None:
        if line is None:
            answer = error_answer(None, INVALID_REQUEST, "Invalid request: this line is too long")
            self.link.outbox.put(encode(answer))
            return
        message = read_line(line)
        if isinstance(message, Rejected):
            if message.answer is not None:
                self.link.outbox.put(encode(message.answer))
        elif message is not None:
            self._handle_message(message)

    def _handle_message(self, message: Message) -> None:
        if message.request_id is None:
            cancelled = message.method == "notifications/cancelled"
            request_id = as_request_id(message.params.get("requestId")) if cancelled else None
            if request_id is not None and not self.link.cancel(request_id):
                return
        elif self._handshake is not None:
            result = self._handshake.answer(message)
            if result is not None and not self.link.sdk_ready.is_set():
                self.link.answer_early(message.request_id, result_answer(message.request_id, result))
        self.link.pass_on(message)

    def _run_backend(self) -> None:
        try:
            self._backend.run(self.link)
        finally:
            # It returns when the inbox closes, and then the end is under way already.
            self._end(EXIT_CRASHED)

    def _reader_gone(self) -> None:
        self._end(0)

    def _end(self, exit_code: int) -> None:
        """Choose the exit status, once, and have the main loop notice."""
        if self._exit_code is None:
            self._exit_code = exit_code
            self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake_write, b"\0")

    def _catch_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in _SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _noted)

    def _stop(self, exit_code: int) -> int:
        sys.setswitchinterval(SWITCH_SECONDS / 10)
        limit = threading.Timer(HARD_EXIT_SECONDS, os._exit, (exit_code,))
        limit.daemon = True
        limit.start()
        code, text = CONNECTION_CLOSED, "Connection closed"
        if exit_code == EXIT_CRASHED:
            code, text = INTERNAL_ERROR, "Internal error: the server crashed; see its standard error"
        for request_id in self.link.close():
            self.link.outbox.put(encode(error_answer(request_id, code, text)))
        self._backend.close()
        self.link.inbox.close()
        self.link.outbox.drain(DRAIN_SECONDS)
        return exit_code


def _noted(number: int, frame: FrameType | None) -> None:
    """Do nothing: the interpreter has written the number into the wake-up pipe already."""


def _watch_process(pid: int) -> int | None:
    """A descriptor that becomes readable when ``pid`` ends, or None where the platform has none."""
    with suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return None


def claim_streams() -> tuple[int, int]:
    """Take the protocol off descriptors 0 and 1; return private descriptors for reading and writing.

    From then on what anything else reads is empty, and what it prints goes to standard error, or
    nowhere where that is closed.

    Raises:
        UsageError: one of the two is closed.
    """
    try:
        # Looked at before either is copied: a copy would take the number of a closed one.
        os.fstat(0)
        os.fstat(1)
        stdin_fd, stdout_fd = os.dup(0), os.dup(1)
    except OSError:
        raise UsageError("Standard input or output is closed; MCP is spoken over both.") from None
    null_fd = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_fd, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(null_fd, 1)
    os.close(null_fd)
    return stdin_fd, stdout_fd


def serve(snapshot: Snapshot | None, backend: Backend) -> int:
    """Serve over the process's own standard streams; see :meth:`Front.run`."""
    return Front(snapshot, backend, *claim_streams()).run()
