"""The store's directory may be deleted at any time, and its numbers are never issued again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_offload.errors import HandleGoneError, HandleNotFoundError, StoreError
from mcp_offload.models import Kind
from mcp_offload.store import NewVersion, Store, StoreConfig
from tests.unit.store.helpers import content, putter

DATA = b"some text\n" * 5000


def wipe(config: StoreConfig) -> None:
    shutil.rmtree(config.store_dir)


def test_numbers_go_on_behind_a_wipe(opened: Callable[..., Store], config: StoreConfig) -> None:
    store = opened()
    for turn in range(3):
        putter(store)(b"%d" % turn, name=str(turn))
    store.close()
    wipe(config)
    again = opened()
    assert putter(again)(b"new")[0].number > 3


def test_a_handle_from_before_a_wipe_is_gone_and_a_later_one_unknown(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    putter(store)(DATA)
    store.close()
    wipe(config)
    again = opened()
    with pytest.raises(HandleGoneError) as caught:
        again.artifact("w", 1)
    assert caught.value.reason == "wiped"
    with pytest.raises(HandleNotFoundError):
        again.artifact("w", 10_000)
    assert again.release("w", [1]).versions == 0


def test_numbers_reserved_but_not_yet_issued_are_unknown(opened: Callable[..., Store]) -> None:
    store = opened()
    putter(store)(DATA)
    for number in (0, -1, 2, 32, 33):
        with pytest.raises(HandleNotFoundError):
            store.artifact("w", number)


def test_an_open_store_goes_on_in_a_new_directory(opened: Callable[..., Store], config: StoreConfig) -> None:
    store = opened()
    version = putter(store)(DATA)[1]
    with store.open_view(version) as reader:
        wipe(config)
        assert reader.read(0, 5) == DATA[:5]  # what is open stays readable
    with pytest.raises(HandleGoneError):
        store.version("w", 1)
    with pytest.raises(HandleGoneError):
        store.open_view(version)
    artifact, version, _ = putter(store)(DATA)
    assert artifact.number > 1
    assert content(store, version) == DATA
    assert Path(config.store_dir, "catalog.sqlite").exists()


def test_two_open_stores_meet_again_after_a_wipe(opened: Callable[..., Store], config: StoreConfig) -> None:
    one, two = opened(), opened()
    first = {putter(one)(b"1", name="1")[0].number, putter(two)(b"2", name="2")[0].number}
    wipe(config)
    later = {putter(one)(b"3", name="3")[0].number, putter(two)(b"4", name="4")[0].number}
    assert not first & later
    assert one.list("w", limit=9)[1] == two.list("w", limit=9)[1] == 2


def test_content_staged_before_a_wipe_is_stored_or_refused_but_never_lost(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    with store.stage([DATA]) as staged:
        wipe(config)
        new = NewVersion(staged=staged, kind=Kind.LOG, name="x", encoding="utf-8", lines=5000)
        try:
            ((_, version, _),) = store.commit("w", [new])
        except StoreError:
            return
    assert content(store, version) == DATA


def test_stores_that_share_a_state_directory_never_share_numbers(
    opened: Callable[..., Store], tmp_path: Path
) -> None:
    one, two = opened(), opened(store_dir=str(tmp_path / "other"))
    numbers: list[int] = []
    for turn in range(70):
        numbers.append(putter(one)(b"%d" % turn, name=str(turn))[0].number)
        numbers.append(putter(two)(b"%d" % turn, name=str(turn))[0].number)
    assert len(set(numbers)) == len(numbers)


def test_without_the_state_directory_numbers_go_on_from_the_catalog(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    putter(store)(DATA)
    shutil.rmtree(config.state_dir)
    numbers = [putter(store)(b"%d" % turn, name=str(turn))[0].number for turn in range(40)]
    assert numbers == list(range(2, 42))
