"""Which versions to drop when room is needed; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple


class BlobUse(NamedTuple):
    """A blob as a candidate uses it; ``references`` counts its uses by all live versions."""

    blob_id: int
    size_bytes: int
    references: int


class Candidate(NamedTuple):
    """An unpinned live version; ``idle_since`` is its last use, or its making once superseded."""

    idle_since: float
    workspace_id: int
    number: int
    version: int
    blobs: tuple[BlobUse, ...]

    @property
    def key(self) -> tuple[int, int, int]:
        """What names the version in the catalog."""
        return self.workspace_id, self.number, self.version


def plan(
    candidates: Iterable[Candidate], need_bytes: int, protected: Collection[tuple[int, int, int]] = ()
) -> list[Candidate] | None:
    """The fewest longest-idle candidates whose loss frees what is needed; None where all are not enough.

    Args:
        candidates: longest idle first; no more are taken than needed.
        need_bytes: a blob counts once the last version that uses it is dropped.
        protected: keys that are never dropped.
    """
    chosen: list[Candidate] = []
    left: dict[int, int] = {}
    freed_bytes = 0
    if need_bytes <= 0:
        return chosen
    for candidate in candidates:
        if candidate.key in protected:
            continue
        chosen.append(candidate)
        for blob in candidate.blobs:
            left[blob.blob_id] = left.get(blob.blob_id, blob.references) - 1
            if left[blob.blob_id] == 0:
                freed_bytes += blob.size_bytes
        if freed_bytes >= need_bytes:
            return chosen
    return None
