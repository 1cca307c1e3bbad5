"""What the operations of the service answer about build artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CardResult:
    """What a build artifact is, told in a line.

    Attributes:
        format: wheel, tar (gzip), elf, coverage, sqlite, lock file (uv.lock), ...; ``binary`` where unknown.
        facts: by stable names; one that is absent does not apply or is unknown.
        notes: damage, encryption and limits met; sentences.
        text: the card as shown to a model.
    """

    format: str
    facts: Mapping[str, bool | int | float | str | tuple[str, ...] | Mapping[str, int]]
    notes: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class CardChange:
    """A difference of two build artifacts of one format.

    ``change`` is added, removed or changed, with what ``before`` and ``after`` say of the part (version,
    size, ...), or uncovered or covered, with the lines of the source file that became so.
    """

    change: str
    kind: str
    name: str
    before: str
    after: str
