from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import (
    CorruptBlobError,
    HandleGoneError,
    HandleNotFoundError,
    StoreError,
    StoreFullError,
)
from mcp_offload.models import FileStamp, Kind
from mcp_offload.store import NewVersion, Store, StoreConfig
from tests.unit.store.helpers import Clock, Put, blob_files, content, putter

LARGE = b"a line of text\n" * 5000
OTHER = b"another line\n" * 5000
STAMP = FileStamp(
    device=2**40, inode=2**64 - 1, size_bytes=1, mtime_ns=2, ctime_ns=3, read_at_ns=1_700_000_000_000_000_000
)


def test_what_was_put_can_be_looked_up_in_every_way(store: Store, put: Put) -> None:
    artifact, version, new = put(LARGE, name="src/a.py", path="/r/src/a.py", stamp=STAMP)
    assert new
    assert (artifact.number, artifact.latest, version.version) == (1, 1, 1)
    assert store.artifact("w", 1) == artifact
    assert store.artifact_by_path("w", "/r/src/a.py") == artifact
    assert store.version("w", 1) == version == store.version("w", 1, 1)
    assert store.versions("w", 1) == [version]
    assert store.find_by_hash("w", version.blake3) == [(artifact, version)]
    assert store.list("w", limit=10) == ([(artifact, version)], 1)
    assert version.stamp == STAMP
    assert content(store, version) == LARGE


def test_another_workspace_sees_nothing(store: Store, put: Put) -> None:
    version = put(LARGE, path="/a")[1]
    assert store.artifact_by_path("v", "/a") is None
    assert store.find_by_hash("v", version.blake3) == []
    assert store.list("v", limit=10) == ([], 0)
    with pytest.raises(HandleNotFoundError):
        store.artifact("v", 1)


def test_numbers_are_shared_by_all_kinds_and_counted_per_workspace(store: Store, put: Put) -> None:
    assert put(b"1", name="a", kind=Kind.FILE)[0].number == 1
    assert put(b"2", name="b", kind=Kind.LOG)[0].number == 2
    assert put(b"3", name="c", kind=Kind.TEST)[0].number == 3
    assert putter(store, "v")(b"1", name="a")[0].number == 1


def test_new_bytes_of_a_path_are_a_new_version(store: Store, put: Put) -> None:
    put(LARGE, path="/a")
    artifact, version, new = put(OTHER, path="/a", kind=Kind.LOG)
    assert (artifact.number, version.version, new) == (1, 2, True)
    assert artifact.kind is Kind.FILE
    assert [content(store, each) for each in store.versions("w", 1)] == [LARGE, OTHER]


def test_the_same_bytes_of_a_path_are_no_new_version_and_refresh_the_stamp(store: Store, put: Put) -> None:
    put(LARGE, path="/a", stamp=STAMP)
    artifact, version, new = put(LARGE, path="/a", stamp=replace(STAMP, mtime_ns=99))
    assert (artifact.number, version.version, new) == (1, 1, False)
    assert version.stamp == replace(STAMP, mtime_ns=99)
    assert put(LARGE, path="/a")[1].stamp == replace(STAMP, mtime_ns=99)


def test_bytes_that_come_back_are_a_version_again(store: Store, put: Put) -> None:
    put(LARGE, path="/a")
    put(OTHER, path="/a")
    assert put(LARGE, path="/a")[1].version == 3
    assert store.stats("w").blobs == 2


def test_content_is_known_by_name_kind_and_bytes(store: Store, put: Put) -> None:
    assert put(LARGE, name="log", kind=Kind.LOG)[0].number == 1
    assert put(LARGE, name="log", kind=Kind.LOG)[::2] == (store.artifact("w", 1), False)
    assert put(LARGE, name="other", kind=Kind.LOG)[0].number == 2
    assert put(LARGE, name="log", kind=Kind.TEST)[0].number == 3
    assert put(OTHER, name="log", kind=Kind.LOG)[0].number == 4
    assert put(LARGE, name="log", kind=Kind.LOG, path="/log")[0].number == 5
    assert store.stats("w").blobs == 2


def test_empty_names_do_not_fall_together(store: Store, put: Put) -> None:
    first, second = put(b"invoice one", name=""), put(b"invoice two", name="")
    assert first[0].number != second[0].number
    assert content(store, first[1]) == b"invoice one"


def test_a_number_makes_a_version_of_that_artifact(store: Store, put: Put) -> None:
    put(LARGE, name="a")
    artifact, version, new = put(OTHER, name="ignored", number=1)
    assert (artifact.number, artifact.name, version.version, new) == (1, "a", 2, True)
    with pytest.raises(HandleNotFoundError):
        put(LARGE, number=2)
    store.release("w", [1])
    with pytest.raises(HandleGoneError):
        put(LARGE, number=1)


def test_versions_that_never_were_are_not_found(store: Store, put: Put) -> None:
    put(LARGE)
    for version in (0, 2, -1):
        with pytest.raises(HandleNotFoundError, match="newest is 1"):
            store.version("w", 1, version)


def test_equal_bytes_are_kept_once_also_within_one_commit(store: Store, config: StoreConfig) -> None:
    with store.stage([LARGE]) as one, store.stage([LARGE]) as two, store.stage([LARGE]) as three:
        puts = [
            NewVersion(staged=one, kind=Kind.FILE, name="a", encoding="utf-8", lines=1, source_path="/a"),
            NewVersion(
                staged=two, view=three, kind=Kind.FILE, name="b", encoding="x", lines=1, source_path="/b"
            ),
        ]
        results = store.commit("w", puts)
    assert [artifact.number for artifact, _, _ in results] == [1, 2]
    assert len(blob_files(config)) == 1
    assert store.check(deep=True).problems == ()


def test_a_view_is_a_blob_of_its_own(store: Store, put: Put) -> None:
    stored, view = LARGE.decode().encode("utf-16"), LARGE
    version = put(stored, view=view)[1]
    assert version.view_blake3 is not None
    with store.open_view(version) as reader:
        assert reader.read(0, reader.size_bytes) == view
    with store.open_raw(version) as reader:
        assert reader.read(0, reader.size_bytes) == stored
    store.verify(version)


def test_a_commit_that_fails_leaves_nothing(store: Store, put: Put, config: StoreConfig) -> None:
    with store.stage([LARGE]) as one, store.stage([OTHER]) as two:
        puts = [
            NewVersion(staged=one, kind=Kind.FILE, name="a", encoding="utf-8", lines=1),
            NewVersion(staged=two, kind=Kind.FILE, name="b", encoding="utf-8", lines=1, number=17),
        ]
        with pytest.raises(HandleNotFoundError):
            store.commit("w", puts)
    assert store.list("w", limit=10) == ([], 0)
    assert blob_files(config) == []
    assert put(LARGE)[0].number == 1


@pytest.mark.parametrize(
    "step", ["blob.linking", "blob.linked", "commit.begun", "commit.numbered", "commit.rows", "commit.before"]
)
def test_a_commit_that_fails_at_any_step_leaves_nothing(
    opened: Callable[..., Store], config: StoreConfig, step: str
) -> None:
    store = opened(f"{step}=eio")
    put = putter(store)
    with pytest.raises(StoreError):
        put(LARGE)
    assert store.list("w", limit=10)[1] == 0
    assert blob_files(config) == []
    assert content(store, put(LARGE)[1]) == LARGE
    assert store.check(deep=True).problems == ()


def test_a_failure_after_the_commit_keeps_what_was_committed(opened: Callable[..., Store]) -> None:
    store = opened("commit.after=eio")
    put = putter(store)
    with pytest.raises(StoreError):
        put(LARGE)
    ((_, version),), _ = store.list("w", limit=10)
    assert content(store, version) == LARGE


@pytest.mark.parametrize("action", ["enospc", "edquot"])
def test_a_full_disk_is_tried_again_with_the_ballast(
    opened: Callable[..., Store], config: StoreConfig, action: str
) -> None:
    store = opened(f"commit.before={action}")
    version = putter(store)(LARGE)[1]
    assert content(store, version) == LARGE
    assert Path(config.store_dir, "ballast").stat().st_size == 2 * 1024 * 1024  # set aside again


def test_a_disk_that_stays_full_is_told_and_the_store_goes_on(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened("commit.before@2=enospc", "commit.before@3=enospc")
    put = putter(store)
    first = put(LARGE, name="a")[1]
    with pytest.raises(StoreFullError, match="nothing stored before was lost"):
        put(OTHER, name="b")
    assert content(store, first) == LARGE
    assert content(store, put(OTHER, name="b")[1]) == OTHER
    assert len(blob_files(config)) == 2


def test_a_missing_file_is_mended_by_storing_it_again(store: Store, put: Put, config: StoreConfig) -> None:
    version = put(LARGE, path="/a")[1]
    blob_files(config)[0].unlink()
    with pytest.raises(CorruptBlobError):
        store.open_view(version)
    assert store.check().problems != ()
    assert put(LARGE, path="/a")[2] is False
    assert content(store, version) == LARGE
    assert store.check(deep=True).problems == ()


def test_damage_is_found_by_size_at_once_and_by_hash_when_asked(
    store: Store, put: Put, config: StoreConfig
) -> None:
    version = put(LARGE)[1]
    (file,) = blob_files(config)
    file.write_bytes(b"b" + LARGE[1:])
    with pytest.raises(CorruptBlobError):
        store.verify(version)
    assert store.check().problems == ()
    assert len(store.check(deep=True).problems) == 1
    os.truncate(file, 100)
    with pytest.raises(CorruptBlobError):
        store.open_view(version)
    assert len(store.check().problems) == 1


def test_forty_threads_put_read_and_list(store: Store) -> None:
    seen: list[int] = []
    errors: list[BaseException] = []

    def work(thread: int) -> None:
        put = putter(store)
        try:
            for turn in range(5):
                data = b"%d %d\n" % (thread, turn) * (5 if turn % 2 else 9000)
                artifact, version, _ = put(data, name=f"{thread}-{turn}")
                seen.append(artifact.number)
                assert content(store, version) == data
                assert store.list("w", limit=3)[1] >= 1
                store.touch("w", [artifact.number])
        except BaseException as error:  # noqa: BLE001 - reported by the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(seen) == list(range(1, 201))
    assert store.check(deep=True).problems == ()


def test_two_stores_on_one_directory_share_everything(opened: Callable[..., Store]) -> None:
    one, two = opened(), opened()
    version = putter(one)(LARGE)[1]
    assert content(two, version) == LARGE
    assert putter(two)(OTHER)[0].number == 2
    one.close()
    assert two.version("w", 1) == version


def test_everything_survives_a_restart(opened: Callable[..., Store]) -> None:
    store = opened()
    version = putter(store)(LARGE, path="/a", stamp=STAMP)[1]
    small = putter(store)(b"small")[1]
    store.close()
    again = opened()
    assert again.version("w", 1) == version
    assert content(again, version) == LARGE
    assert content(again, small) == b"small"
    assert putter(again)(OTHER)[0].number == 3


def test_times_come_from_the_clock_unless_given(store: Store, put: Put, clock: Clock) -> None:
    clock.now = 5_000.0
    assert put(LARGE)[1].created_at == 5_000.0
    with store.stage([OTHER]) as staged:
        new = NewVersion(staged=staged, kind=Kind.LOG, name="b", encoding="utf-8", lines=1, created_at=7.0)
        ((_, version, _),) = store.commit("w", [new])
    assert version.created_at == 7.0
