"""pytest's short test summary and closing counts."""

from __future__ import annotations

import re
from collections import deque
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
RECAP: Final = re.compile(
    r"^(?P<status>FAILED|ERROR|SUBFAIL(?:ED)?)(?P<sub>\[.*?\]| \[.*?\]|\(.*?\))?"
    r"(?P<params> \(.*?\))? (?:\[[\d.]+s\] )?(?P<rest>[^\s(\[].*)$"
)
# Source: pytest-subtests before pytest 9 put what tells a sub-test from others before the status.
_SUBTEST: Final = re.compile(r"^(?P<sub>(?:\[.*?\] )?(?:\(.*?\) )?)SUBFAIL (?P<rest>[^\s(\[].*)$")


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
    """One line of the short test summary; ``sub`` describes a sub-test as block headers do."""

    status: str
    text: str
    line: int
    sub: str = ""


def parse_recap(text: str, number: int) -> Recap | None:
    """Read one line of the short summary, or None."""
    if text[:1] in {"(", "["} and (subtest := _SUBTEST.match(text)):
        return Recap("FAILED", subtest["rest"], number, f" {subtest['sub'].strip()}")
    found = RECAP.match(text)
    if not found or found["rest"].startswith("- "):
        return None
    sub = f" {found['sub'].strip()}" if found["sub"] else ""
    status = "ERROR" if found["status"] == "ERROR" else "FAILED"
    if (sub or found["params"]) and not found["status"].startswith("SUB"):
        return None
    return Recap(status, found["rest"], number, sub + (found["params"] or ""))


def parse_summary(text: str, number: int) -> Summary | None:
    """Read a closing line, or None."""
    found = SUMMARY.match(text)
    if not found or not (found["counts"] or found["more"]):
        return None
    totals = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0}
    for count, word in _PAIR.findall(found["more"] or ""):
        key: str = _KEYS.get(str(word), str(word))
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
    for prefix in ("ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting ", "[doctest] "):
        if header.startswith(prefix):
            return header[len(prefix) :]
    return header


Row = tuple[Draft | None, Recap | None, str, str]


def pair(drafts: list[Draft], recaps: list[Recap]) -> list[Row]:
    """Match blocks to recap lines: (block, recap line, node id, recap message)."""
    names = {bare_name(draft.name) for draft in drafts}
    waiting: dict[tuple[str, str], deque[Draft]] = {}
    for draft in drafts:
        name = bare_name(draft.name)
        for key in dict.fromkeys(
            (name, re.split(r" [\[(]", name)[0] if draft.section == "FAILURES" else name)
        ):
            waiting.setdefault((_status(draft), key), deque()).append(draft)
    matched: dict[int, tuple[Recap, str, str]] = {}
    alone: list[Row] = []
    for recap in recaps:
        nodeid, message = split_recap(recap.text, names)
        draft = _waiting(waiting, matched, recap, nodeid)
        if draft is not None:
            matched[id(draft)] = (recap, nodeid + recap.sub, message)
        else:
            alone.append((None, recap, nodeid + recap.sub, message))
    _pair_unnamed(drafts, matched, alone)
    rows: list[Row] = []
    for draft in drafts:
        found = matched.get(id(draft))
        rows.append((draft, *found) if found else (draft, None, "", ""))
    return rows + alone


def _status(draft: Draft) -> str:
    return "ERROR" if draft.section == "ERRORS" else "FAILED"


def _waiting(
    waiting: dict[tuple[str, str], deque[Draft]],
    matched: dict[int, tuple[Recap, str, str]],
    recap: Recap,
    nodeid: str,
) -> Draft | None:
    """The first block of that name that no earlier recap line took."""
    # pytest-sugar's recap says FAILED of errors, too.
    for status in dict.fromkeys((recap.status, "ERROR")):
        for key in (header_form(nodeid) + recap.sub, header_form(nodeid), nodeid):
            queue = waiting.get((status, key))
            while queue:
                draft = queue.popleft()
                if id(draft) not in matched:
                    return draft
    return None


def _pair_unnamed(drafts: list[Draft], matched: dict[int, tuple[Recap, str, str]], alone: list[Row]) -> None:
    """``--tb=line`` prints no names: its lines stand in the order of the recap."""
    for status in ("FAILED", "ERROR"):
        unnamed = [draft for draft in drafts if not draft.name and _status(draft) == status]
        left = [row for row in alone if row[1] is not None and row[1].status == status]
        if len(unnamed) != len(left):
            left, unnamed = _alike(unnamed, left)
        for draft, (_, recap, nodeid, message) in zip(unnamed, left, strict=True):
            if recap is not None:
                matched[id(draft)] = (recap, nodeid, message)
        taken = {id(row) for row in left}
        alone[:] = [row for row in alone if id(row) not in taken]


def _alike(drafts: list[Draft], rows: list[Row]) -> tuple[list[Row], list[Draft]]:
    """The rows whose message, which the recap may cut short, begins that of a block; and those blocks."""
    chosen: list[tuple[Row, Draft]] = []
    at = 0
    for row in rows:
        start = row[3].removesuffix("...")
        for index in range(at, len(drafts) if start else at):
            if drafts[index].message.startswith(start):
                chosen.append((row, drafts[index]))
                at = index + 1
                break
    return [row for row, _ in chosen], [draft for _, draft in chosen]


def add_totals(into: Findings, totals: dict[str, int]) -> None:
    """Sum the counts of several runs."""
    for key, count in totals.items():
        into.totals[key] = into.totals.get(key, 0) + count
