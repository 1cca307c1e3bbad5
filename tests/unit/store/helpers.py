"""A clock that tests move, and short ways to put content and to look at what became of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from mcp_offload.models import Artifact, FileStamp, Kind, Version
from mcp_offload.store import NewVersion, Store, StoreConfig

MIB = 1024 * 1024


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder in memory where there is one: many small stores are made, some with fsync."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="store-", dir=memory) as folder:
        yield Path(folder)


class Clock:
    """POSIX seconds that move only when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Put(Protocol):
    def __call__(self, data: bytes, **options: Any) -> tuple[Artifact, Version, bool]: ...


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
