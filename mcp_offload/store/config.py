"""What a store is opened with, what it is given and what it answers: plain values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from mcp_offload.models import FileStamp, Kind
from mcp_offload.settings import GIB, KIB, MIB, Durability, Settings
from mcp_offload.store.failpoints import Failpoints

if TYPE_CHECKING:
    from mcp_offload.store.staged import Staged

INLINE_MAX_BYTES: Final = 16 * KIB
"""Payloads up to this size live in the catalog: no inode, one commit, and not yet slow in the log."""

BLOCK_BYTES: Final = 256 * KIB
"""A newline count is kept per block of this size."""

BALLAST_BYTES: Final = 2 * MIB
"""Disk space given up when the disk is full, because deleting rows needs room as well."""

WAL_LIMIT_BYTES: Final = 16 * MIB
"""Size of the write-ahead log above which the next writer folds it into the catalog."""

MARK_BLOCK: Final = 32
"""Handle numbers reserved ahead in the state directory, so that it is written once in so many puts."""

TOMBSTONE_SECONDS: Final = 30 * 24 * 3600
"""How long the store can tell why a handle is gone; after that it says only that it is."""

TOUCH_SECONDS: Final = 30.0
"""Longest time a use may wait in memory before it is recorded."""

WRITE_AFTER_SECONDS: Final = 0.25
"""Longest time a delivery may wait in memory before it is written to the ledger."""

Gone = Literal["evicted", "expired", "released", "wiped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Everything a store needs to know; see :class:`mcp_offload.settings.Settings` for the meanings.

    Attributes:
        wal_limit_bytes: size of the write-ahead log above which a writer folds it into the catalog.
        write_after_seconds: how long what was delivered may wait in memory before it is written.
        lock_timeout_seconds: longest wait for another process before ``StoreBusyError``.
        clock: POSIX seconds; replaced in tests of ages.
        failpoints: for tests; see :mod:`mcp_offload.store.failpoints`.
    """

    store_dir: str
    state_dir: str
    durability: Durability = "process"
    quota_bytes: int = 4 * GIB
    max_artifact_bytes: int = 8 * GIB
    ttl_seconds: int = 7 * 24 * 3600
    reserve_bytes: int = 64 * MIB
    wal_limit_bytes: int = WAL_LIMIT_BYTES
    write_after_seconds: float = WRITE_AFTER_SECONDS
    lock_timeout_seconds: float = 10.0
    clock: Callable[[], float] = time.time
    failpoints: Failpoints = field(default_factory=Failpoints)

    @classmethod
    def from_settings(cls, settings: Settings) -> StoreConfig:
        """The store's part of the settings.

        Raises:
            SettingsError: a failpoint is malformed.
        """
        return cls(
            store_dir=settings.store_dir,
            state_dir=settings.state_dir,
            durability=settings.durability,
            quota_bytes=settings.quota_bytes,
            max_artifact_bytes=settings.max_artifact_bytes,
            ttl_seconds=settings.ttl_seconds,
            reserve_bytes=settings.reserve_bytes,
            failpoints=Failpoints(settings.failpoints),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """One content to commit.

    Attributes:
        staged: the bytes; used up by a commit that succeeds, still the caller's to close otherwise.
        view: their UTF-8 transcription where it differs.
        kind: of a new artifact; an existing one keeps its kind.
        source_path: absolute path the bytes were read from, or None for content.
        number: makes a new version of that artifact, whatever the path.
        issued: ``number`` was issued by :meth:`Store.grow`, and this is its first version.
        lines: of the view; a last line without LF counts.
        created_at: POSIX seconds; None means now.
    """

    staged: Staged
    kind: Kind
    name: str
    encoding: str
    lines: int
    view: Staged | None = None
    source_path: str | None = None
    number: int | None = None
    issued: bool = False
    language: str | None = None
    stamp: FileStamp | None = None
    created_at: float | None = None


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """What a release or purge dropped; a blob that others still use is not counted as freed."""

    numbers: tuple[int, ...]
    versions: int
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What the store holds. ``stored_bytes`` counts each live blob once, all workspaces together."""

    artifacts: int
    versions: int
    pinned: int
    blobs: int
    stored_bytes: int
    catalog_bytes: int
    wal_bytes: int
    free_disk_bytes: int
    schema_version: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check of the whole store found; sound where ``problems`` is empty."""

    problems: tuple[str, ...]
    blobs: int
    checked_bytes: int
    orphans: int


class SymbolCandidate(NamedTuple):
    """A live artifact whose latest view has a cached outline with a name that may match."""

    number: int
    version: int
    key: str
    payload: bytes
