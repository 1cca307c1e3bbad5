"""Runs a query over JSON, JSON lines, CSV or Parquet in a process of its own, bounded in time and memory."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mcp_offload.models import Monitor, SilentMonitor
from mcp_offload.parsing.query_child import NO_ENGINE, WRONG

#: ``text`` is any text, of which the first JSON that begins a line is asked.
Form = Literal["json", "jsonl", "csv", "parquet", "text"]

MOST_RESULT_BYTES: Final = 64 << 20
_MAIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from mcp_offload.parsing.query_child import main; main(sys.argv[2:])"
)
_GRACE_SECONDS: Final = 2.0
_PIECE_BYTES: Final = 1 << 20
#: How often somebody who waits is told that it goes on, and may stop it.
_TELL_SECONDS: Final = 0.1
#: What is read whole into memory is at most this large.
_WHOLE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What a query may use: wall-clock seconds, and address space for a small document and each byte more."""

    seconds: float = 20.0
    memory_bytes: int = 1 << 30
    memory_per_byte: int = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a query ended: its rows as JSON lines, or what is wrong with it.

    ``note`` is what a reader of the rows has to know. ``missing``: the engine for SQL is not installed.
    """

    rows: bytes = b""
    wrong: str | None = None
    note: str | None = None
    missing: bool = False


def run_query(
    query: str,
    data_fd: int,
    size_bytes: int,
    form: Form,
    *,
    sql: bool,
    limits: QueryLimits | None = None,
    monitor: Monitor | None = None,
) -> Outcome:
    """Run a query over what ``data_fd``, an open regular file at its start, holds.

    Raises:
        OperationCancelledError: the monitor stopped it.
    """
    limits = limits or QueryLimits()
    with _started(query, data_fd, size_bytes, form, sql, limits) as process:
        # Its own timer ends it before; this one is for a system where that does not hold.
        guard = threading.Timer(limits.seconds + _GRACE_SECONDS, process.kill)
        guard.start()
        try:
            rows = _read_rows(process, monitor or SilentMonitor())
            said = process.stderr.read() if process.stderr is not None else b""
        except BaseException:
            process.kill()
            raise
        finally:
            guard.cancel()
    return _outcome(process.returncode, rows, said.decode("utf-8", "replace"), limits)


def _started(
    query: str, data_fd: int, size_bytes: int, form: Form, sql: bool, limits: QueryLimits
) -> subprocess.Popen[bytes]:
    spec = {
        "query": query,
        "form": form,
        "sql": sql,
        "seconds": limits.seconds,
        "memory_bytes": limits.memory_bytes + limits.memory_per_byte * min(size_bytes, _WHOLE_BYTES),
    }
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _MAIN, root, json.dumps(spec)],
        stdin=data_fd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        start_new_session=True,
    )


def _read_rows(process: subprocess.Popen[bytes], monitor: Monitor) -> bytes | None:
    """What it prints, or None, with the process killed, where that is more than is kept."""
    assert process.stdout is not None
    fd = process.stdout.fileno()
    poller = select.poll()
    poller.register(fd, select.POLLIN | select.POLLHUP)
    pieces: list[bytes] = []
    size = 0
    while True:
        monitor.advance(size, None, "querying")
        if not poller.poll(_TELL_SECONDS * 1_000):
            continue
        piece = os.read(fd, _PIECE_BYTES)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
        if size > MOST_RESULT_BYTES:
            process.kill()
            return None


def _outcome(status: int, rows: bytes | None, said: str, limits: QueryLimits) -> Outcome:
    if rows is None:
        return Outcome(wrong=f"It gives more than {MOST_RESULT_BYTES} bytes, which are not kept. Narrow it.")
    if status == 0:
        return Outcome(rows, note=said or None)
    if status == WRONG:
        return Outcome(wrong=said)
    if status == NO_ENGINE:
        return Outcome(missing=True)
    if status < 0:
        return Outcome(wrong=_too_long(limits))
    return Outcome(wrong="The query could not be run in the memory it may use. Narrow it.")


def _too_long(limits: QueryLimits) -> str:
    return f"The query took longer than {limits.seconds:g} s. Narrow it."
