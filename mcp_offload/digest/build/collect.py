"""What the recognisers of build output share: a failure that is still growing, and the account of a tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..family import FailureSet, Findings, clip
from ..model import Failure, Lines, Verdict

MESSAGE_LIMIT: Final = 1000
NAME_LIMIT: Final = 160
CONTEXT_LINES: Final = 80
_QUOTES: Final = re.compile("[\u2018\u2019\u201c\u201d'`\"]")


def plain(text: str) -> str:
    """Return a message as a name: without its quotation marks, on one line, of bounded length."""
    return clip(" ".join(_QUOTES.sub("", text).split()), NAME_LIMIT)


def integer(text: str | None) -> int | None:
    """Return a line or column number; None for what is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


@dataclass(slots=True)
class Draft:
    """A failure whose block is still being read."""

    name: str
    kind: str
    file: str | None
    line: int | None
    message: str
    number: int
    tool: str
    column: int | None = None
    start: int = 0
    end: int = 0
    traceback: Lines | None = None
    key: object = None

    def failure(self) -> Failure:
        """Close the draft."""
        start = min(self.start or self.number, self.number)
        return Failure(
            clip(self.name, NAME_LIMIT) or self.kind,
            self.kind,
            self.file or None,
            self.line,
            clip(self.message, MESSAGE_LIMIT),
            self.number,
            Lines(start, max(self.end, self.number)),
            self.tool,
            self.column,
            self.traceback,
        )


class Collector:
    """Collects drafts; one may be open. ``seen`` is set by anything that shows the tool at work."""

    def __init__(self) -> None:
        self.failures = FailureSet()
        self.draft: Draft | None = None
        self.tools: dict[str, None] = {}
        self.stated: list[int] = []
        self.warnings: int | None = None
        self.ended_well = False
        self.well_line = 0
        self.ended_badly = False
        self.notes: list[str] = []

    def open(self, draft: Draft, key: object = None) -> None:
        """Close the open draft, if any, and open another."""
        self.close()
        draft.key = key
        self.draft = draft
        self.tools.setdefault(draft.tool)

    def extend(self, number: int) -> None:
        """Count a line to the open draft."""
        if self.draft is not None:
            self.draft.end = max(self.draft.end, number)

    def room(self) -> int:
        """Return how many more lines the open draft may take."""
        if self.draft is None:
            return 0
        return max(0, CONTEXT_LINES - (self.draft.end or self.draft.number) + self.draft.number)

    def close(self) -> None:
        """Settle the open draft."""
        draft, self.draft = self.draft, None
        if draft is not None:
            self.failures.add(draft.failure(), draft.key)

    def well(self, number: int) -> None:
        """Note that the tool says on this line that it ended well; 0 takes that back."""
        self.ended_well = number > 0
        self.well_line = number

    def findings(self, *, good: bool | None = None) -> Findings:
        """Settle the account. A single stated number of errors is believed, several are not added up."""
        self.close()
        if not self.tools:
            return Findings()
        counted = sum(1 for item in self.failures.items if item.kind != "target") + self.failures.unlisted
        totals: dict[str, int] = {}
        if self.stated and (not counted or (len(self.stated) == 1 and self.stated[0] > counted)):
            totals["errors"] = self.stated[-1]
        elif counted or self.ended_badly or self.ended_well:
            totals["errors"] = counted
        if self.warnings is not None:
            totals["warnings"] = self.warnings
        well = self.ended_well if good is None else good
        if len(self.failures) or self.ended_badly or any(self.stated):
            verdict = Verdict.FAILED
        else:
            verdict = Verdict.PASSED if well else Verdict.UNKNOWN
        return Findings(
            tools=tuple(self.tools),
            failures=sorted(self.failures.items, key=lambda item: item.log_line),
            totals=totals,
            verdict=verdict,
            notes=self.notes,
            unlisted=self.failures.unlisted,
            verdict_line=self.well_line if verdict is Verdict.PASSED else 0,
        )
