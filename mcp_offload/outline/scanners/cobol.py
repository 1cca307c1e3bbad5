"""COBOL: programs, divisions, sections, paragraphs, data items and copy statements.

Reads fixed and free format, and copybooks without any division. Data items nest by level number, files
(FD, SD) hold their records, EXEC blocks are passed over. An entry ends before the next one of its rank or
a higher one; comment lines directly above an entry belong to it, except those at the top of the file.
Source: ISO/IEC 1989, and the reference format of IBM Enterprise COBOL.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_offload.models import Span, Symbol
from mcp_offload.outline.scanners.bounds import MAX_SYMBOLS, clean_text
from mcp_offload.outline.scanners.cobol_lines import CodeLine, code_lines
from mcp_offload.outline.scanners.positions import Positions

_WORD: Final = r"[^\W_][\w-]*"
_DIVISION: Final = re.compile(r"(IDENTIFICATION|ID|ENVIRONMENT|DATA|PROCEDURE)\s+DIVISION\b", re.I)
_SECTION: Final = re.compile(rf"({_WORD})\s+SECTION(?:\s+\d+)?\s*(?:\.|$)", re.I)
_PROGRAM: Final = re.compile(
    rf"(PROGRAM|FUNCTION|CLASS|INTERFACE|METHOD)-ID\s*\.?\s*(?:[\"']([^\"']+)[\"']|({_WORD}))", re.I
)
_END_PROGRAM: Final = re.compile(
    rf"END\s+(?:PROGRAM|FUNCTION|CLASS|INTERFACE|METHOD)\s+[\"']?({_WORD})", re.I
)
_LEVEL: Final = re.compile(rf"(\d\d?)(?:\s+({_WORD}))?(?=[\s.]|$)", re.I)
_FILE: Final = re.compile(rf"(FD|SD|RD|CD)\s+({_WORD})", re.I)
_COPY: Final = re.compile(rf"COPY\s+(?:[\"']([^\"']+)[\"']|({_WORD}))", re.I)
_PARAGRAPH: Final = re.compile(rf"({_WORD})\s*\.(?:\s|$)", re.I)
_NOT_PARAGRAPHS: Final = frozenset(
    [
        "EXIT",
        "GOBACK",
        "CONTINUE",
        "STOP",
        "ELSE",
        "DECLARATIVES",
        "EJECT",
        "SKIP1",
        "SKIP2",
        "SKIP3",
        "TITLE",
    ]
)
_CLAUSE_WORDS: Final = frozenset(
    ["PIC", "PICTURE", "VALUE", "USAGE", "OCCURS", "REDEFINES", "COMP", "BINARY"]
)

_MAX_PROGRAMS: Final = 16

_PROGRAM_RANK: Final = 0
_DIVISION_RANK: Final = 1
_SECTION_RANK: Final = 2
_PARAGRAPH_RANK: Final = 3
_FILE_RANK: Final = 3
_LEVEL_RANK: Final = 10


class _Entry:
    """An entry whose end is not known yet; ``name`` None for what has no name of its own."""

    __slots__ = ("children", "data", "header", "kind", "line", "name", "path", "rank", "start_line")

    def __init__(self, rank: int, kind: str, name: str | None, line: int, start_line: int) -> None:
        self.rank = rank
        self.kind = kind
        self.name = None if name is None else clean_text(name)
        self.path: tuple[str, ...] = ()
        self.line = line
        self.header = line
        self.start_line = start_line
        self.children = False
        self.data = rank >= _LEVEL_RANK or kind in ("file", "sort file")


def scan(view: bytes) -> list[Symbol]:
    """Symbols of a COBOL program or copybook."""
    return _Scanner(view).scan()


class _Scanner:
    def __init__(self, view: bytes) -> None:
        self._positions = Positions(view)
        self._stack: list[_Entry] = []
        self._symbols: list[Symbol] = []
        self._division: str | None = None
        self._last_code = 0
        self._last_data = 0
        self._program_line = 0
        self._sentence_ended = True
        self._ended_programs: set[str] = set()

    def scan(self) -> list[Symbol]:
        lines = code_lines(self._positions)
        self._ended_programs = {
            found[1].upper() for line in lines if (found := _END_PROGRAM.match(line.text)) is not None
        }
        for line in lines:
            if not line.embedded:
                self._read(line)
            self._last_code = line.number
            if not line.embedded and _COPY.match(line.text) is None:
                self._last_data = line.number
            self._sentence_ended = line.embedded or line.text.rstrip().endswith(".")
        self._close(_PROGRAM_RANK)
        return self._symbols[:MAX_SYMBOLS]

    def _read(self, line: CodeLine) -> None:
        text = line.text
        if (found := _COPY.match(text)) is not None:
            self._copy(line, found[1] or found[2])
        elif not (line.area_a and self._structure(line)) and not self._data(line) and line.area_a:
            self._paragraph(line)

    def _structure(self, line: CodeLine) -> bool:
        """Divisions, program names, ends of programs, sections."""
        text = line.text
        if (found := _DIVISION.match(text)) is not None:
            self._open_division(line, found[1].upper())
        elif (found := _PROGRAM.match(text)) is not None and self._division in (None, "IDENTIFICATION"):
            self._open_program(line, found[1].lower(), found[2] or found[3])
        elif (found := _END_PROGRAM.match(text)) is not None:
            self._end_program(line, found[1].upper())
        elif (found := _SECTION.match(text)) is not None:
            name = found[1].upper() if self._division in ("DATA", "ENVIRONMENT") else found[1]
            self._open(_Entry(_SECTION_RANK, "section", name, line.number, line.first))
        else:
            return False
        return True

    def _open_division(self, line: CodeLine, name: str) -> None:
        if name in ("IDENTIFICATION", "ID"):
            self._division = "IDENTIFICATION"
            self._program_line = line.first
            self._close(_DIVISION_RANK)
            self._leave_unended_programs()
            return
        self._division = name
        self._open(_Entry(_DIVISION_RANK, "division", f"{name}-DIVISION", line.number, line.first))

    def _leave_unended_programs(self) -> None:
        """A program without END PROGRAM ends where the next one begins; one with it contains the next."""
        while self._stack and (self._stack[-1].name or "").upper() not in self._ended_programs:
            self._finish(self._stack.pop())

    def _open_program(self, line: CodeLine, word: str, name: str) -> None:
        if not self._program_line:
            self._close(_DIVISION_RANK)
            self._leave_unended_programs()
        while len(self._stack) >= _MAX_PROGRAMS:
            self._finish(self._stack.pop())
        start = self._program_line or line.first
        self._program_line = 0
        self._division = "IDENTIFICATION"
        entry = _Entry(_PROGRAM_RANK, word, name, line.number, start)
        entry.path = (*self._path(), entry.name or "")
        self._stack.append(entry)

    def _end_program(self, line: CodeLine, name: str) -> None:
        self._close(_DIVISION_RANK)
        names = [(entry.name or "").upper() for entry in self._stack]
        if name in names:
            self._last_code = line.number
            while (self._stack[-1].name or "").upper() != name:
                self._finish(self._stack.pop())
            self._finish(self._stack.pop())
        self._division = None

    def _data(self, line: CodeLine) -> bool:
        if self._division not in (None, "DATA"):
            return False
        if (found := _FILE.match(line.text)) is not None and line.area_a:
            kind = "sort file" if found[1].upper() == "SD" else "file"
            self._open(_Entry(_FILE_RANK, kind, found[2], line.number, line.first))
            return True
        found = _LEVEL.match(line.text)
        if found is None or not self._sentence_ended:
            return False
        level = int(found[1])
        if not (1 <= level <= 49 or level in (66, 77, 78, 88)):
            return False
        self._open_item(line, level, found[2])
        return True

    def _open_item(self, line: CodeLine, level: int, name: str | None) -> None:
        if name is not None and (name.upper() == "FILLER" or name.upper() in _CLAUSE_WORDS):
            name = None
        kind = {66: "renames", 78: "constant", 88: "condition"}.get(level, "data item")
        rank = _LEVEL_RANK + {66: 2, 77: 1, 78: 1, 88: 88}.get(level, level)
        entry = _Entry(rank, kind, name, line.number, line.first)
        if level != 88:
            for parent in reversed(self._stack):
                if parent.rank < rank:
                    parent.children = True
                    break
        self._open(entry)

    def _paragraph(self, line: CodeLine) -> None:
        found = _PARAGRAPH.match(line.text)
        if (
            self._division not in (None, "PROCEDURE")
            or found is None
            or (line.free and not self._sentence_ended)
        ):
            return
        word = found[1].upper()
        if word in _NOT_PARAGRAPHS or word.startswith("END-") or word.isdigit():
            return
        self._open(_Entry(_PARAGRAPH_RANK, "paragraph", found[1], line.number, line.first))

    def _copy(self, line: CodeLine, name: str) -> None:
        names = self._path() if self._division == "PROCEDURE" else self._program_path()
        path = (*names, f"<copy:{clean_text(name)}>")
        self._symbols.append(self._positions.of_lines(path, "copy", line.number, line.number))

    def _open(self, entry: _Entry) -> None:
        self._close(entry.rank)
        entry.path = (*self._path(), entry.name or "")
        self._stack.append(entry)

    def _path(self) -> tuple[str, ...]:
        """Names of the open entries; divisions and sections of data are left out."""
        names: list[str] = []
        for entry in self._stack:
            if entry.name is None or entry.kind == "division":
                continue
            if entry.kind == "section" and self._division != "PROCEDURE":
                continue
            names.append(entry.name)
        return tuple(names)

    def _program_path(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self._stack if entry.name and entry.rank == _PROGRAM_RANK)

    def _close(self, rank: int) -> None:
        """Close what is open at ``rank`` and below it; programs stay open but at the very end."""
        while self._stack and self._stack[-1].rank >= rank:
            self._finish(self._stack.pop())

    def _finish(self, entry: _Entry) -> None:
        if entry.name is None:
            return
        last = max(entry.line, self._last_data if entry.data else self._last_code)
        kind = "group item" if entry.kind == "data item" and entry.children else entry.kind
        symbol = self._positions.of_lines(entry.path, kind, entry.start_line, last)
        positions = self._positions
        self._symbols.append(
            positions.symbol(
                entry.path,
                kind,
                symbol.span,
                sig=Span(positions.start_of(entry.header), positions.end_of(entry.header)),
                doc=_doc(positions, entry),
                body=_body(positions, entry, last),
            )
        )


def _doc(positions: Positions, entry: _Entry) -> Span | None:
    if entry.start_line >= entry.line or entry.rank == _PROGRAM_RANK:
        return None
    return Span(positions.start_of(entry.start_line), positions.end_of(entry.line - 1))


def _body(positions: Positions, entry: _Entry, last: int) -> Span | None:
    if last <= entry.header or entry.data:
        return None
    return Span(positions.start_of(entry.header + 1), positions.end_of(last))
