"""Audits as Markdown and as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from serving.audit.finding import Finding, Judged, Verdict
from serving.audit.standards import Standard


def claims_text(judged: Sequence[Judged]) -> Iterator[str]:
    """Claims for a person, worst first in no order but their own."""
    for claim in judged:
        yield f"{claim.verdict.value.upper():<13} {claim.name}{claim.says and ': '}{claim.says}"
        for finding in claim.findings:
            if finding.verdict is not Verdict.POSSIBLE:
                yield f"{'':<13} {held(finding)}"
    yield _counted([claim.verdict.value for claim in judged])


def claims_markdown(judged: Sequence[Judged]) -> Iterator[str]:
    """Claims as a table."""
    yield "# Audit of claims\n"
    yield "| claim | verdict | held against | source |\n|---|---|---|---|"
    for claim in judged:
        told = "; ".join(held(finding) for finding in claim.findings if finding.verdict is claim.verdict)
        yield _row(claim.says or claim.name, claim.verdict.value, told, claim.source)
    yield f"\n{_counted([claim.verdict.value for claim in judged])}"


def standards_text(standards: Iterable[Standard]) -> Iterator[str]:
    """Standards for a person."""
    found = list(standards)
    for standard in found:
        yield f"{standard.status.value.upper():<15} {standard.name}: {standard.requires}"
        yield from (f"{'':<15} {told}" for told in standard.evidence)
        yield from (f"{'':<15} missing: {told}" for told in standard.missing)
    yield _counted([standard.status.value for standard in found])


def standards_markdown(standards: Iterable[Standard]) -> Iterator[str]:
    """Standards as a table."""
    found = list(standards)
    yield "# Audit of a node\n"
    yield "| standard | status | evidence | missing |\n|---|---|---|---|"
    for standard in found:
        evidence, missing = "; ".join(standard.evidence), "; ".join(standard.missing)
        yield _row(standard.requires, standard.status.value, evidence, missing)
    yield f"\n{_counted([standard.status.value for standard in found])}"


def held(finding: Finding) -> str:
    """A finding in a line."""
    claimed, bound = _number(finding.claimed), _number(finding.bound)
    return f"{finding.check}: {claimed} against {bound} {finding.unit}; {finding.why}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _row(*cells: str) -> str:
    return "".join(f"| {cell.replace('|', chr(92) + '|').replace(chr(10), ' ')} " for cell in cells) + "|"


def _counted(values: Sequence[str]) -> str:
    return ", ".join(f"{values.count(value)} {value}" for value in dict.fromkeys(values)) or "nothing"
