"""Failure blocks that stand under a running number: what RSpec, Minitest, PHPUnit and ExUnit share."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..family import MAX_FAILURES
from ..frames import Frame, choose
from ..model import Failure, Lines


@dataclass(slots=True)
class Item:
    """One numbered block."""

    name: str
    start: int
    kind: str = "failed"
    end: int = 0
    file: str | None = None
    line: int | None = None
    message: str = ""
    at: int = 0
    parts: int = 0
    stack: list[Frame] = field(default_factory=list[Frame])
    trace: int = 0

    def say(self, number: int, text: str, parts: int = 3) -> None:
        """Take up to ``parts`` lines as the message."""
        if self.parts < parts and text:
            self.message = f"{self.message} {text}".strip()[:500]
            self.at = self.at or number
            self.parts += 1

    def frame(self, number: int, file: str, line: int, function: str = "") -> None:
        """Take a frame of its stack."""
        self.trace = self.trace or number
        if len(self.stack) < 100:
            self.stack.append(Frame(file, line, function))

    def failure(self, tool: str) -> Failure:
        """The finished failure, at the first frame of the project's own code."""
        chosen = choose(self.stack)
        file, line = (chosen.file, chosen.line) if chosen else (self.file, self.line)
        end = max(self.start, self.end)
        trace = Lines(self.trace, end) if self.trace else None
        message = self.message or self.name
        block = Lines(self.start, end)
        return Failure(
            self.name, self.kind, file, line, message, self.at or self.start, block, tool, traceback=trace
        )


class Items:
    """The blocks of one log, at most MAX_FAILURES of them."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self.open: Item | None = None
        self.unlisted = 0

    def begin(self, name: str, number: int, kind: str = "failed") -> Item:
        """Open a block."""
        self.open = Item(name, number, kind, number)
        if len(self.all) < MAX_FAILURES:
            self.all.append(self.open)
        else:
            self.unlisted += 1
        return self.open
