"""What is found after a crash of the host, played by another boot identifier in the catalog."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_offload.errors import HandleGoneError
from mcp_offload.store import Store, StoreConfig
from mcp_offload.store.recovery import boot_id
from mcp_offload.store.sql import Database
from tests.unit.store.helpers import blob_files, content, putter

pytestmark = pytest.mark.skipif(boot_id() is None, reason="this system does not say when it was started")

A, B, C = (mark * 50_000 for mark in (b"a\n", b"b\n", b"c\n"))


def crash_host(config: StoreConfig) -> None:
    db = Database(os.path.join(config.store_dir, "catalog.sqlite"))
    db.run("UPDATE meta SET value = 'before' WHERE key = 'boot_id'")
    db.close()


def file_of(config: StoreConfig, blake3: str) -> Path:
    (file,) = (file for file in blob_files(config) if file.name.startswith(blake3))
    return file


def test_damaged_blobs_are_dropped_and_sound_ones_kept(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    put = putter(store)
    short, zeros, sound = (put(data, name=name)[1] for data, name in ((A, "a"), (B, "b"), (C, "c")))
    small = put(b"inline")[1]
    store.close()
    crash_host(config)
    os.truncate(file_of(config, short.blake3), 0)
    file_of(config, zeros.blake3).write_bytes(bytes(len(B)))

    again = opened()
    with pytest.raises(HandleGoneError) as caught:
        again.version("w", 1)
    assert caught.value.reason == "wiped"
    assert again.version("w", 2) == zeros  # the size is right: found when it is first opened
    with pytest.raises(HandleGoneError) as caught:
        again.open_view(zeros)
    assert caught.value.reason == "wiped"
    with pytest.raises(HandleGoneError):
        again.version("w", 2)
    assert content(again, sound) == C
    assert content(again, small) == b"inline"
    assert again.gc().orphans == 0
    assert again.check(deep=True).problems == ()


def test_a_sound_blob_is_hashed_only_once(opened: Callable[..., Store], config: StoreConfig) -> None:
    store = opened()
    version = putter(store)(A)[1]
    store.close()
    crash_host(config)
    again = opened()
    assert content(again, version) == A
    file_of(config, version.blake3).write_bytes(bytes(len(A)))
    with again.open_raw(version) as reader:  # trusted by now, until asked to verify
        assert reader.read(0, 3) == b"\0\0\0"


def test_storing_damaged_content_again_mends_it(opened: Callable[..., Store], config: StoreConfig) -> None:
    store = opened()
    version = putter(store)(A, path="/a")[1]
    store.close()
    crash_host(config)
    file_of(config, version.blake3).write_bytes(bytes(len(A)))
    again = opened()
    assert putter(again)(A, path="/a")[2] is False
    assert content(again, version) == A
    assert again.check(deep=True).problems == ()


def test_an_older_version_survives_the_loss_of_the_latest(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    putter(store)(A, path="/a")
    lost = putter(store)(B, path="/a")[1]
    store.close()
    crash_host(config)
    os.truncate(file_of(config, lost.blake3), 7)
    again = opened()
    assert content(again, again.version("w", 1, 1)) == A
    with pytest.raises(HandleGoneError):
        again.version("w", 1)
    assert putter(again)(B, path="/a")[1].version == 3
    assert again.check(deep=True).problems == ()


def test_numbers_that_may_have_been_lost_are_not_issued_again(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    putter(store)(A)
    store.close()
    crash_host(config)
    assert putter(opened())(B)[0].number > 32


def test_what_was_synced_is_not_suspected(opened: Callable[..., Store], config: StoreConfig) -> None:
    store = opened(durability="host")
    version = putter(store)(A)[1]
    store.close()
    crash_host(config)
    again = opened(durability="host")
    file_of(config, version.blake3).write_bytes(bytes(len(A)))
    with again.open_raw(version) as reader:
        assert reader.read(0, 3) == b"\0\0\0"
    assert putter(again)(B)[0].number == 2


def test_a_stricter_promise_covers_what_was_stored_before(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    loose = opened()
    version = putter(loose)(A, path="/a")[1]
    loose.close()
    strict = opened(durability="host")
    putter(strict)(A, path="/a")
    strict.close()
    crash_host(config)
    again = opened(durability="host")
    file_of(config, version.blake3).write_bytes(bytes(len(A)))
    with again.open_raw(version) as reader:  # synced by the second put, so not hashed again
        assert reader.read(0, 1) == b"\0"


def test_the_boot_is_unknown_where_the_system_does_not_say(tmp_path: Path) -> None:
    assert boot_id(str(tmp_path / "missing")) is None
