"""The worker process: reads texts from its standard input and answers with outlines until that ends.

It limits itself, so that it cannot outlive a parent that was killed: the timer ends it by signal even
while C code runs, and the end of its input ends it when idle.
"""

from __future__ import annotations

import os
import resource
import signal
import stat
import sys
import time
from dataclasses import replace
from typing import BinaryIO

from mcp_offload.outline import OUT_OF_TIME, outline
from mcp_offload.outline.codec import encode
from mcp_offload.parsing.protocol import REQUEST_PREFIX, STOPPED, Header, answer, header_of


def main(grammar_cache: str | None) -> None:
    """Serve until the input ends. ``grammar_cache`` is the folder of the extra languages, if any."""
    # The answers keep their pipe; whatever else writes to standard output ends up on standard error.
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    extra = grammar_cache is not None and _private(grammar_cache)
    while serve_one(source, sink, extra=extra):
        pass


def serve_one(source: BinaryIO, sink: BinaryIO, *, extra: bool) -> bool:
    """Answer one request; False where there is none left."""
    prefix = source.read(REQUEST_PREFIX.size)
    if len(prefix) < REQUEST_PREFIX.size:
        return False
    header_bytes, view_bytes = REQUEST_PREFIX.unpack(prefix)
    header = header_of(source.read(header_bytes))
    view = source.read(view_bytes)
    if len(view) < view_bytes:
        return False
    payload = memoryview(answer(_outlined(header, view, extra=extra)))
    while payload:
        payload = payload[sink.write(payload) :]
    return True


def _outlined(header: Header, view: bytes, *, extra: bool) -> bytes:
    _limit_memory(header.address_space_bytes)
    deadline = time.monotonic() + header.soft_seconds
    signal.setitimer(signal.ITIMER_REAL, header.hard_seconds)
    try:
        result = outline(
            view,
            header.language,
            header.name,
            stop=lambda: time.monotonic() > deadline,
            extra_languages=extra,
        )
        if result.reason == OUT_OF_TIME:
            result = replace(result, reason=STOPPED.format(header.soft_seconds))
        return encode(result)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _private(folder: str) -> bool:
    """True for a folder of ours that nobody else can write to: compiled code is loaded from it."""
    try:
        found = os.stat(folder, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _limit_memory(size_bytes: int) -> None:
    _, ceiling = resource.getrlimit(resource.RLIMIT_AS)
    if ceiling != resource.RLIM_INFINITY:
        size_bytes = min(size_bytes, ceiling)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size_bytes, ceiling))
    except (ValueError, OSError) as exc:  # not every system lets itself be limited; the timer still holds
        sys.stderr.write(f"mcp-offload: the parser's memory is not limited: {exc}\n")
