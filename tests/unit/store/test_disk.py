"""A disk that runs full: floors, eviction for the disk's sake, ballast, and a real small file system."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_offload.errors import HandleGoneError, StoreError, StoreFullError
from mcp_offload.store import Store, StoreConfig
from mcp_offload.store.blobs import BlobDir
from tests.unit.store.helpers import MIB, Clock, blob_files, content, putter


class Disk:
    """The free space that the store is told, while real bytes go elsewhere."""

    def __init__(self, config: StoreConfig, free_bytes: int) -> None:
        self._blobs = Path(config.store_dir) / "blobs"
        self._free_bytes = free_bytes

    def free(self) -> int:
        return self._free_bytes - sum(file.stat().st_size for file in self._blobs.iterdir())


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, config: StoreConfig) -> Callable[[int], None]:
    def limit(free_bytes: int) -> None:
        disk = Disk(config, free_bytes)
        monkeypatch.setattr(BlobDir, "free_bytes", lambda _: disk.free())

    return limit


def text(mark: str, size_bytes: int = MIB) -> bytes:
    return (mark.encode() + b"\n") * (size_bytes // 2)


def test_nothing_is_stored_below_the_floor(
    opened: Callable[..., Store], disk: Callable[[int], None], config: StoreConfig
) -> None:
    store = opened(reserve_bytes=8 * MIB)
    disk(8 * MIB + 100_000)
    with pytest.raises(StoreFullError, match="disk that holds the store is full"):
        putter(store)(text("a"))
    assert blob_files(config) == []
    version = putter(store)(text("b", 50_000))[1]
    assert content(store, version) == text("b", 50_000)


def test_small_content_is_refused_below_the_floor_too(
    opened: Callable[..., Store], disk: Callable[[int], None]
) -> None:
    store = opened(reserve_bytes=8 * MIB)
    disk(8 * MIB - 1)
    with pytest.raises(StoreFullError):
        putter(store)(b"small")


def test_the_longest_unused_makes_room_on_a_full_disk(
    opened: Callable[..., Store], disk: Callable[[int], None], clock: Clock
) -> None:
    store = opened(reserve_bytes=8 * MIB)
    disk(11 * MIB)
    put = putter(store)
    versions = []
    for mark in "abcde":
        clock.now += 1
        versions.append(put(text(mark), name=mark)[1])
    assert content(store, versions[-1]) == text("e")
    with pytest.raises(HandleGoneError) as caught:
        store.open_view(versions[0])
    assert caught.value.reason == "evicted"
    assert store.list("w", limit=9)[1] == 3


def test_nothing_is_evicted_where_that_would_not_be_enough(
    opened: Callable[..., Store], disk: Callable[[int], None]
) -> None:
    store = opened(reserve_bytes=8 * MIB)
    put = putter(store)
    kept = put(text("a"))[1]
    disk(10 * MIB)
    with store.open_raw(kept) as reader, pytest.raises(StoreFullError):
        store.stage_file(os.open(str(reader.path), os.O_RDONLY), total_bytes=500 * MIB)
    assert content(store, kept) == text("a")


def test_a_refused_write_makes_room_and_goes_on(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened("stage.writing@5=enospc")
    put = putter(store)
    put(text("a"), name="a")
    clock.now += 1
    version = put(text("b") * 4, name="b")[1]
    assert content(store, version) == text("b") * 4
    with pytest.raises(HandleGoneError):
        store.version("w", 1)


def test_a_refused_write_with_nothing_to_evict_is_told(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened("stage.writing=edquot")
    with pytest.raises(StoreFullError):
        putter(store)(text("a"))
    assert blob_files(config) == []
    assert content(store, putter(store)(text("a"))[1]) == text("a")


@pytest.mark.parametrize(
    "step", ["stage.opened", "stage.written", "blob.linking", "evict.rows", "mark.locked"]
)
def test_a_full_disk_at_any_step_is_told_and_the_store_goes_on(
    opened: Callable[..., Store], clock: Clock, step: str
) -> None:
    store = opened(*(f"{step}@{n}=enospc" for n in (1, 2)), quota_bytes=2 * MIB)
    put = putter(store)
    acknowledged = {}
    for mark in "abcdef":
        clock.now += 1
        try:
            acknowledged[mark] = put(text(mark), name=mark)[1]
        except StoreFullError:
            continue
    assert len(acknowledged) >= 3
    assert content(store, acknowledged["f"]) == text("f")
    assert store.gc().orphans == 0
    assert store.check(deep=True).problems == ()


def test_releasing_works_on_a_full_disk(opened: Callable[..., Store], config: StoreConfig) -> None:
    store = opened("release.rows=enospc")
    putter(store)(text("a"))
    assert store.release("w", [1]).freed_bytes == MIB
    assert blob_files(config) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 16 MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m,nr_inodes=300,mode=0700", "tmpfs", str(mount)],
        check=False,
        capture_output=True,
    )
    if done.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        for size_bytes in (65_536, 4096):
            try:
                while True:
                    file.write(b"x" * size_bytes)
            except OSError:
                continue


def test_a_really_full_disk_evicts_and_stores_on(
    opened: Callable[..., Store], small_disk: Path, clock: Clock
) -> None:
    store = opened(store_dir=str(small_disk / "store"))
    put = putter(store)
    versions = []
    for turn in range(60):
        clock.now += 1
        versions.append(put(text("ab"[turn % 2]) + b"%d" % turn, name=str(turn))[1])
    assert content(store, versions[-1]).endswith(b"59")
    live = store.list("w", limit=99)[0]
    assert 5 <= len(live) < 16
    for _, version in live:
        store.verify(version)
    assert store.check(deep=True).problems == ()


def test_a_disk_filled_by_others_refuses_clearly_and_recovers(
    opened: Callable[..., Store], small_disk: Path
) -> None:
    store = opened(store_dir=str(small_disk / "store"))
    put = putter(store)
    kept = put(text("a"), name="a")[1]
    store.pin("w", [1], True)
    fill(small_disk / "others")
    refused = 0
    for turn in range(400):
        try:
            put(text("b", 3_000) + b"%d" % turn, name=f"b{turn}")
        except StoreFullError:
            refused += 1
    assert content(store, kept) == text("a")
    with pytest.raises(StoreFullError):
        put(text("c") * 3, name="c")
    (small_disk / "others").unlink()
    assert content(store, put(text("c"), name="c")[1]) == text("c")
    assert content(store, kept) == text("a")
    store.gc()
    assert store.check(deep=True).problems == ()


def test_a_full_disk_can_still_be_released_from_and_opened(
    opened: Callable[..., Store], small_disk: Path
) -> None:
    place = str(small_disk / "store")
    store = opened(store_dir=place)
    kept = putter(store)(text("a"), name="a")[1]
    putter(store)(text("b"), name="b")
    store.close()
    fill(small_disk / "others")
    again = opened(store_dir=place)
    assert content(again, kept) == text("a")
    assert again.release("w", [2]).freed_bytes == MIB
    assert content(again, kept) == text("a")


def test_running_out_of_inodes_is_a_full_disk(opened: Callable[..., Store], small_disk: Path) -> None:
    store = opened(store_dir=str(small_disk / "store"))
    put = putter(store)
    first = put(text("a", 20_000), name="a")[1]
    store.pin("w", [1], True)
    taken = 0
    try:
        while True:
            (small_disk / f"file{taken}").touch()
            taken += 1
    except OSError:
        pass
    with pytest.raises(StoreFullError):
        put(text("b", 20_000), name="b")
    assert content(store, first) == text("a", 20_000)
    for number in range(taken):
        (small_disk / f"file{number}").unlink()
    assert content(store, put(text("b", 20_000), name="b")[1]) == text("b", 20_000)


def test_a_read_only_disk_is_an_error_of_the_store(opened: Callable[..., Store], small_disk: Path) -> None:
    place = str(small_disk / "store")
    store = opened(store_dir=place)
    kept = putter(store)(text("a"), name="a")[1]
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreError):
        opened(store_dir=place)
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert content(opened(store_dir=place), kept) == text("a")
