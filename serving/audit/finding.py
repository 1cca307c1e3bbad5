"""What an audit finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Of a claim, from worst to best."""

    IMPOSSIBLE = "impossible"
    """Arithmetic or a data sheet forbids it, whatever the software."""

    CONTRADICTORY = "contradictory"
    """Figures of the same claim exclude each other."""

    DOUBTFUL = "doubtful"
    """Within the bound, but over nine tenths of it, or only with memory that an engine does not get."""

    POSSIBLE = "possible"
    """No bound forbids it, which does not make it true."""

    UNCHECKED = "unchecked"
    """It states nothing that a bound applies to."""


@dataclass(frozen=True)
class Finding:
    """One check of one claim.

    Attributes:
        check: what was looked at.
        verdict: of it.
        claimed: the figure that was stated.
        bound: what it is held against.
        unit: of both.
        why: how the bound comes about.
    """

    check: str
    verdict: Verdict
    claimed: float
    bound: float
    unit: str
    why: str


@dataclass(frozen=True)
class Judged:
    """A claim with all that was found.

    Attributes:
        name, says, source: of the claim.
        findings: by check; empty where nothing could be checked.
    """

    name: str
    says: str
    source: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its findings."""
        order = list(Verdict)
        return min((finding.verdict for finding in self.findings), key=order.index, default=Verdict.UNCHECKED)
