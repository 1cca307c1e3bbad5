"""A wrapped server that is a process of ours, on its standard streams."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_offload.wire.lines import MAX_LINE_BYTES
from mcp_offload.wire.outbox import Outbox
from mcp_offload.wrap.cut import LineCutter
from mcp_offload.wrap.keeper import SIGNALLED
from mcp_offload.wrap.upstream import Listener, UpstreamError

READ_BYTES: Final = 1 << 18
LAST_WORDS_BYTES: Final = 2_000
#: That it gets to leave by itself once its input ends, and again after SIGTERM.
GRACE_SECONDS: Final = 2.0
#: Without reading a byte of megabytes that wait for it, it counts as hanging.
UNREAD_SECONDS: Final = 30.0
_EXIT_SECONDS: Final = 1.0

_MAIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); from mcp_offload.wrap.keeper import main; main(sys.argv[2:])"
)


class ProcessUpstream:
    """A server started by its command line.

    Args:
        command: the program, looked for on the PATH of ``environment``, and its arguments.
        max_line_bytes: of a message; of a longer one only the ends are kept.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        grace_seconds: float = GRACE_SECONDS,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self._command = tuple(command)
        self._environment = environment
        self._grace_seconds = grace_seconds
        self._max_line_bytes = max_line_bytes
        self._last_words = b""
        self._control = -1
        self._outbox: Outbox | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    @property
    def last_words(self) -> str:
        """The end of what it printed to standard error."""
        return self._last_words.decode("utf-8", "replace").strip()

    def start(self, listener: Listener) -> None:
        """Start the process.

        Raises:
            UpstreamError: there is no such program.
        """
        if shutil.which(self._command[0], path=self._environment.get("PATH")) is None:
            raise UpstreamError(f"there is no program {self._command[0]!r} to start it with")
        control, ours = os.pipe()
        try:
            self._process = self._spawned(control)
        except OSError as exc:
            os.close(ours)
            raise UpstreamError(f"its process could not be started: {exc.strerror}") from exc
        finally:
            os.close(control)
        assert self._process.stdin is not None
        outbox = Outbox(self._process.stdin.fileno(), _nothing)
        outbox.start()
        self._errors = threading.Thread(target=self._pass_errors_on, name="upstream-errors", daemon=True)
        self._errors.start()
        threading.Thread(target=self._read, args=(listener,), name="upstream", daemon=True).start()
        with self._lock:
            self._outbox, self._control = outbox, ours
        if self._closed.is_set():  # meanwhile
            self._let_go()

    def _spawned(self, control_fd: int) -> subprocess.Popen[bytes]:
        """The keeper, which starts the server."""
        spec = {
            "control_fd": control_fd,
            "grace_seconds": self._grace_seconds,
            "locale_is_ours": "LC_CTYPE" not in self._environment,
        }
        root = str(Path(__file__).parents[2])
        # -I -S: nothing but the standard library, whatever the environment says. A session of its own:
        # what ends ours does not end the one that has to clear up.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _MAIN, root, json.dumps(spec), *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(self._environment),
            pass_fds=(control_fd,),
            start_new_session=True,
        )

    def send(self, line: bytes) -> bool:
        """Queue a message; False where the server has read nothing for half a minute."""
        outbox = self._outbox
        if outbox is None:
            return True
        if outbox.full and not outbox.wait_for_room(UNREAD_SECONDS):
            return False
        outbox.put(line + b"\n")
        return True

    def close(self) -> None:
        """End its input; its keeper sees to the rest. What it says from now on is dropped."""
        self._closed.set()
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            outbox, self._outbox = self._outbox, None
            control, self._control = self._control, -1
        if outbox is not None:
            outbox.close()
            threading.Thread(
                target=self._close_input, args=(outbox,), name="upstream-input", daemon=True
            ).start()
        if control >= 0:
            os.close(control)

    def _close_input(self, outbox: Outbox) -> None:
        """Close the pipe once nobody writes to it: its number may mean another one then."""
        outbox.join()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _read(self, listener: Listener) -> None:
        assert self._process.stdout is not None
        cutter = LineCutter(self._max_line_bytes)
        with self._process.stdout as output:
            while chunk := os.read(output.fileno(), READ_BYTES):
                for line in cutter.feed(chunk):
                    if not self._closed.is_set():
                        listener.on_line(line)
        told = self._told_end()
        if not self._closed.is_set():
            listener.on_end(told)
        self.close()
        self._process.wait()

    def _told_end(self) -> str:
        """How it ended, which is known once its keeper has ended."""
        try:
            status = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        # What it said last is on its way still.
        self._errors.join(_EXIT_SECONDS)
        if status < 0 or status > SIGNALLED:
            return f"was ended by signal {abs(status) % SIGNALLED}"
        return f"ended with exit status {status}"

    def _pass_errors_on(self) -> None:
        """Standard error goes to ours, and its end is kept."""
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            while chunk := os.read(errors.fileno(), READ_BYTES):
                self._last_words = (self._last_words + chunk)[-LAST_WORDS_BYTES:]
                with suppress(OSError):
                    _write_all(2, chunk)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _nothing() -> None:
    """The reading thread tells of the end."""
