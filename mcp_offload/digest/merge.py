"""Findings of all families -> one digest: who owns which lines, what is listed once, what the verdict is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from .family import MAX_FAILURES, MAX_TESTS, Findings, Group, clip
from .generic import Generic, mask
from .model import Cause, Digest, Failure, Lines, Section, Verdict

Found = Sequence[tuple[Group, Findings]]
_MAX_SECTIONS: Final = 500
_MAX_NOTES: Final = 40
_DIAGNOSTIC: Final = (Group.BUILD, Group.LINT, Group.CRASH, Group.CI)
# Exit statuses that mean "stopped from outside". Source: timeout(1); signal(7), 128 + the number.
_KILLED: Final = {124: "timed out", 130: "interrupted", 137: "killed (SIGKILL)", 143: "killed (SIGTERM)"}


def merge(found: Found, generic: Generic, last: int, exit_status: int | None) -> Digest:
    """Combine findings; ``found`` is in the order of the family table."""
    kept = _without_foreign([pair for pair in found if pair[1].tools or pair[1].failures or pair[1].notes])
    if any(group is Group.TESTS for group, _ in kept):
        kept = [pair for pair in kept if pair[0] is not Group.CRASH or pair[1].failures]
    failures = _listed(kept)
    totals = _totals(kept, failures)
    verdict, complete, notes = _verdict(kept, failures, generic, exit_status)
    tests: dict[str, str] = {}
    for _, findings in kept:
        for name, outcome in findings.tests.items():
            if len(tests) >= MAX_TESTS:
                break
            tests[name] = outcome
    return Digest(
        verdict=verdict,
        complete=complete,
        tools=tuple(dict.fromkeys(tool for _, findings in kept for tool in findings.tools)),
        totals=totals,
        failures=tuple(failures),
        causes=tuple(causes_of(failures)),
        sections=_sections(kept),
        notes=tuple(dict.fromkeys([*notes, *(note for _, f in kept for note in f.notes)]))[:_MAX_NOTES],
        tests=tests,
        duration_seconds=_duration(kept),
        exit_status=exit_status,
        line_count=last,
        unlisted=sum(findings.unlisted for _, findings in kept),
        excerpt=generic.excerpt(),
    )


# --- ownership ------------------------------------------------------------------------------------


def _without_foreign(found: Found) -> list[tuple[Group, Findings]]:
    """Drop what a family found inside the run of another one; of nested runs the outer one counts."""
    kept: list[tuple[Group, Findings]] = []
    owned = [_union(findings.owned) for _, findings in found]
    for index, (group, findings) in enumerate(found):
        own = owned[index]
        foreign = [
            block
            for other, blocks in enumerate(owned)
            if other != index
            for block in blocks
            if not (_covered(block, own) and (other > index or block not in own))
        ]
        kept += _cleared(group, findings, _union(foreign))
    return kept


def _cleared(group: Group, findings: Findings, foreign: list[Lines]) -> list[tuple[Group, Findings]]:
    if not foreign:
        return [(group, findings)]
    failures = [failure for failure in findings.failures if not _within(failure.log_line, foreign)]
    gone = len(failures) < len(findings.failures)
    if findings.owned and all(_covered(own, foreign) for own in findings.owned):
        return []
    if gone and not failures and not findings.owned:
        return []
    if findings.verdict_line and not findings.owned and _within(findings.verdict_line, foreign):
        return [(group, replace(findings, failures=failures, verdict=Verdict.UNKNOWN, totals={}, notes=[]))]
    if not gone:
        return [(group, findings)]
    totals = findings.totals if group is Group.TESTS else {}
    return [(group, replace(findings, failures=failures, totals=totals))]


def _union(blocks: Iterable[Lines]) -> list[Lines]:
    joined: list[Lines] = []
    for block in sorted(blocks, key=lambda lines: (lines.start, lines.end)):
        if joined and block.start <= joined[-1].end + 1:
            joined[-1] = Lines(joined[-1].start, max(joined[-1].end, block.end))
        else:
            joined.append(block)
    return joined


def _within(line: int, blocks: list[Lines]) -> bool:
    index = bisect_right(blocks, line, key=lambda block: block.start) - 1
    return index >= 0 and line <= blocks[index].end


def _covered(own: Lines, blocks: list[Lines]) -> bool:
    """True where one of the (joined) blocks holds all of ``own``."""
    index = bisect_right(blocks, own.start, key=lambda block: block.start) - 1
    return index >= 0 and own.end <= blocks[index].end


# --- failures and causes --------------------------------------------------------------------------


def _listed(found: Found) -> list[Failure]:
    """All failures in log order, each once; wrappers' complaints only where nothing explains them."""
    seen_lines: dict[int, str] = {}
    seen_places: dict[tuple[str, int, int | None, str], str] = {}
    listed: list[Failure] = []
    everything = [failure for _, findings in found for failure in findings.failures]
    for target in (False, True):
        for failure in everything:
            if (failure.kind == "target") is not target:
                continue
            message = clip(failure.message.strip())
            place = (failure.file or failure.name, failure.line or 0, failure.column, message)
            if seen_lines.get(failure.log_line, failure.tool) != failure.tool:
                continue
            if failure.line and seen_places.setdefault(place, failure.tool) != failure.tool:
                continue
            seen_lines.setdefault(failure.log_line, failure.tool)
            listed.append(replace(failure, message=message, name=clip(failure.name, 200)))
    listed.sort(key=lambda failure: (failure.log_line, failure.block.start))
    causes = [failure for failure in listed if failure.kind != "target"]
    inner = [failure for failure in listed if failure.tool != "ci"]
    return (causes or inner or listed)[:MAX_FAILURES]


_CAUSE_MASK: Final = re.compile(
    r"(?<=['\"`])[^'\"`]{40,}(?=['\"`])|<(?:Function|TestCaseFunction|Coroutine) [^>]*>"
)


def causes_of(failures: Sequence[Failure]) -> list[Cause]:
    """Group failures whose messages differ in numbers only; most failures first, then log order."""
    groups: dict[str, list[int]] = {}
    for index, failure in enumerate(failures):
        text = failure.message or failure.name
        groups.setdefault(mask(_CAUSE_MASK.sub("...", text)), []).append(index)
    ranked = sorted(groups.values(), key=lambda members: (-len(members), members[0]))
    return [
        Cause(failures[members[0]].message or failures[members[0]].name, len(members), members[0])
        for members in ranked
    ]


def _sections(found: Found) -> tuple[Section, ...]:
    sections = [section for _, findings in found for section in findings.sections]
    sections.sort(key=lambda section: (section.lines.start, -section.lines.end))
    return tuple(sections[:_MAX_SECTIONS])


def _duration(found: Found) -> float | None:
    tests = [f.duration_seconds for g, f in found if g is Group.TESTS and f.duration_seconds is not None]
    others = [f.duration_seconds for g, f in found if g is not Group.TESTS and f.duration_seconds is not None]
    if tests:
        return round(sum(tests), 3)
    return max(others) if others else None


# --- totals and verdict ---------------------------------------------------------------------------


def _totals(found: Found, failures: Sequence[Failure]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for group, findings in found:
        if group is Group.TESTS:
            for key, count in findings.totals.items():
                totals[key] = totals.get(key, 0) + count
    if not totals:
        totals = _diagnostic_totals(found, failures)
    order = ("passed", "failed", "errors", "skipped")
    return {key: totals[key] for key in (*order, *sorted(set(totals) - set(order))) if key in totals}


def _diagnostic_totals(found: Found, failures: Sequence[Failure]) -> dict[str, int]:
    """Errors and warnings of compilers and linters: as stated where nothing was dropped, else as listed."""
    listed: dict[str, int] = {}
    for failure in failures:
        listed[failure.tool] = listed.get(failure.tool, 0) + 1
    totals: dict[str, int] = {}
    errors = 0
    for group, findings in found:
        if group is Group.TESTS and findings.verdict is Verdict.INCOMPLETE:
            continue
        own = {failure.tool for failure in findings.failures}
        count = sum(listed.get(tool, 0) for tool in own)
        if "errors" in findings.totals and (count == len(findings.failures) or not own):
            count = findings.totals["errors"]
        errors += count
        if "warnings" in findings.totals:
            totals["warnings"] = totals.get("warnings", 0) + findings.totals["warnings"]
    if errors or any("errors" in findings.totals for group, findings in found if group is not Group.TESTS):
        totals["errors"] = errors
    return totals


def _verdict(
    found: Found, failures: Sequence[Failure], generic: Generic, exit_status: int | None
) -> tuple[Verdict, bool, list[str]]:
    """The verdict, whether the run is shown (or known) to have ended, and what to say about it."""
    seen = _seen_verdict(found, failures, generic)
    cut = any(findings.cut for _, findings in found)
    if exit_status is None:
        return seen, not cut and seen not in {Verdict.UNKNOWN, Verdict.INCOMPLETE}, []
    if exit_status == 0:
        notes = (
            ["exit status 0 although failures are shown"] if seen in {Verdict.FAILED, Verdict.ERROR} else []
        )
        return Verdict.PASSED, not cut, notes + (["the log ends before the run does"] if cut else [])
    if exit_status in _KILLED or exit_status < 0:
        reason = _KILLED.get(exit_status, f"killed by signal {-exit_status}")
        return Verdict.INCOMPLETE, False, [f"{reason} (exit status {exit_status})"]
    verdict = seen if seen in {Verdict.FAILED, Verdict.ERROR, Verdict.INCOMPLETE} else Verdict.FAILED
    return verdict, not cut, [f"exit status {exit_status}"]


def _seen_verdict(found: Found, failures: Sequence[Failure], generic: Generic) -> Verdict:
    """What the log says by itself: anything bad beats a cut run, which beats anything good."""
    said = [(group, findings.verdict) for group, findings in found]
    for bad in (Verdict.FAILED, Verdict.ERROR, Verdict.INCOMPLETE):
        if any(verdict is bad for _, verdict in said):
            return bad
    if failures:
        return Verdict.FAILED
    tests = [verdict for group, verdict in said if group is Group.TESTS]
    if tests:
        return Verdict.PASSED if all(verdict is Verdict.PASSED for verdict in tests) else Verdict.UNKNOWN
    passed = [f.verdict_line for g, f in found if f.verdict is Verdict.PASSED and g in _DIAGNOSTIC]
    if not passed or generic.last_hit > max(passed):
        return Verdict.UNKNOWN
    return Verdict.PASSED
