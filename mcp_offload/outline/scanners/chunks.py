"""Handles for text without a parser: pieces of about 40 lines, cut where the text itself pauses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.positions import Positions

CHUNK_LINES: Final = 40
MAX_CHUNKS: Final = 1000
# A piece of very long lines is cut by bytes: about what forty ordinary lines have.
CHUNK_BYTES: Final = 8 * 1024
_MAX_BYTES: Final = 4 * CHUNK_BYTES
_MIN_LINES: Final = 8

_WORD: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_LETTERS: Final = re.compile(rb"[A-Za-z]{2}")
_NAME_CHARS: Final = 24
_NAME_WORDS: Final = 3
_BLANK: Final = b" \t\r\f\v\n"


def chunks(view: bytes) -> list[Symbol]:
    """Cut any text into at most about a thousand symbols of kind ``chunk``.

    Cuts fall before a line that is not indented and follows a blank one, where there is such a line in
    the second half of a piece, else before any line that is not indented, else after 40 lines. A chunk
    is named by its first words, or by its first line where those are not unique or say nothing.
    """
    lines = Positions(view)
    pieces = list(_pieces(lines))
    words = [_first_words(view, piece) for piece in pieces]
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    named: list[Symbol] = []
    for piece, word in zip(pieces, words, strict=True):
        name = word if word and counts[word] == 1 else _place(lines, piece)
        named.append(lines.symbol((f"<chunk:{name}>",), "chunk", piece))
    return named


def _place(lines: Positions, piece: Span) -> str:
    line = lines.line_of(piece.start_byte)
    return f"L{line}" if lines.start_of(line) == piece.start_byte else f"B{piece.start_byte}"


def _pieces(lines: Positions) -> Iterator[Span]:
    target = max(CHUNK_LINES, -(-len(lines) // MAX_CHUNKS))
    most_bytes = max(_MAX_BYTES, -(-lines.size_bytes // MAX_CHUNKS))
    first = _skip_blank(lines, 1)
    while first <= len(lines):
        last = _last_line(lines, first, target, most_bytes)
        start, end = lines.start_of(first), lines.end_of(_trim_blank(lines, first, last))
        yield from _by_bytes(lines.view, start, end, most_bytes)
        first = _skip_blank(lines, last + 1)


def _last_line(lines: Positions, first: int, target: int, most_bytes: int) -> int:
    """The last line of the piece that starts at ``first``: the best pause near the target."""
    limit = min(len(lines), first + target + target // 2 - 1)
    byte_limit = lines.start_of(first) + most_bytes
    while limit > first and lines.end_of(limit) > byte_limit:
        limit = max(first, lines.line_of(byte_limit) - 1) if lines.line_of(byte_limit) <= limit else limit - 1
    if limit == len(lines):
        return limit
    earliest = first + max(_MIN_LINES, target // 2)
    fallback = 0
    for line in range(limit, earliest - 1, -1):
        rank = _pause(lines, line + 1)
        if rank == 2:
            return line
        if rank == 1 and not fallback:
            fallback = line
    return fallback or min(limit, first + target - 1)


def _pause(lines: Positions, line: int) -> int:
    """2 where ``line`` starts afresh after a blank line, 1 where it is not indented, 0 inside a block."""
    head = lines.view[lines.start_of(line) : lines.start_of(line) + 1]
    if not head or head in _BLANK or head in b"})]":
        return 0
    return 2 if not lines.text(line - 1).strip() else 1


def _skip_blank(lines: Positions, line: int) -> int:
    while line <= len(lines) and _is_blank(lines, line):
        line += 1
    return line


def _trim_blank(lines: Positions, first: int, last: int) -> int:
    while last > first and _is_blank(lines, last):
        last -= 1
    return last


def _is_blank(lines: Positions, line: int) -> bool:
    start, end = lines.start_of(line), lines.end_of(line)
    return end <= start or not lines.view[start:end].strip()


def _by_bytes(view: bytes, start: int, end: int, most_bytes: int) -> Iterator[Span]:
    """``start`` to ``end``, in pieces of ``most_bytes`` that do not cut a UTF-8 character."""
    while end - start > most_bytes:
        cut = start + most_bytes
        while cut > start + 1 and 0x80 <= view[cut] < 0xC0:
            cut -= 1
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


def _first_words(view: bytes, piece: Span) -> str:
    """Up to three words from the first line with letters, joined by hyphens; empty where there are none."""
    for line in view[piece.start_byte : min(piece.end_byte, piece.start_byte + 512)].split(b"\n")[:8]:
        words = [word.decode("ascii") for word in _WORD.findall(line[:160])]
        if not _LETTERS.search(line[:160]) or not words:
            continue
        name = "-".join(words[:_NAME_WORDS])[:_NAME_CHARS].rstrip("-")
        return "" if re.fullmatch(r"L\d+|B\d+", name) else name
    return ""
