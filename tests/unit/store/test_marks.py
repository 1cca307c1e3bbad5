from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mcp_offload.errors import StoreUnsafeError
from mcp_offload.store import Failpoints
from mcp_offload.store.marks import Marks


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(str(tmp_path / "state"), Failpoints(), sync=True)


def test_a_workspace_without_a_mark_has_issued_nothing(marks: Marks) -> None:
    assert marks.current("w") == 0


def test_blocks_follow_each_other_and_never_overlap(marks: Marks) -> None:
    assert marks.reserve("w", 1, 0) == (0, 32)
    assert marks.reserve("w", 100, 32) == (32, 132)
    assert marks.current("w") == 132


def test_numbers_above_the_mark_are_passed_over_too(marks: Marks) -> None:
    assert marks.reserve("w", 1, 500) == (500, 532)


def test_workspaces_do_not_share_marks(marks: Marks) -> None:
    marks.reserve("w", 1, 0)
    assert marks.reserve("v", 1, 0) == (0, 32)
    assert marks.reserve("w\udc80", 1, 0) == (0, 32)  # a path may hold bytes that are not UTF-8


def test_what_a_crash_left_between_two_names_counts_as_the_higher(marks: Marks, tmp_path: Path) -> None:
    marks.reserve("w", 1, 0)
    (folder,) = (tmp_path / "state" / "numbers").iterdir()
    (folder / "64").write_bytes(b"")
    (folder / "not-a-number").write_bytes(b"")
    assert marks.current("w") == 64
    assert marks.reserve("w", 1, 0) == (64, 96)


def test_threads_and_instances_get_different_blocks(tmp_path: Path) -> None:
    found: list[tuple[int, int]] = []

    def reserve() -> None:
        marks = Marks(str(tmp_path / "state"), Failpoints(), sync=False)
        found.extend(marks.reserve("w", 1, 0) for _ in range(25))

    threads = [threading.Thread(target=reserve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(32 * n, 32 * n + 32) for n in range(100)]


def test_a_state_directory_open_to_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    with pytest.raises(StoreUnsafeError):
        Marks(str(tmp_path / "state"), Failpoints(), sync=False).reserve("w", 1, 0)
