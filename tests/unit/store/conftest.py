"""A store in a temporary directory, a clock that tests move, and a short way to put content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from mcp_offload.models import Artifact, FileStamp, Kind, Version
from mcp_offload.store import Failpoints, NewVersion, Store, StoreConfig

MIB = 1024 * 1024


class Clock:
    """POSIX seconds that move only when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Put(Protocol):
    def __call__(self, data: bytes, **options: Any) -> tuple[Artifact, Version, bool]: ...


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


def putter(store: Store, workspace: str = "w") -> Put:
    def put(
        data: bytes,
        *,
        name: str = "x",
        kind: Kind = Kind.FILE,
        path: str | None = None,
        view: bytes | None = None,
        number: int | None = None,
        stamp: FileStamp | None = None,
    ) -> tuple[Artifact, Version, bool]:
        with store.stage([data]) as staged, store.stage([view or b""]) as staged_view:
            new = NewVersion(
                staged=staged,
                view=None if view is None else staged_view,
                kind=kind,
                name=name,
                source_path=path,
                number=number,
                encoding="utf-8",
                lines=staged.lines,
                stamp=stamp,
            )
            (result,) = store.commit(workspace, [new])
        return result

    return put


def content(store: Store, version: Version) -> bytes:
    with store.open_raw(version) as reader:
        return b"".join(reader.chunks(100_000))


def blob_files(config: StoreConfig) -> list[Path]:
    return sorted((Path(config.store_dir) / "blobs").iterdir())
