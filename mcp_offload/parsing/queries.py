"""Runs a query over JSON, JSON lines, CSV or Parquet in a process of its own, bounded in time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mcp_offload.parsing.query_child import NO_ENGINE, WRONG

Form = Literal["json", "jsonl", "csv", "parquet"]

MOST_RESULT_BYTES: Final = 64 << 20
_MAIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from mcp_offload.parsing.query_child import main; main(sys.argv[2:])"
)
_GRACE_SECONDS: Final = 2.0
_PIECE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What a query may use: wall-clock seconds, and address space for a small document and each byte more."""

    seconds: float = 20.0
    memory_bytes: int = 1 << 30
    memory_per_byte: int = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a query ended: its rows as JSON lines, or what is wrong with it.

    ``missing``: the engine for SQL is not installed.
    """

    rows: bytes = b""
    wrong: str | None = None
    missing: bool = False


def run_query(
    query: str, data_fd: int, size_bytes: int, form: Form, *, sql: bool, limits: QueryLimits | None = None
) -> Outcome:
    """Run a query over what ``data_fd``, an open regular file at its start, holds."""
    limits = limits or QueryLimits()
    spec = {
        "query": query,
        "form": form,
        "sql": sql,
        "seconds": limits.seconds,
        "memory_bytes": limits.memory_bytes + limits.memory_per_byte * size_bytes,
    }
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _MAIN, root, json.dumps(spec)],
        stdin=data_fd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        start_new_session=True,
    ) as process:
        # Its own timer ends it before; this one is for a system where that does not hold.
        guard = threading.Timer(limits.seconds + _GRACE_SECONDS, process.kill)
        guard.start()
        try:
            rows = _read_rows(process)
            complaint = process.stderr.read() if process.stderr is not None else b""
        finally:
            guard.cancel()
    return _outcome(process.returncode, rows, complaint, limits)


def _read_rows(process: subprocess.Popen[bytes]) -> bytes | None:
    """What it prints, or None, with the process killed, where that is more than is kept."""
    assert process.stdout is not None
    pieces: list[bytes] = []
    size = 0
    while piece := process.stdout.read(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_RESULT_BYTES:
            process.kill()
            return None
    return b"".join(pieces)


def _outcome(status: int, rows: bytes | None, complaint: bytes, limits: QueryLimits) -> Outcome:
    if rows is None:
        return Outcome(wrong=f"It gives more than {MOST_RESULT_BYTES} bytes, which are not kept. Narrow it.")
    if status == 0:
        return Outcome(rows)
    if status == WRONG:
        return Outcome(wrong=complaint.decode("utf-8", "replace"))
    if status == NO_ENGINE:
        return Outcome(missing=True)
    if status < 0:
        return Outcome(wrong=_too_long(limits))
    return Outcome(wrong="The query could not be run in the memory it may use. Narrow it.")


def _too_long(limits: QueryLimits) -> str:
    return f"The query took longer than {limits.seconds:g} s. Narrow it."
