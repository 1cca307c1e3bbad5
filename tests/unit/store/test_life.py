"""Release, pins, quota, expiry, purge, and what is told about what is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_offload.errors import HandleGoneError, HandleNotFoundError, QuotaExceededError
from mcp_offload.models import Kind
from mcp_offload.store import Store, StoreConfig
from mcp_offload.store.config import TOMBSTONE_SECONDS
from tests.unit.store.helpers import Clock, Put, blob_files, content, putter

KB100 = 100_000


def unique(mark: str, size_bytes: int = KB100) -> bytes:
    return (mark.encode() + b"\n") * (size_bytes // (len(mark) + 1))


def reason(store: Store, number: int, version: int | None = None) -> str:
    with pytest.raises(HandleGoneError) as caught:
        store.version("w", number, version)
    return caught.value.reason


def test_a_released_artifact_is_gone_and_says_so(store: Store, put: Put, config: StoreConfig) -> None:
    data = unique("a")
    version = put(data, path="/a")[1]
    report = store.release("w", [1])
    assert (report.numbers, report.versions, report.freed_bytes) == ((1,), 1, len(data))
    assert blob_files(config) == []
    assert reason(store, 1) == "released"
    with pytest.raises(HandleGoneError, match="was released"):
        store.artifact("w", 1)
    with pytest.raises(HandleGoneError) as caught:
        store.open_view(version)
    assert caught.value.reason == "released"
    assert store.artifact_by_path("w", "/a") is None
    assert put(data, path="/a")[0].number == 2


def test_releasing_again_is_no_error_and_frees_nothing(store: Store, put: Put) -> None:
    put(unique("a"))
    store.release("w", [1])
    assert store.release("w", [1, 1]).freed_bytes == 0


def test_a_release_with_an_unknown_number_drops_nothing(store: Store, put: Put) -> None:
    put(unique("a"))
    with pytest.raises(HandleNotFoundError):
        store.release("w", [1, 2])
    assert store.artifact("w", 1).number == 1


def test_shared_bytes_stay_until_their_last_user_is_gone(store: Store, put: Put, config: StoreConfig) -> None:
    data = unique("a")
    put(data, name="a")
    version = put(data, name="b")[1]
    assert store.release("w", [1]).freed_bytes == 0
    assert content(store, version) == data
    assert store.release("w", [2]).freed_bytes == len(data)
    assert blob_files(config) == []


def test_a_view_shared_with_stored_bytes_of_another_stays(store: Store, put: Put) -> None:
    text = unique("a")
    put(text.decode().encode("utf-16"), name="a", view=text)
    version = put(text, name="b")[1]
    store.release("w", [1])
    assert content(store, version) == text
    assert store.check(deep=True).problems == ()


def test_releasing_all_versions_frees_all_of_them(store: Store, put: Put) -> None:
    put(unique("a"), path="/a")
    put(unique("b"), path="/a")
    report = store.release("w", [1])
    assert (report.numbers, report.versions) == ((1,), 2)
    assert reason(store, 1, 1) == "released"
    assert store.stats("w").stored_bytes == 0


def test_a_pinned_artifact_can_be_released(store: Store, put: Put) -> None:
    put(unique("a"))
    store.pin("w", [1], True)
    store.release("w", [1])
    assert reason(store, 1) == "released"


def test_pinning_what_is_not_there_changes_nothing(store: Store, put: Put) -> None:
    put(unique("a"))
    with pytest.raises(HandleNotFoundError):
        store.pin("w", [1, 2], True)
    assert not store.artifact("w", 1).pinned


def small_store(opened: Callable[..., Store], artifacts: int) -> Store:
    return opened(quota_bytes=artifacts * KB100)


def test_the_quota_evicts_the_longest_unused_and_no_more(opened: Callable[..., Store], clock: Clock) -> None:
    store = small_store(opened, 3)
    put = putter(store)
    for mark in "abc":
        clock.now += 1
        put(unique(mark), name=mark)
    clock.now += 1
    store.touch("w", [1])
    put(unique("d"), name="d")
    assert reason(store, 2) == "evicted"
    assert [artifact.number for artifact, _ in store.list("w", limit=9)[0]] == [4, 1, 3]
    assert store.stats("w").stored_bytes <= 3 * KB100


def test_what_was_just_put_is_never_the_victim(opened: Callable[..., Store]) -> None:
    store = small_store(opened, 1)
    put = putter(store)
    for mark in "abc":
        version = put(unique(mark), name=mark)[1]
        assert content(store, version) == unique(mark)
    assert [reason(store, number) for number in (1, 2)] == ["evicted", "evicted"]


def test_pinned_artifacts_are_never_evicted(opened: Callable[..., Store], clock: Clock) -> None:
    store = small_store(opened, 2)
    put = putter(store)
    kept = put(unique("a"), name="a")[1]
    store.pin("w", [1], True)
    for mark in "bcd":
        clock.now += 1
        put(unique(mark), name=mark)
    assert content(store, kept) == unique("a")
    store.pin("w", [4], True)
    with pytest.raises(QuotaExceededError, match="unpin"):
        put(unique("e"), name="e")
    assert store.list("w", limit=9)[1] == 2
    store.pin("w", [4], False)
    put(unique("e"), name="e")
    assert reason(store, 4) == "evicted"


def test_superseded_versions_go_before_what_is_in_use(opened: Callable[..., Store], clock: Clock) -> None:
    store = small_store(opened, 3)
    put = putter(store)
    put(unique("a"), name="a")
    clock.now += 1
    put(unique("b1"), path="/b")
    clock.now += 1
    put(unique("b2"), path="/b")
    clock.now += 1
    store.touch("w", [1, 2])
    put(unique("c"), name="c")
    assert reason(store, 2, 1) == "evicted"
    assert store.version("w", 2).version == 2
    assert [version.version for version in store.versions("w", 2)] == [2]
    assert store.artifact("w", 1).number == 1


def test_one_artifact_with_many_versions_fits_its_quota(opened: Callable[..., Store], clock: Clock) -> None:
    store = small_store(opened, 2)
    put = putter(store)
    for turn in range(10):
        clock.now += 1
        put(unique(str(turn)), path="/a")
    assert [version.version for version in store.versions("w", 1)] == [9, 10]
    assert store.check(deep=True).problems == ()


def test_evicting_one_of_two_users_frees_nothing_so_more_goes(
    opened: Callable[..., Store], clock: Clock
) -> None:
    store = small_store(opened, 2)
    put = putter(store)
    put(unique("a"), name="a1")
    clock.now += 1
    put(unique("a"), name="a2")
    clock.now += 1
    put(unique("b"), name="b")
    clock.now += 1
    put(unique("c"), name="c")
    assert [reason(store, number) for number in (1, 2)] == ["evicted", "evicted"]
    assert store.artifact("w", 3).number == 3


def test_all_workspaces_share_the_quota(opened: Callable[..., Store], clock: Clock) -> None:
    store = small_store(opened, 1)
    putter(store, "w")(unique("a"))
    clock.now += 1
    putter(store, "v")(unique("b"))
    assert reason(store, 1) == "evicted"


def test_idle_artifacts_expire_unless_pinned_or_used(
    store: Store, put: Put, clock: Clock, config: StoreConfig
) -> None:
    for mark in "abc":
        put(unique(mark), name=mark)
    store.pin("w", [2], True)
    clock.now += config.ttl_seconds - 1
    assert store.gc().expired == 0
    store.touch("w", [3])
    clock.now += 2
    result = store.gc()
    assert (result.expired, result.freed_bytes) == (1, KB100)
    assert reason(store, 1) == "expired"
    assert store.list("w", limit=9)[1] == 2


def test_collection_brings_a_lowered_quota_about(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened()
    for mark in "abc":
        clock.now += 1
        putter(store)(unique(mark), name=mark)
    store.close()
    smaller = small_store(opened, 1)
    result = smaller.gc()
    assert (result.evicted, result.freed_bytes) == (2, 2 * KB100)
    assert [reason(smaller, number) for number in (1, 2)] == ["evicted", "evicted"]


def test_collection_deletes_files_that_no_row_names(store: Store, put: Put, config: StoreConfig) -> None:
    version = put(unique("a"))[1]
    (Path(config.store_dir) / "blobs" / ("0" * 64 + ".0123456789abcdef")).write_bytes(b"x" * 10)
    assert store.check().orphans == 1
    result = store.gc()
    assert (result.orphans, result.freed_bytes) == (1, 10)
    assert content(store, version) == unique("a")


def test_reasons_are_forgotten_in_the_end_but_not_that_it_was_issued(
    store: Store, put: Put, clock: Clock
) -> None:
    put(unique("a"))
    store.release("w", [1])
    clock.now += TOMBSTONE_SECONDS - 10
    store.gc()
    assert reason(store, 1) == "released"
    clock.now += 20
    store.gc()
    assert reason(store, 1) == "wiped"
    assert put(unique("b"))[0].number == 2


def test_the_catalog_shrinks_when_its_content_goes(store: Store, put: Put) -> None:
    for turn in range(100):
        put(unique(str(turn), 15_000), name=str(turn))
    store.gc()
    before = store.stats("w")
    store.release("w", range(1, 101))
    store.gc()
    again = store.stats("w")
    assert again.stored_bytes == 0
    assert again.catalog_bytes + again.wal_bytes < 2 * (before.catalog_bytes + before.wal_bytes) + 2_000_000


@pytest.mark.parametrize("everything", [False, True])
def test_a_purge_drops_a_workspace_or_all_and_keeps_the_numbers(store: Store, everything: bool) -> None:
    putter(store, "w")(unique("a"))
    putter(store, "v")(unique("b"))
    store.pin("w", [1], True)
    report = store.purge(None if everything else "w")
    assert report.versions == (2 if everything else 1)
    assert reason(store, 1) == "wiped"
    assert store.list("v", limit=9)[1] == (0 if everything else 1)
    assert putter(store, "w")(unique("c"))[0].number == 2
    assert store.check(deep=True).problems == ()


def test_listing_is_by_last_use_and_filters(store: Store, put: Put, clock: Clock) -> None:
    for number, (name, kind) in enumerate(
        [("src/A.py", Kind.FILE), ("make.log", Kind.LOG), ("b.py", Kind.FILE)]
    ):
        clock.now += 1
        put(b"%d" % number, name=name, kind=kind)
    clock.now += 1
    store.touch("w", [1])

    def numbers(**filters: object) -> tuple[list[int], int]:
        page, total = store.list("w", **{"limit": 10, **filters})
        return [artifact.number for artifact, _ in page], total

    assert numbers() == ([1, 3, 2], 3)
    assert numbers(limit=1, offset=1) == ([3], 3)
    assert numbers(offset=5) == ([], 3)
    assert numbers(kind=Kind.FILE) == ([1, 3], 2)
    assert numbers(name_contains="a.PY") == ([1], 1)
    assert numbers(name_contains="%") == ([], 0)


def test_uses_are_written_after_a_while_even_without_a_commit(
    opened: Callable[..., Store], clock: Clock
) -> None:
    one, two = opened(), opened()
    putter(one)(b"a", name="a")
    clock.now += 10
    one.touch("w", [1])
    assert two.artifact("w", 1).used_at == clock.now - 10
    clock.now += 31
    one.touch("w", [1])
    assert two.artifact("w", 1).used_at == clock.now


def test_uses_are_written_on_closing(opened: Callable[..., Store], clock: Clock) -> None:
    one, two = opened(), opened()
    putter(one)(b"a", name="a")
    clock.now += 10
    one.touch("w", [1])
    one.close()
    assert two.artifact("w", 1).used_at == clock.now
