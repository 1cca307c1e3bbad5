"""A workspace with a quota of its own holds no more than that, and others are not counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.errors import QuotaExceededError
from mcp_offload.service import OffloadService


def test_storing_stops_at_the_quota_and_goes_on_after_a_release(service: OffloadService) -> None:
    service.store(content=b"x" * 5_000, name="elsewhere")
    mine = service.in_workspace("mine", 1_000)
    mine.store(content=b"a" * 600, name="a")
    with pytest.raises(QuotaExceededError, match="600 of the 1000 bytes"):
        mine.store(content=b"b" * 401, name="b")
    mine.store(content=b"b" * 400, name="b")
    mine.release(["f1"])
    mine.store(content=b"c" * 600, name="c")
    assert mine.list_artifacts().total == 2


def test_files_directories_and_edits_count_too(service: OffloadService, project: Path) -> None:
    for number in range(3):
        (project / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    mine = service.in_workspace("mine", 50)
    mine.store("m0.py")
    with pytest.raises(QuotaExceededError):
        mine.store(".")
    assert mine.list_artifacts().total == 1
    with pytest.raises(QuotaExceededError):
        mine.edit("f1#f0", "def f0():\n    return 'a long text that does not fit'")
    assert (project / "m0.py").read_text() == "def f0():\n    return 0\n"
