"""``mcp-offload capture``: a pipe's end that shows short output as it is, and of long output the digest.

Whatever fails, the bytes come out as they came in. It ends with 0; with ``pipefail`` the shell tells the
status of the command before it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from mcp_offload.cli.hook.events import SMALL_BYTES
from mcp_offload.cli.hook.front import tell

if TYPE_CHECKING:
    from types import FrameType

_STDIN: Final = 0
_STDOUT: Final = 1
_CHUNK_BYTES: Final = 1 << 16
_TAIL_BYTES: Final = 1_500


class _EndedError(Exception):
    """A signal asks to end."""


def run_capture(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Pass standard input to standard output, or store it and print its digest."""
    name, spool, options = _options(argv)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _end)
    head = b""
    try:
        while len(head) <= SMALL_BYTES:
            chunk = os.read(_STDIN, SMALL_BYTES + 1 - len(head))
            if not chunk:
                break
            head += chunk
    except _EndedError:
        pass
    with suppress(BrokenPipeError):
        if len(head) <= SMALL_BYTES:
            _write(head)
        else:
            _capture(head, name, spool, options, environ)
    return 0


def _options(argv: Sequence[str]) -> tuple[str, bool, list[str]]:
    """Name, whether to leave a spool, and the global options, which storing parses.

    The name ends the line: clients are told that whatever starts with the words before it may run, and
    nothing that follows them may say where to store.
    """
    words = list(argv)
    name = "output"
    if "--name" in words:
        place = words.index("--name")
        name = " ".join(words[place + 1 :]) or name
        del words[place:]
    return name, "--spool" in words, [word for word in words if word != "--spool"]


def _end(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # whoever asks twice does not want to wait for a digest
    raise _EndedError


def _capture(head: bytes, name: str, spool: bool, options: list[str], environ: Mapping[str, str]) -> None:
    import threading

    from mcp_offload.cli.hook.spool import open_spool
    from mcp_offload.cli.hook.storing import warm_up

    try:
        file, path = open_spool()
    except OSError:  # as in a sandbox in which nothing can be written
        _write(head)
        _copy(_STDIN)
        return
    kept = False
    try:
        threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
        if not _fill(file.fileno(), head):
            return
        told, problem = _told(file.fileno(), name, options, environ)
        if told is not None:
            _write(told.encode("utf-8", "backslashreplace") + b"\n")
        elif problem and spool:
            kept = True
            _write(_spooled(file, path, name))
        else:
            _copy_from_start(file.fileno())
            if problem:
                tell(f"not offloaded: {problem}")
    finally:
        file.close()
        if not kept:
            os.unlink(path)


def _told(
    descriptor: int, name: str, options: list[str], environ: Mapping[str, str]
) -> tuple[str | None, str]:
    """The digest, or why there is none; neither where the output is best shown as it is."""
    from mcp_offload.cli.hook.storing import digest_of

    try:
        return digest_of(descriptor, name, options, environ), ""
    except Exception as exc:  # noqa: BLE001  (the output has to come out, whatever is wrong with the store)
        return None, str(exc) or type(exc).__name__


def _fill(spool: int, head: bytes) -> bool:
    """Read all there is into the spool; where that is full, print it and what comes instead: False."""
    data = head
    try:
        while data:
            try:
                _write(data, spool)
            except OSError:
                _copy_from_start(spool)
                os.lseek(spool, 0, os.SEEK_END)
                _write(data)
                _copy(_STDIN)
                return False
            data = os.read(_STDIN, _CHUNK_BYTES)
    except _EndedError:  # what has come is what there is
        pass
    return True


def _spooled(file: BinaryIO, path: str, name: str) -> bytes:
    """What stands in for output that could not be stored here and is taken up by the next hook."""
    size = os.fstat(file.fileno()).st_size
    tail = os.pread(file.fileno(), _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    return f"mcp-offload spooled {path} as {name}\n{size} bytes; the last of them:\n".encode() + tail


def _copy_from_start(descriptor: int) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _copy(descriptor)


def _copy(descriptor: int) -> None:
    while data := os.read(descriptor, _CHUNK_BYTES):
        _write(data)


def _write(data: bytes, descriptor: int = _STDOUT) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
