"""Linters with one line a finding in a form of their own: golangci-lint, RuboCop, hadolint and others."""

from __future__ import annotations

import re
from typing import Final

from ..family import Family, Findings, Group
from ..frames import whole
from .collect import Collector, Draft, integer

_FORMS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "golangci-lint",
        re.compile(
            r"^(?P<file>[\w./\\-]+\.go):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.*) \("
            r"(?P<name>[a-z][\w-]+)\)$"
        ),
    ),
    (
        "rubocop",
        re.compile(
            r"^(?P<file>[\w./\\-]+\.(?:rb|rake|gemspec|ru)|Gemfile|Rakefile):(?P<line>\d+):"
            r"(?P<column>\d+): [CWEF]: "
            r"(?:\[\w+\] )?(?P<name>[A-Z]\w+/[\w/]+): (?P<message>.*)$"
        ),
    ),
    (
        "hadolint",
        re.compile(
            r"^(?P<file>\S*(?:Dockerfile|Containerfile)\S*):(?P<line>\d+) (?P<name>(?:DL"
            r"|SC)\d+) error: (?P<message>.*)$"
        ),
    ),
    (
        "markdownlint",
        re.compile(
            r"^(?P<file>\S+\.(?:md|markdown)):(?P<line>\d+)(?::(?P<column>\d+))? (?:error )?"
            r"(?P<name>MD\d+)/\S+ (?P<message>.*)$"
        ),
    ),
    (
        "ktlint",
        re.compile(
            r"^(?P<file>\S+\.kts?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*) \("
            r"(?P<name>[a-z][\w-]*:[\w:-]+)\)$"
        ),
    ),
    ("prettier", re.compile(
        r"^\[(?:error|warn)\] (?P<file>\S+\.\w+)(?:: (?P<message>\w*Error: .*?))?(?: \("
        r"(?P<line>\d+):(?P<column>\d+)\))?$")),
)  # fmt: skip
_SHELLCHECK: Final = re.compile(r"^In (?P<file>\S+) line (?P<line>\d+):$")
_SHELLCHECK_ROW: Final = re.compile(
    r"^\s*\^-*\^? ?(?:-- )?(?P<name>SC\d+) \((?P<level>\w+)\): (?P<message>.*)$"
)
_COUNT: Final = re.compile(
    r"(?:inspected, (?P<offenses>\d+) offenses? detected|^(?P<issues>\d+) issues?(?::|\."
    r"|$))"
)


class Linters:
    """Each finding is a failure named by its rule."""

    def __init__(self) -> None:
        self._account = Collector()
        self._place: tuple[str, int] | None = None
        self._until = 0

    def feed(self, number: int, text: str) -> int:
        """Take a finding or a closing line."""
        for tool, form in _FORMS:
            found = form.match(text)
            if found:
                self._add(number, tool, found)
                return 0
        place = _SHELLCHECK.match(text)
        if place:
            self._place, self._until = (place["file"], whole(place["line"])), number + 6
            return 6
        row = _SHELLCHECK_ROW.match(text)
        if row and self._place is not None:
            if row["level"] == "error":
                draft = Draft(row["name"], "lint", *self._place, row["message"], number, "shellcheck")
                self._account.open(draft)
                self._account.close()
            return max(0, self._until - number)
        count = _COUNT.search(text)
        if count and self._account.tools:
            self._account.stated.append(whole(count["offenses"] or count["issues"]))
        return max(0, self._until - number)

    def _add(self, number: int, tool: str, found: re.Match[str]) -> None:
        row = found.groupdict()
        message = row.get("message") or "not formatted"
        name = row.get("name") or message
        place = (row["file"], integer(row.get("line")))
        self._account.open(Draft(name, "lint", *place, message, number, tool, integer(row.get("column"))))
        self._account.close()

    def finish(self, last: int) -> Findings:
        """Findings as stated once at the end, else as counted."""
        return self._account.findings()


FAMILY: Final = Family(
    "linters",
    Group.LINT,
    (
        r"\.go:\d+(?::\d+)?: .* \([a-z][\w-]+\)$",
        r":\d+:\d+: [CWEF]: ",
        r":\d+ (?:DL|SC)\d+ error: ",
        r"\.(?:md|markdown):\d+(?::\d+)? (?:error )?MD\d+/",
        r"\.kts?:\d+:\d+: .* \([a-z][\w-]*:[\w:-]+\)$",
        r"^\[(?:error|warn)\] \S+\.\w+",
        r"^In \S+\.sh line \d+:$",
        r"^In \S+\.bash line \d+:$",
        r"^\d+ files? inspected, ",
    ),
    Linters,
)
