"""The skeleton of C and C++ text: declarations without the insides of functions, one preprocessor branch.

The grammars cannot see through macros and conditional compilation, but nearly all of it stands where
no symbol is defined. So function bodies, initialisers and enumerators are blanked, of several
branches that do not balance the first is kept, and what remains is cleaned of macros. All offsets
stay true.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_offload.models import Span
from mcp_offload.outline.c_mask import Condition, Masked, blanked

_BRACES = re.compile(rb"[{}]")
_TEMPLATE = re.compile(rb"\btemplate\s*<")
_RECORD = re.compile(rb"\b(?:class|struct|union)\b")
_SCOPE = re.compile(rb"\bnamespace\b|\bextern\s*\"[^\"]*\"\s*\Z")
_ENUM = re.compile(rb"\benum\b")
_ASSIGNED = re.compile(rb"(?<![=!<>+\-*/%&|^])=(?!=)")
_OPERATOR = re.compile(rb"\boperator\b")
_DECORATION = re.compile(rb"\b(?:__attribute__|__declspec|alignas|decltype|[A-Z_][A-Z0-9_]{2,})\s*\(")
_HEAD_LIMIT_BYTES = 20_000
_RESTARTS = 20


class _Open(NamedTuple):
    """A brace that is open, and what it opens: a scope to look into, a record, or something to blank."""

    outer: _Open | None
    position: int
    kind: str


@dataclass(slots=True)
class _Group:
    """One ``#if`` to ``#endif``."""

    before: _Open | None
    last: int
    branch_start: int
    dead: bool
    after: _Open | None = None
    after_last: int = 0
    settled: bool = False
    incomplete: bool = False


@dataclass(slots=True)
class Sieve:
    """The walk over braces and conditions; ``text`` is blanked as it goes."""

    masked: Masked
    records_kept: bool
    text: bytearray = field(init=False)
    code: bytes = field(init=False)
    errors: list[Span] = field(default_factory=list[Span])
    _open: _Open | None = None
    _last: int = 0
    _groups: list[_Group] = field(default_factory=list[_Group])
    _skipped: int = 0

    def __post_init__(self) -> None:
        self.text = self.masked.text
        self.code = bytes(self.text)

    def run(self) -> None:
        """Blank all that hides the declarations."""
        events = self._events()
        at = 0
        for _ in range(_RESTARTS):
            for position, condition in events[at:]:
                self._event(position, condition)
            body = self._unclosed()
            if body is None:
                return
            # A brace that is never closed: the function ends where one stands in the first column.
            self.errors.append(Span(body.position, body.position + 1))
            end = self.code.find(b"\n}", body.position)
            self._open, self._groups, self._skipped = body, [], 0
            if end < 0:
                return
            at = bisect_left(events, end, key=lambda event: event[0])

    def _event(self, position: int, condition: Condition | None) -> None:
        if condition is not None:
            self._condition(condition)
        elif self._skipped:
            return
        elif self.code[position] == 0x7B:
            self._opened(position)
        else:
            self._closed(position)

    def _unclosed(self) -> _Open | None:
        """The outermost body that is still open."""
        found: _Open | None = None
        opened = self._open
        while opened is not None:
            found = opened if opened.kind == "body" else found
            opened = opened.outer
        return found

    def _events(self) -> list[tuple[int, Condition | None]]:
        events: list[tuple[int, Condition | None]] = [(m.start(), None) for m in _BRACES.finditer(self.code)]
        events.extend((condition.start, condition) for condition in self.masked.conditions)
        events.sort(key=lambda event: event[0])
        return events

    @property
    def _inside(self) -> bool:
        return self._open is not None and self._open.kind == "body"

    def _opened(self, position: int) -> None:
        if self._inside:
            self._open = _Open(self._open, position, "body")
            return
        start = max(self._last, self.code.rfind(b";", self._last, position) + 1)
        head = bytes(self.text[max(start, position - _HEAD_LIMIT_BYTES) : position])
        self._open = _Open(self._open, position, _kind_of(head))
        self._last = position + 1

    def _closed(self, position: int) -> None:
        opened = self._open
        if opened is None:
            self.errors.append(Span(position, position + 1))
            return
        self._open = opened.outer
        self._last = position + 1
        if self._inside:
            return
        if opened.kind == "body" or (opened.kind == "record" and not self.records_kept):
            self._blank_body(opened, position)

    def _blank_body(self, opened: _Open, end: int) -> None:
        inner = self.code[opened.position + 1 : end]
        if opened.kind == "record" and b"{" in inner:
            return
        if inner.count(b"(") != inner.count(b")") and not self._conditional(opened.position, end):
            self.errors.append(Span(opened.position, end))
        self.text[opened.position + 1 : end] = blanked(inner)

    def _conditional(self, start: int, end: int) -> bool:
        conditions = self.masked.conditions
        first = bisect_left(conditions, start, key=lambda condition: condition.start)
        return first < len(conditions) and conditions[first].start < end

    def _condition(self, condition: Condition) -> None:
        if condition.word.startswith(b"if"):
            if self._skipped:
                self._skipped += 1
                return
            group = _Group(self._open, self._last, condition.end, condition.never)
            self._groups.append(group)
            self._skipped = int(condition.never)
        elif self._skipped > 1:
            self._skipped -= condition.word == b"endif"
        elif self._groups:
            self._branch_ended(self._groups[-1], condition)

    def _branch_ended(self, group: _Group, condition: Condition) -> None:
        if group.dead:
            self._blank(group.branch_start, condition.start)
            group.dead = False
        elif not group.settled:
            group.settled = True
            group.after, group.after_last = self._open, self._last
            group.incomplete = self._incomplete(group, condition.start)
        elif self._skipped or group.incomplete or self._unbalanced(group, condition.start):
            self._blank(group.branch_start, condition.start)
        group.branch_start = condition.end
        if condition.word == b"endif":
            self._groups.pop()
            self._skipped = 0
            if group.settled:
                self._open, self._last = group.after, max(group.after_last, self._last_if_same(group))
            return
        self._open = group.before
        # Inside a body only the depth counts, so the other branches are not looked at.
        self._skipped = int(group.settled and self._inside)

    def _last_if_same(self, group: _Group) -> int:
        return self._last if self._open is group.after else 0

    def _unbalanced(self, group: _Group, end: int) -> bool:
        return self._open is not group.before or self._incomplete(group, end)

    def _incomplete(self, group: _Group, end: int) -> bool:
        """True where a branch outside bodies ends in the middle of a declaration."""
        if self._inside:
            return False
        start = max(self._last, group.branch_start)
        start = max(start, self.code.rfind(b";", start, end) + 1)
        return bool(self.text[start:end].strip())

    def _blank(self, start: int, end: int) -> None:
        self.text[start:end] = blanked(self.code[start:end])


def _kind_of(head: bytes) -> str:
    """What an opening brace after ``head`` opens."""
    if _SCOPE.search(head):
        return "scope"
    head = _without_template(head)
    if _OPERATOR.search(head):
        return "body"
    record = _RECORD.search(head)
    if record and head.count(b"(", 0, record.start()) != head.count(b")", 0, record.start()):
        return "body"
    if record and not _ENUM.search(head) and not _called(head[record.end() :]) and not _ASSIGNED.search(head):
        return "record"
    return "body"


def _called(rest: bytes) -> bool:
    """True where a parameter list follows: a function that returns a record, not the record itself."""
    return b"(" in _DECORATION.sub(b"", rest.partition(b":")[0] if b"::" not in rest else rest)


def _without_template(head: bytes) -> bytes:
    """The head without its ``template <...>`` prefixes."""
    while True:
        match = _TEMPLATE.search(head)
        if match is None:
            return head
        depth, position = 1, match.end()
        while depth and position < len(head):
            byte = head[position]
            depth += (byte == 0x3C) - (byte == 0x3E)
            position += 1
        head = head[: match.start()] + b" " + head[position:]
