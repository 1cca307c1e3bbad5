"""Standard input, output and error, as the commands use them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, TextIO

from mcp_offload.errors import OffloadError, SourceUnreadableError

_CHUNK_BYTES: Final = 1 << 20


class OutputError(OffloadError):
    """Standard output cannot be written to."""


class Console:
    """Where one run reads from and writes to. Text leaves as UTF-8 whatever the locale says.

    Args:
        as_json: results and errors are printed as one JSON object.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        stdin: BinaryIO | None = None,
        stdout: BinaryIO | None = None,
        stderr: BinaryIO | None = None,
    ) -> None:
        self.as_json = as_json
        self._stdin = stdin or _binary(sys.stdin)
        self._stdout = stdout or _binary(sys.stdout)
        self._stderr = stderr or _binary(sys.stderr)

    @property
    def asks(self) -> bool:
        """True where a person can be asked: input and error are a terminal."""
        return self._stdin is not None and self._stdin.isatty() and self.shows_progress

    @property
    def shows_progress(self) -> bool:
        """True where standard error is a terminal."""
        return self._stderr is not None and self._stderr.isatty()

    def chunks(self) -> Iterator[bytes]:
        """Standard input as it arrives, in pieces of at most 1 MiB.

        Raises:
            SourceUnreadableError: it is closed.
        """
        if self._stdin is None:
            raise SourceUnreadableError("Standard input is closed; name a file, or pipe something in.")
        if self._stdin.isatty():
            self.note("reading standard input; end it with Ctrl-D")
        descriptor = self._stdin.fileno()
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            yield chunk

    def answer(self) -> str:
        """One line typed by a person, without its line break."""
        return self._stdin.readline().decode(errors="replace").strip() if self._stdin is not None else ""

    def text(self, text: str) -> None:
        """Print a text and a line break if it lacks one."""
        self.raw(text.encode("utf-8", "backslashreplace") + (b"" if text.endswith("\n") else b"\n"))

    def json(self, value: object) -> None:
        """Print a JSON value on one line."""
        self.text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def raw(self, data: bytes) -> None:
        """Print bytes as they are."""
        if self._stdout is None:
            raise OutputError("Standard output is closed.")
        with _output():
            self._stdout.write(data)

    def raw_error(self, data: bytes) -> None:
        """Print bytes as they are on standard error."""
        if self._stderr is not None:
            self._stderr.write(data)
            self._stderr.flush()

    def note(self, text: str) -> None:
        """Tell a person something beside the result."""
        if self._stderr is None:
            return
        self._stderr.write(f"mcp-offload: {text}\n".encode("utf-8", "backslashreplace"))
        self._stderr.flush()

    def progress(self, line: str) -> None:
        """Overwrite the progress line; an empty one removes it."""
        if self._stderr is None:
            return
        self._stderr.write(b"\r\x1b[K" + line.encode("utf-8", "backslashreplace"))
        self._stderr.flush()

    def fail(self, error: Exception, code: str) -> None:
        """Tell why a request failed: on standard error, or with ``as_json`` as an object on output."""
        if self.as_json:
            self.json({"error": {"type": code, "message": str(error)}})
        else:
            self.note(str(error))

    def flush(self) -> None:
        """Hand over what was printed, so that a closed pipe is noticed here and not at exit."""
        if self._stdout is not None:
            with _output():
                self._stdout.flush()

    def abandon(self) -> None:
        """Nobody reads standard output any more: let the interpreter's own flush at exit go nowhere."""
        if self._stdout is None:
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stdout.fileno())
        os.close(nowhere)


def _binary(stream: TextIO | None) -> BinaryIO | None:
    """The bytes of a standard stream; None where the process was started without it."""
    return None if stream is None else stream.buffer


@contextmanager
def _output() -> Generator[None]:
    """Tell a failure to write, but for a closed pipe, apart from every other failure of the system."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise OutputError(f"Standard output cannot be written to: {exc.strerror}.") from exc
