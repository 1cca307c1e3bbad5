"""pytest's short test summary and closing counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..family import Findings
from .pytest_block import Draft

# Source: pytest's TerminalReporter: summary_stats(), build_summary_stats_line(); 3.x to 9.x wording.
_COUNT: Final = (
    r"\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|error|warnings?|reruns?|retried|flaky"
    r"|subtests? (?:passed|failed|skipped)|pytest-warnings?|snapshots? \w+|seconds)"
)
SUMMARY: Final = re.compile(
    rf"^(?:=+ )?(?P<counts>no tests (?:ran|collected)(?:, )?|)(?P<more>{_COUNT}(?:, {_COUNT})*)?"
    r" in (?P<seconds>\d+(?:\.\d+)?)s?(?: seconds)?(?: \([\d:, day]+\))?(?: =+)?$"
)
_PAIR: Final = re.compile(r"(\d+) ([a-z][a-z -]*[a-z])")
_KEYS: Final = {
    "error": "errors",
    "warning": "warnings",
    "pytest-warnings": "warnings",
    "rerun": "reruns",
    "subtest passed": "subtests passed",
    "subtests failed": "failed",
}
RECAP: Final = re.compile(r"^(?P<status>FAILED|ERROR|SUBFAIL(?:ED)?(?:\S*| [\[(].*?[\])])?) (?:\[[\d.]+s\] )?(?P<rest>\S.*)$")


class Summary(NamedTuple):
    """The closing line of a run."""

    totals: dict[str, int]
    seconds: float
    line: int
    empty: bool

    @property
    def bad(self) -> int:
        """How many failures and errors it states."""
        return self.totals.get("failed", 0) + self.totals.get("errors", 0)


class Recap(NamedTuple):
    """One line of the short test summary."""

    status: str
    text: str
    line: int


def parse_summary(text: str, number: int) -> Summary | None:
    """Read a closing line, or None."""
    found = SUMMARY.match(text)
    if not found or not (found["counts"] or found["more"]):
        return None
    totals = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
    for count, word in _PAIR.findall(found["more"] or ""):
        key = _KEYS.get(word, word)
        totals[key] = totals.get(key, 0) + int(count)
    return Summary(totals, float(found["seconds"]), number, bool(found["counts"]))


def header_form(nodeid: str) -> str:
    """A node id as block headers print it: ``path::A::b[p]`` is ``A.b[p]``."""
    bracket = nodeid.find("[")
    plain, params = (nodeid, "") if bracket < 0 else (nodeid[:bracket], nodeid[bracket:])
    return ".".join(plain.split("::")[1:]) + params


def split_recap(rest: str, names: Sequence[str] | set[str]) -> tuple[str, str]:
    """Node id and message of a recap line; parameters may hold `` - `` themselves."""
    at = rest.find(" - ")
    first = at
    while at >= 0:
        if header_form(rest[:at]) in names:
            return rest[:at], rest[at + 3 :]
        at = rest.find(" - ", at + 1)
    if first < 0 or header_form(rest) in names:
        return rest, ""
    opened = rest.find("[", 0, first)
    if opened >= 0 and (closed := rest.find("] - ", opened)) >= 0 and "]" not in rest[opened:first]:
        return rest[: closed + 1], rest[closed + 4 :]
    return rest[:first], rest[first + 3 :]


def bare_name(header: str) -> str:
    """The name in a block header without what pytest puts before it."""
    for prefix in ("ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "):
        if header.startswith(prefix):
            return header[len(prefix) :]
    return header


def pair(drafts: list[Draft], recaps: list[Recap]) -> list[tuple[Draft | None, Recap | None, str, str]]:
    """Match blocks to recap lines: (block, recap line, node id, recap message)."""
    names = {bare_name(draft.name) for draft in drafts}
    waiting: dict[tuple[str, str], list[Draft]] = {}
    for draft in drafts:
        key = ("ERROR" if draft.section == "ERRORS" else "FAILED", bare_name(draft.name))
        waiting.setdefault(key, []).append(draft)
    matched: dict[int, tuple[Recap, str, str]] = {}
    alone: list[tuple[Draft | None, Recap | None, str, str]] = []
    for recap in recaps:
        nodeid, message = split_recap(recap.text, names)
        status = "ERROR" if recap.status == "ERROR" else "FAILED"
        queue = waiting.get((status, header_form(nodeid))) or waiting.get((status, nodeid))
        if queue:
            matched[id(queue.pop(0))] = (recap, nodeid, message)
        else:
            alone.append((None, recap, nodeid, message))
    rows: list[tuple[Draft | None, Recap | None, str, str]] = []
    for draft in drafts:
        recap_row = matched.get(id(draft))
        rows.append((draft, *recap_row) if recap_row else (draft, None, "", ""))
    return rows + alone


def add_totals(into: Findings, totals: dict[str, int]) -> None:
    """Sum the counts of several runs."""
    for key, count in totals.items():
        into.totals[key] = into.totals.get(key, 0) + count
