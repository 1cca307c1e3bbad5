"""A store in a temporary directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.store import Failpoints, Store, StoreConfig
from tests.unit.store.helpers import Clock, Put, putter, quick_folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def config(tmp_path: Path, clock: Clock) -> StoreConfig:
    return StoreConfig(
        store_dir=str(tmp_path / "store"), state_dir=str(tmp_path / "state"), clock=clock, reserve_bytes=0
    )


@pytest.fixture
def opened(config: StoreConfig) -> Iterator[Callable[..., Store]]:
    """Open stores that are closed at the end; keywords replace settings."""
    stores: list[Store] = []

    def open_store(*failpoints: str, **settings: Any) -> Store:
        store = Store.open(replace(config, failpoints=Failpoints(failpoints), **settings))
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[..., Store]) -> Store:
    return opened()


@pytest.fixture
def put(store: Store) -> Put:
    return putter(store)
