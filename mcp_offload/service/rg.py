"""Searching a large stored file with ripgrep, as a process that cannot outlive the search.

ripgrep only says which lines may match; each is read from the store and matched again here, so a
difference between the engines cannot show. Where ripgrep fails, in whatever way, the search goes on
without it from the last line it gave: its failure never reads as "no matches".
Source: exit statuses and flags of rg(1), https://github.com/BurntSushi/ripgrep.
"""

from __future__ import annotations

import logging
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from mcp_offload.models import Monitor, Span
from mcp_offload.service.pattern import Matcher
from mcp_offload.service.scan import LineHit, LineNumbers, scan, shorten
from mcp_offload.service.view import View

#: Below this a search in process is done before a process has started.
FROM_BYTES: Final = 8 * 1024 * 1024
#: Address space ripgrep may use beyond what it maps; a line longer than half of it makes it fail.
MEMORY_BYTES: Final = 512 * 1024 * 1024

_START_SECONDS: Final = 10.0
_SLOWEST_BYTES_PER_SECOND: Final = 20_000_000
_POLL_SECONDS: Final = 0.1
_READ_BYTES: Final = 64 * 1024
#: A line up to this length is read at once; of a longer one the end is looked up.
_SHORT_LINE_BYTES: Final = 4096
_FOUND, _NOT_FOUND = 0, 1

_log: Final = logging.getLogger(__name__)


class _Failed(Exception):
    """ripgrep did not do what was asked; the message says what it did."""


class _Candidate(NamedTuple):
    """A line that ripgrep found: its number and where it starts in the view."""

    line: int
    start: int


def search_view(
    view: View, matcher: Matcher, span: Span, *, limit: int, monitor: Monitor, rg_path: str | None
) -> Iterator[LineHit]:
    """Yield the first ``limit`` matching lines of ``span``, by ripgrep where it serves, else in process.

    ``span`` is made of whole lines. Both ways give the same hits.

    Raises:
        OperationCancelledError: the monitor asked to stop.
    """
    done: _Candidate | None = None
    if limit > 0 and rg_path is not None and _serves(view, matcher, span):
        try:
            for candidate in _candidates(rg_path, view, matcher, span, limit, monitor):
                if hit := _matched(view, matcher, candidate, monitor):
                    yield hit
                    limit -= 1
                done = candidate
                if limit <= 0:
                    break
        except (_Failed, OSError) as failure:
            _log.warning("Searching on without ripgrep: %s", failure)
        else:
            return
    start = view.line_span(done.line, done.line).end_byte if done else span.start_byte
    yield from scan(view, matcher, Span(start, span.end_byte), limit=limit, monitor=monitor)


def _serves(view: View, matcher: Matcher, span: Span) -> bool:
    """Say whether ripgrep can do it: a large file, to its end, and a pattern it takes alike."""
    return (
        view.path is not None
        and matcher.ripgrep is not None
        and span.end_byte == view.size_bytes
        and span.end_byte - span.start_byte >= FROM_BYTES
    )


def _matched(view: View, matcher: Matcher, candidate: _Candidate, monitor: Monitor) -> LineHit | None:
    """Match the line here; None where ripgrep was only asked for lines that may match."""
    block = view.read(candidate.start, candidate.start + _SHORT_LINE_BYTES)
    newline = block.find(b"\n")
    if newline >= 0:
        if match := matcher.over(block).find(0, newline):
            start, end = (candidate.start + offset for offset in match)
            return LineHit(candidate.line, *shorten(view, candidate.start, start, end))
    else:
        line = view.line_span(candidate.line, candidate.line)
        for hit in scan(view, matcher, line, limit=1, monitor=monitor):
            return hit._replace(line=candidate.line)
    if matcher.ripgrep_exact:
        raise _Failed(f"line {candidate.line} matches there and not here")
    return None


def _candidates(
    rg_path: str, view: View, matcher: Matcher, span: Span, limit: int, monitor: Monitor
) -> Iterator[_Candidate]:
    """Yield the lines that ripgrep prints, while the process lives.

    Raises:
        _Failed: it ended with an error, printed something else, or took too long.
    """
    assert view.path is not None
    first_line = LineNumbers(view).at(span.start_byte)
    command = _command(rg_path, matcher, limit)
    with _running(command, view.path, span.start_byte) as process:
        _limit_memory(process.pid, MEMORY_BYTES)
        for line in _lines(process, span, monitor):
            number, offset = _parse(line)
            yield _Candidate(first_line + number - 1, span.start_byte + offset)
        status = process.wait()
    if status not in (_FOUND, _NOT_FOUND):
        raise _Failed(f"it ended with status {status}")


def _command(rg_path: str, matcher: Matcher, limit: int) -> list[str]:
    assert matcher.ripgrep is not None
    return [
        rg_path,
        *("--no-config", "--no-ignore", "--no-messages", "--color=never", "--no-heading", "--no-filename"),
        *("--threads=1", "--text", "--encoding=none", "--case-sensitive", "--regex-size-limit=10M"),
        *("--line-number", "--byte-offset"),
        # The lines are read from the store: whatever is longer than this is left out of the output.
        "--max-columns=1",
        *((f"--max-count={limit}",) if matcher.ripgrep_exact else ()),
        *(f"--regexp={expression}" for expression in matcher.ripgrep),
        # Reading is faster than mapping here: a file just written makes for many page faults.
        *("--no-mmap", "--", "-"),
    ]


@contextmanager
def _running(command: list[str], path: str, offset: int) -> Generator[subprocess.Popen[bytes]]:
    """Start the process, reading ``path`` from ``offset``; end it, with its group, on leaving."""
    with open(path, "rb") as source:
        os.lseek(source.fileno(), offset, os.SEEK_SET)
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            process_group=0,
        )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _limit_memory(pid: int, address_bytes: int) -> None:
    """Limit the address space of a running process, where the system can."""
    if hasattr(resource, "prlimit"):
        try:
            resource.prlimit(pid, resource.RLIMIT_AS, (address_bytes, address_bytes))
        except ProcessLookupError:
            return  # It has finished already.


def _lines(process: subprocess.Popen[bytes], span: Span, monitor: Monitor) -> Iterator[bytes]:
    """Yield the lines of the process's output, reporting to the monitor while there are none."""
    assert process.stdout is not None
    size = span.end_byte - span.start_byte
    deadline = time.monotonic() + _START_SECONDS + size / _SLOWEST_BYTES_PER_SECOND
    output = process.stdout.fileno()
    poll = select.poll()
    poll.register(output, select.POLLIN)
    pending = b""
    while True:
        monitor.advance(0, size)
        if time.monotonic() > deadline:
            raise _Failed("it took too long")
        if not poll.poll(_POLL_SECONDS * 1000):
            continue
        data = os.read(output, _READ_BYTES)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        yield from lines


def _parse(line: bytes) -> tuple[int, int]:
    """Read the line number and the byte offset of a line of output, ``12:3456:...``."""
    number, _, rest = line.partition(b":")
    offset, colon, _ = rest.partition(b":")
    if not (number.isdigit() and offset.isdigit() and colon):
        raise _Failed("it printed something unexpected")
    return int(number), int(offset)
