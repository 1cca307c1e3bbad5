"""Markdown by headings: a section reaches to the next heading of its level or a higher one.

ATX and setext headings; fenced code, HTML comments and front matter hold no headings. The title, a first
heading above all others, is not part of their paths. ``sig`` is the heading, ``body`` the text under it.
Source: CommonMark 0.31.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS, clean_name
from mcp_offload.outline.scanners.positions import Positions

_ATX: Final = re.compile(rb" {0,3}(#{1,6})(?=[ \t\r]|\Z)")
_CLOSING: Final = re.compile(rb"(?:\A|[ \t])#+\Z")
_SETEXT: Final = re.compile(rb" {0,3}(?:=+|-+)[ \t\r]*\Z")
_FENCE: Final = re.compile(rb" {0,3}(?:>[ \t]?)*(`{3,}|~{3,})([^\n]*)")
_NOT_PARAGRAPH: Final = re.compile(rb"[ \t\r]*\Z| {4}|\t| {0,3}(?:[#>|]|[-*+][ \t]|\d+[.)][ \t])")
_LINK: Final = re.compile(rb"!?\[([^\]\n]*)\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_MARKUP: Final = re.compile(rb"[*`]|<[^>\n]{1,200}>|(?<!\w)_|_(?!\w)|\{#[^}\n]*\}\s*\Z")
_MAX_HEADING_BYTES: Final = 1000


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    name: str
    line: int
    last_line: int


def scan(view: bytes) -> list[Symbol]:
    """Symbols of the sections, outer before inner."""
    positions = Positions(view)
    headings, first = _headings(positions)
    symbols: list[Symbol] = []
    if first > 1:
        symbols.append(positions.of_lines(("<front-matter>",), "front matter", 1, first - 1))
    ends = _ends(headings, len(positions))
    title = _title(headings)
    path: list[_Heading] = []
    for heading, end in zip(headings[:MAX_SYMBOLS], ends, strict=False):
        while path and (path[-1].level >= heading.level or path[-1] is title):
            path.pop()
        path.append(heading)
        symbols.append(_section(positions, tuple(part.name for part in path), heading, end))
    return symbols


def _title(headings: list[_Heading]) -> _Heading | None:
    """The one heading above all others; it would only lengthen their names."""
    if len(headings) < 2 or min(heading.level for heading in headings[1:]) <= headings[0].level:
        return None
    return headings[0]


def _section(positions: Positions, path: tuple[str, ...], heading: _Heading, end: int) -> Symbol:
    while end > heading.last_line and not positions.text(end).strip():
        end -= 1
    start = positions.start_of(heading.line)
    below = positions.start_of(heading.last_line + 1)
    stop = positions.end_of(end)
    return positions.symbol(
        path,
        "section",
        Span(start, stop),
        sig=Span(start, positions.end_of(heading.last_line)),
        body=Span(below, stop) if below < stop else None,
    )


def _ends(headings: list[_Heading], lines: int) -> list[int]:
    """The last line of each section, before blank lines are trimmed."""
    ends = [lines] * len(headings)
    open_sections: list[int] = []
    for index, heading in enumerate(headings):
        while open_sections and headings[open_sections[-1]].level >= heading.level:
            ends[open_sections.pop()] = heading.line - 1
        open_sections.append(index)
    return ends


def _headings(positions: Positions) -> tuple[list[_Heading], int]:
    """All headings, and the first line behind the front matter."""
    first = _after_front_matter(positions)
    headings: list[_Heading] = []
    fence: bytes | None = None
    comment = False
    paragraph = 0
    for number in range(first, len(positions) + 1):
        line = positions.text(number)[:_MAX_HEADING_BYTES]
        if fence is not None:
            fence = None if _closes(line, fence) else fence
            continue
        if comment or line.lstrip().startswith(b"<!--"):
            comment = b"-->" not in positions.text(number)
            continue
        opened = _opened_fence(line)
        if opened is not None:
            fence, paragraph = opened, 0
        elif (found := _ATX.match(line)) is not None:
            headings.append(
                _Heading(len(found[1]), _name(_CLOSING.sub(b"", line[found.end() :].strip())), number, number)
            )
            paragraph = 0
        elif paragraph and _SETEXT.match(line):
            text = b" ".join(positions.text(above).strip() for above in range(paragraph, number)[-3:])
            headings.append(_Heading(1 if b"=" in line else 2, _name(text), paragraph, number))
            paragraph = 0
        elif _NOT_PARAGRAPH.match(line):
            paragraph = 0
        else:
            paragraph = paragraph or number
    return headings, first


def _opened_fence(line: bytes) -> bytes | None:
    found = _FENCE.match(line)
    if found is None or (found[1][:1] == b"`" and b"`" in found[2]):
        return None
    return found[1]


def _closes(line: bytes, fence: bytes) -> bool:
    text = line.strip().lstrip(b"> ")
    return len(text) >= len(fence) and not text.strip(fence[:1])


def _after_front_matter(positions: Positions) -> int:
    opening = positions.text(1).strip().removeprefix(b"\xef\xbb\xbf") if positions.size_bytes else b""
    if opening not in (b"---", b"+++"):
        return 1
    for number in range(2, min(len(positions), 400) + 1):
        if positions.text(number).strip() == opening:
            return number + 1
    return 1


def _name(raw: bytes) -> str:
    text = _LINK.sub(rb"\1", raw)
    return clean_name(_MARKUP.sub(b"", text))
