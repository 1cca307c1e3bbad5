"""Standard output and error, as the commands use them."""

from __future__ import annotations

import json
import os
import sys
from typing import BinaryIO, TextIO


class Console:
    """Where one run writes to. Text leaves as UTF-8 whatever the locale says.

    Args:
        as_json: results and errors are printed as one JSON object.
    """

    def __init__(
        self, *, as_json: bool = False, stdout: BinaryIO | None = None, stderr: BinaryIO | None = None
    ) -> None:
        self.as_json = as_json
        self._stdout = stdout or _binary(sys.stdout)
        self._stderr = stderr or _binary(sys.stderr)

    @property
    def shows_progress(self) -> bool:
        """True where standard error is a terminal."""
        return self._stderr is not None and self._stderr.isatty()

    def text(self, text: str) -> None:
        """Print a text, and a line break if it lacks one."""
        if self._stdout is not None:
            self._stdout.write(text.encode("utf-8", "backslashreplace"))
            if not text.endswith("\n"):
                self._stdout.write(b"\n")

    def json(self, value: object) -> None:
        """Print a JSON value on one line."""
        self.text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))

    def note(self, text: str) -> None:
        """Tell a person something beside the result."""
        if self._stderr is not None:
            self._stderr.write(f"mcp-offload-serving: {text}\n".encode("utf-8", "backslashreplace"))
            self._stderr.flush()

    def progress(self, line: str) -> None:
        """Overwrite the progress line of a terminal; an empty one removes it. Nothing where there is none."""
        if self._stderr is not None and self.shows_progress:
            self._stderr.write(b"\r\x1b[K" + line.encode("utf-8", "backslashreplace"))
            self._stderr.flush()

    def flush(self) -> None:
        """Hand over what was printed, so that a closed pipe is noticed here and not at exit."""
        if self._stdout is not None:
            self._stdout.flush()

    def abandon(self) -> None:
        """Nobody reads standard output any more: let the interpreter's own flush at exit go nowhere."""
        if self._stdout is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stdout.fileno())
            os.close(nowhere)


def _binary(stream: TextIO | None) -> BinaryIO | None:
    """The bytes of a standard stream; None where the process was started without it."""
    return None if stream is None else stream.buffer
