"""The worker process: reads texts from its standard input and answers until that ends.

It limits itself, so that it cannot outlive a parent that was killed: the timer ends it by signal even
while C code runs, and the end of its input ends it when idle.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO

from mcp_offload.models import Outline, Symbol
from mcp_offload.outline import OUT_OF_TIME, outline
from mcp_offload.outline.codec import encode
from mcp_offload.parsing.protocol import REQUEST_PREFIX, STOPPED, Header, answer, header_of
from mcp_offload.tokens import LARGE_BYTES, TokenCounter

_COUNTER = TokenCounter()


def main(grammar_cache: str | None) -> None:
    """Serve until the input ends. ``grammar_cache`` is the folder of the extra languages, if any."""
    # The answers keep their pipe; whatever else writes to standard output ends up on standard error.
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    extra = grammar_cache is not None and _private(grammar_cache)
    # Whatever is asked first needs the vocabulary, and whoever starts the process early does it for that.
    _COUNTER.count("a")
    while serve_one(source, sink, extra=extra):
        pass


def serve_one(source: BinaryIO, sink: BinaryIO, *, extra: bool) -> bool:
    """Answer one request; False where there is none left."""
    prefix = source.read(REQUEST_PREFIX.size)
    if len(prefix) < REQUEST_PREFIX.size:
        return False
    header_bytes, text_bytes = REQUEST_PREFIX.unpack(prefix)
    header = header_of(source.read(header_bytes))
    text = source.read(text_bytes)
    if len(text) < text_bytes:
        return False
    payload = memoryview(answer(_done(header, text, extra=extra)))
    while payload:
        payload = payload[sink.write(payload) :]
    return True


def _done(header: Header, text: bytes, *, extra: bool) -> bytes:
    """Do what the header says, within its limits."""
    _limit_memory(header.address_space_bytes)
    signal.setitimer(signal.ITIMER_REAL, header.hard_seconds)
    try:
        if header.task == "outline":
            return encode(_outlined(header, text, extra=extra))
        done = _counted(header, text) if header.task == "count" else _fitted(header, text)
        return json.dumps(done).encode("ascii")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _outlined(header: Header, view: bytes, *, extra: bool) -> Outline:
    deadline = time.monotonic() + header.soft_seconds

    def late() -> bool:
        return time.monotonic() > deadline

    found = outline(view, header.language, header.name, stop=late, extra_languages=extra)
    if found.reason == OUT_OF_TIME:
        found = replace(found, reason=STOPPED.format(header.soft_seconds))
    tokens = _COUNTER.count(view) if len(view) <= LARGE_BYTES and not late() else None
    return replace(found, symbols=tuple(_with_tokens(s, view, late) for s in found.symbols), tokens=tokens)


def _with_tokens(symbol: Symbol, view: bytes, late: Callable[[], bool]) -> Symbol:
    """The symbol with its tokens, or without where time is up: whoever asked has to count it then."""
    if late():
        return symbol
    return replace(symbol, tokens=_COUNTER.count(view[symbol.span.start_byte : symbol.span.end_byte]))


def _counted(header: Header, texts: bytes) -> list[int]:
    counts: list[int] = []
    at = 0
    for size in header.sizes:
        counts.append(_COUNTER.count(texts[at : at + size]))
        at += size
    return counts


def _fitted(header: Header, text: bytes) -> list[int]:
    shown = text.decode("utf-8")
    length = _COUNTER.fit(shown, header.max_tokens)
    return [length, _COUNTER.count(shown[:length])]


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
