"""Tables, as Markdown and as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ABSENT: Final = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns.

    Attributes:
        columns: their names.
        rows: cells as texts, one for each column.
        names: how many of the first columns hold names, which stand on the left; the rest are numbers.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells under {len(self.columns)} columns: {row}")

    def markdown(self) -> str:
        """As GitHub's Markdown, with a line break at the end. What would end a cell is escaped."""
        rule = ["---" if number < self.names else "---:" for number in range(len(self.columns))]
        lines = [self.columns, rule, *self.rows]
        return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)

    def text(self) -> str:
        """For a terminal: columns as wide as they must be, a line break at the end."""
        lines = [[_plain(cell) for cell in line] for line in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "".join(self._aligned(line, widths) for line in lines)

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            cell.ljust(width) if number < self.names else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip() + "\n"


def number(value: float | None, digits: int = 1) -> str:
    """A number for a cell, with thousands set apart; a dash where there is none."""
    return ABSENT if value is None else f"{value:,.{digits}f}"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    return " ".join(text.split("\n"))
