"""What is said of a log that no family recognises: error-like lines by template, first and last lines."""

from __future__ import annotations

import re
from typing import Final

from .family import Family, Findings, Group, clip
from .lines import Peeler
from .model import Excerpt, Template

_MAX_TEMPLATES: Final = 2000
_SHOWN_TEMPLATES: Final = 40
_HEAD_LINES: Final = 4
_TAIL_LINES: Final = 12
_TAIL_BYTES: Final = 1 << 16

# Words that mark a line as error-like, as whole words: not parts of file names, options or identifiers.
TRIGGERS: Final = (
    r"(?:^|[^\w.\-/'\"=])(?:ERROR|Error|error|errors|FATAL|Fatal|fatal|CRITICAL|PANIC|panic)(?::|! |\] | - )",
    r"^(?:ERROR|Error|error|FATAL|Fatal|fatal|FAIL|FAILED|Failed|failed) ",
    r"(?:^|[^\w.\-/'\"=])(?:FAIL|FAILED|FAILURE|Failed|failed|Failure)(?: ?: |! |:$)",
    r"[\s(:](?:FAILED|FAILURE)$",
    r"[A-Z][A-Za-z]{2,60}(?:Error|Exception): ",
    r"(?i:segmentation fault|core dumped|out of memory|no space left on device|permission denied"
    r"|command not found|could not (?:be found|find|open|resolve|connect|read|write)"
    r"|unable to (?:find|open|resolve|connect|read|write|load|create|access)|timed out after"
    r"|access denied|connection refused|no such file or directory)",
)
# Lines that speak of errors but say there are none, or only count them.
_NEGATED: Final = re.compile(
    r"(?i)\b(?:0|no|zero|without(?: any)?) (?:errors?|failures?|failed)\b"
    r"|\berrors?[:=] ?0\b|\bfail(?:ed|ures?)?[:=] ?0\b"
)
_MASK: Final = re.compile(
    r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\d+(?:[.,:]\d+)*"
)


def mask(text: str) -> str:
    """The template of a line: numbers, times and hashes replaced."""
    return _MASK.sub("#", text[:400])


class Generic:
    """Collects error-like lines by template; remembers the head and the tail of the log."""

    def __init__(self) -> None:
        self._templates: dict[str, tuple[str, int, int]] = {}
        self._unlisted = 0
        self._head: list[str] = []
        self._tail = b""
        self._peeler = Peeler()
        self.last_hit = 0
        self._count = 0

    def feed(self, number: int, text: str) -> int:
        """Count an error-like line."""
        if _NEGATED.search(text[:2000]):
            return 0
        self.last_hit = number
        self._count += 1
        key = mask(text)
        known = self._templates.get(key)
        if known is not None:
            self._templates[key] = (known[0], known[1] + 1, known[2])
        elif len(self._templates) < _MAX_TEMPLATES:
            self._templates[key] = (clip(text.strip(), 240), 1, number)
        else:
            self._unlisted += 1
        return 0

    def finish(self, last: int) -> Findings:
        """Nothing: what this recogniser has to say is its excerpt."""
        return Findings()

    def see(self, data: bytes) -> None:
        """Remember the first and last lines of the whole lines given."""
        if len(self._head) < _HEAD_LINES:
            lines = data[:_TAIL_BYTES].split(b"\n", _HEAD_LINES * 4)
            texts = (clip(self._peeler.peel(line), 160) for line in lines[: _HEAD_LINES * 4])
            self._head += [text for text in texts if text.strip()][: _HEAD_LINES - len(self._head)]
        if len(data) >= _TAIL_BYTES:
            self._tail = data[len(data) - _TAIL_BYTES :]
        else:
            self._tail = (self._tail + data)[-_TAIL_BYTES:]

    def excerpt(self) -> Excerpt:
        """Templates, rare ones first among late ones: what happens once near the end matters most."""
        rows = sorted(self._templates.values(), key=lambda row: (row[1] > 20, -row[2]))
        shown = tuple(Template(*row) for row in rows[:_SHOWN_TEMPLATES])
        lines = self._tail.rstrip(b"\n").split(b"\n")[-_TAIL_LINES:]
        tail = tuple(clip(self._peeler.peel(line), 200) for line in lines)
        rest = self._count - sum(template.count for template in shown)
        return Excerpt(shown, rest, tuple(self._head), tail)


FAMILY = Family("generic", Group.CI, TRIGGERS, Generic)
