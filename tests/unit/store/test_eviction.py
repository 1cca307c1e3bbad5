from __future__ import annotations

from mcp_offload.store.eviction import BlobUse, Candidate, plan


def candidate(number: int, *blobs: BlobUse) -> Candidate:
    return Candidate(float(number), 1, number, 1, blobs)


def test_nothing_is_dropped_without_need() -> None:
    assert plan([candidate(1, BlobUse(1, 100, 1))], 0) == []


def test_the_longest_idle_go_first_and_no_more_than_needed() -> None:
    idle = [candidate(n, BlobUse(n, 100, 1)) for n in range(1, 6)]
    assert plan(idle, 150) == idle[:2]


def test_a_blob_counts_only_with_its_last_user() -> None:
    shared = [
        candidate(1, BlobUse(7, 100, 2)),
        candidate(2, BlobUse(7, 100, 2)),
        candidate(3, BlobUse(8, 9, 1)),
    ]
    assert plan(shared, 100) == shared[:2]


def test_a_blob_that_something_pinned_uses_too_frees_nothing() -> None:
    assert plan([candidate(1, BlobUse(7, 100, 2))], 1) is None


def test_a_blob_that_is_its_own_view_counts_once() -> None:
    assert plan([candidate(1, BlobUse(7, 100, 2), BlobUse(7, 100, 2))], 101) is None
    assert plan([candidate(1, BlobUse(7, 100, 2), BlobUse(7, 100, 2))], 100) is not None


def test_the_protected_stay() -> None:
    idle = [candidate(n, BlobUse(n, 100, 1)) for n in range(1, 4)]
    assert plan(idle, 100, {(1, 1, 1)}) == idle[1:2]
    assert plan(idle, 300, {(1, 1, 1)}) is None


def test_no_more_candidates_are_read_than_needed() -> None:
    def endless() -> object:
        yield candidate(1, BlobUse(1, 100, 1))
        raise AssertionError("read on")

    assert plan(endless(), 100) is not None
