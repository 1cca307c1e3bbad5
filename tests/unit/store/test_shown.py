"""What a named session was shown outlives its processes, and parallel ones do not lose each other's."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from mcp_offload.store.shown import KEPT_SECONDS, MOST_ENTRIES, ShownRecord


def _record(tmp_path: Path, session: str = "a", workspace: str = "/w") -> ShownRecord:
    return ShownRecord(str(tmp_path / "state"), workspace, session)


def test_nothing_is_recorded_and_nothing_made_before_the_first_merge(tmp_path: Path) -> None:
    assert _record(tmp_path).load() == {}
    assert not (tmp_path / "state").exists()


def test_merging_adds_and_overwrites(tmp_path: Path) -> None:
    record = _record(tmp_path)
    record.merge({1: 1, 2: 1})
    record.merge({2: 3})
    assert _record(tmp_path).load() == {1: 1, 2: 3}


def test_sessions_and_workspaces_are_apart(tmp_path: Path) -> None:
    _record(tmp_path).merge({1: 1})
    assert _record(tmp_path, session="b").load() == {}
    assert _record(tmp_path, workspace="/v").load() == {}
    assert _record(tmp_path, workspace="/w a", session="b").load() == {}


def test_the_record_is_private_and_small(tmp_path: Path) -> None:
    record = _record(tmp_path)
    record.merge(dict.fromkeys(range(1, MOST_ENTRIES + 50), 1))
    (path,) = (tmp_path / "state" / "sessions").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert min(record.load()) == 50
    assert len(record.load()) == MOST_ENTRIES


def test_a_damaged_record_counts_as_none_and_is_written_anew(tmp_path: Path) -> None:
    record = _record(tmp_path)
    record.merge({1: 1})
    (path,) = (tmp_path / "state" / "sessions").iterdir()
    for damage in (b"", b"[1]", b'{"1": "x", "y": 2}', b"\xff"):
        path.write_bytes(damage)
        assert record.load() == {}
    record.merge({2: 2})
    assert record.load() == {2: 2}


def test_old_records_are_forgotten(tmp_path: Path) -> None:
    _record(tmp_path, session="old").merge({1: 1})
    (path,) = (tmp_path / "state" / "sessions").iterdir()
    long_ago = path.stat().st_mtime - KEPT_SECONDS - 60
    os.utime(path, (long_ago, long_ago))
    _record(tmp_path, session="new").merge({1: 1})
    assert _record(tmp_path, session="old").load() == {}
    assert _record(tmp_path, session="new").load() == {1: 1}


def test_parallel_writers_lose_nothing(tmp_path: Path) -> None:
    def write(first: int) -> None:
        for number in range(first, first + 20):
            _record(tmp_path).merge({number: 1})

    threads = [threading.Thread(target=write, args=(first,)) for first in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(_record(tmp_path).load()) == 60
