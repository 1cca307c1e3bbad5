"""The lines of a COBOL text that hold code, without sequence numbers, comments and EXEC blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_offload.outline.scanners.positions import Positions

_VOTING_LINES: Final = 400
_AREA_A: Final = 7
_AREA_B: Final = 11
_LAST_COLUMN: Final = 72
_MAX_LINE_BYTES: Final = 1024

_FREE_DIRECTIVE: Final = re.compile(
    r"\s*(?:>>\s*SOURCE\s+(?:FORMAT\s+)?(?:IS\s+)?|\$\s*SET\s+SOURCEFORMAT\s*\(?\s*[\"']?)(FREE|FIXED)", re.I
)
_SEQUENCE: Final = re.compile(r"[0-9A-Z ]{6}", re.I)
_EXEC: Final = re.compile(r"EXEC\s+(?:SQL|CICS|DLI|HTML|JAVA|[A-Z]+)\b", re.I)
_END_EXEC: Final = re.compile(r"\bEND-EXEC\b", re.I)
_LITERAL_OR_COMMENT: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\*>.*")


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of code.

    Attributes:
        number: its line.
        first: the first of the comment lines directly above it, else ``number``.
        text: without margins, leading white space and trailing comment.
        area_a: True where an entry of the first area may begin here.
        embedded: True inside EXEC ... END-EXEC.
        free: True in free format.
    """

    number: int
    first: int
    text: str
    area_a: bool
    embedded: bool
    free: bool


def code_lines(positions: Positions) -> list[CodeLine]:
    """All lines of code in order."""
    texts = [positions.text(line)[:_MAX_LINE_BYTES] for line in range(1, len(positions) + 1)]
    decoded = [text.decode("utf-8", "replace").expandtabs(8).rstrip() for text in texts]
    if decoded:
        decoded[0] = decoded[0].removeprefix("\ufeff")
    free = _is_free(decoded[:_VOTING_LINES])
    return list(_code(decoded, free))


def _is_free(lines: list[str]) -> bool:
    votes = 0
    for line in lines:
        directive = _FREE_DIRECTIVE.match(line)
        if directive is not None:
            return directive[1].upper() == "FREE"
        if line.strip():
            votes += 1 if _votes_free(line) else -1
    return votes > 0


def _votes_free(line: str) -> bool:
    margin, indicator = line[:6], line[6:7]
    if margin.strip().isdigit() or not margin.strip():
        # Blank margin: fixed where the indicator column is empty or holds an indicator.
        return indicator not in ("", " ", "*", "-", "/", "D", "d", "$") and not margin.strip().isdigit()
    # Letters in the margin may be a change mark of fixed format, before an empty indicator column.
    return not (
        len(margin) == 6
        and _SEQUENCE.fullmatch(margin)
        and indicator in (" ", "*", "-", "/")
        and line[7:8].strip() == ""
    )


def _code(lines: list[str], free: bool) -> Iterator[CodeLine]:
    comments_from = 0
    embedded = False
    for number, line in enumerate(lines, 1):
        text, column = _free_text(line) if free else _fixed_text(line)
        if text is None:
            comments_from = comments_from or number
            continue
        if not text:
            comments_from = 0
            continue
        starts = not embedded and _EXEC.match(text) is not None
        inside = embedded or starts
        area_a = not inside and (free or _AREA_A <= column < _AREA_B)
        first = comments_from if comments_from > 1 else number
        yield CodeLine(number, first, text, area_a, inside, free)
        embedded = inside and _END_EXEC.search(text) is None
        comments_from = 0


def _free_text(line: str) -> tuple[str | None, int]:
    """The code of a line of free format and its column, None for a comment line."""
    text = line.lstrip()
    if text.startswith("*"):
        return None, 0
    if text.startswith((">>", "$")):
        return "", 0
    return _without_comment(text), len(line) - len(text)


def _fixed_text(line: str) -> tuple[str | None, int]:
    indicator = line[6:7]
    if indicator in ("*", "/"):
        return None, 0
    if indicator in ("-", "$"):
        return "", 0
    area = line[_AREA_A:_LAST_COLUMN]
    text = area.lstrip()
    if text.startswith("*>"):
        return None, 0
    return _without_comment(text), _AREA_A + len(area) - len(text)


def _without_comment(text: str) -> str:
    if "*>" not in text:
        return text
    for found in _LITERAL_OR_COMMENT.finditer(text):
        if found[0].startswith("*>"):
            return text[: found.start()].rstrip()
    return text
