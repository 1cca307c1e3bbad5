"""The ephemeral store: artifacts and their versions, shared by all processes of one user.

Linux and macOS. Windows is not supported: there is no ``flock``, ``pread`` or ``linkat`` there. A store
must not be used across ``fork``; open it again in the child.
"""

from __future__ import annotations

from builtins import list as list_  # the class has a method of that name
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mcp_offload.errors import InvalidArgumentError, NotFoundError
from mcp_offload.models import Artifact, Kind, Monitor, SilentMonitor, Version
from mcp_offload.store import caches, catalog, integrity
from mcp_offload.store.access import Access
from mcp_offload.store.commit import Commit
from mcp_offload.store.config import (
    CheckReport,
    NewVersion,
    ReleaseReport,
    StoreConfig,
    StoreStats,
    SymbolCandidate,
)
from mcp_offload.store.faults import translated
from mcp_offload.store.growing import Growing, GrowingDir, growing_artifact
from mcp_offload.store.ledger import Ledger
from mcp_offload.store.opening import open_blob, open_growing
from mcp_offload.store.reader import BlobReader
from mcp_offload.store.schema import STEPS
from mcp_offload.store.sql import Database
from mcp_offload.store.staged import Staged
from mcp_offload.store.staging import Buffers, Stager

if TYPE_CHECKING:
    from mcp_offload.models import GcResult


class Store:
    """An open store; its methods may be called from any thread.

    Every method may raise ``StoreBusyError`` (another process held a lock for too long) and
    ``StoreError`` (the disk or the catalog failed), and every method that writes ``StoreFullError``.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._ledger = Ledger(access)
        self._buffers = Buffers()

    @classmethod
    def open(cls, config: StoreConfig) -> Store:
        """Open the store, creating it where it is missing.

        Raises:
            StoreUnsafeError: its directory is not ours alone.
            StoreVersionError: a newer release wrote it; it was left untouched.
        """
        return cls(Access(config))

    def close(self) -> None:
        """Write the last uses and deliveries and close; content that is being read stays readable."""
        self._ledger.close()
        self._access.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- storing ---

    def stage(self, chunks: Iterable[bytes], *, monitor: Monitor | None = None) -> Staged:
        """Take content in without acknowledging it; the caller closes it.

        Raises:
            ArtifactTooLargeError, QuotaExceededError: it can never be stored.
            StoreFullError: the disk is full.
            OperationCancelledError: let through from the monitor.
        """
        return self._stager(monitor, None).chunks(chunks)

    def stage_file(
        self, fd: int, *, total_bytes: int | None = None, monitor: Monitor | None = None
    ) -> Staged:
        """Take in what a descriptor gives, from its position to its end; the fast way for large files.

        Args:
            fd: stays open, and the caller's.
            total_bytes: expected, where known: room is made before anything is written.
            monitor: told of progress at least every 0.1 s while the descriptor gives.

        Raises:
            OSError: the descriptor cannot be read.
            ArtifactTooLargeError, QuotaExceededError, StoreFullError, OperationCancelledError: as for
                :meth:`stage`.
        """
        return self._stager(monitor, total_bytes).file(fd)

    def _stager(self, monitor: Monitor | None, total_bytes: int | None) -> Stager:
        access = self._access
        blobs, listener = access.current().blobs, monitor or SilentMonitor()
        return Stager(access.config, blobs, access.make_room, listener, total_bytes, self._buffers)

    def commit(self, workspace: str, puts: Sequence[NewVersion]) -> list_[tuple[Artifact, Version, bool]]:
        """Acknowledge staged content: all of it in one transaction, or nothing.

        ``number`` makes a new version of that artifact; else ``source_path``, where known, of the
        artifact read from there; else content of the same name, kind and hash is that artifact; else
        an artifact is made. Bytes equal to the latest version's make no new version: the flag is then
        False and the stamp is refreshed.

        Raises:
            HandleNotFoundError, HandleGoneError: ``number`` names no live artifact.
            QuotaExceededError, StoreFullError: no room, even after evicting what may be.
        """
        access = self._access
        return access.write(
            lambda session: Commit(access.config, session, access.marks, access.touches).run(workspace, puts)
        )

    def grow(self, workspace: str, name: str) -> Growing:
        """Begin a log whose bytes are still to come; it can be read from now on.

        It is committed like anything else, with its ``number`` as ``issued``, and then discarded.
        """
        access = self._access
        number = access.write(
            lambda session: Commit(access.config, session, access.marks, access.touches).issue(workspace)
        )
        with translated():
            return access.growing.create(growing_artifact(workspace, number, name, access.config.clock()))

    @property
    def growing(self) -> GrowingDir:
        """The artifacts that grow, or wait to be committed."""
        return self._access.growing

    @property
    def ledger(self) -> Ledger:
        """What was delivered to which session."""
        return self._ledger

    # --- looking up ---

    def artifact(self, workspace: str, number: int) -> Artifact:
        """The artifact of this number.

        Raises:
            HandleGoneError: it is there no more; ``reason`` says why.
            HandleNotFoundError: the workspace never had it.
        """
        try:
            return self._access.read(lambda db: self._require(db, workspace, number))
        except NotFoundError as error:
            return self._grown(workspace, number, error)

    def _grown(self, workspace: str, number: int, missing: NotFoundError) -> Artifact:
        """One that is not in the catalog because it grows."""
        artifact = self._access.growing.artifact(workspace, number)
        if artifact is None:
            raise missing
        return artifact

    def _require(self, db: Database, workspace: str, number: int) -> Artifact:
        artifact = catalog.live_artifact(db, workspace, number)
        if artifact is None:
            catalog.raise_unknown(db, workspace, number, self._access.marks.current(workspace))
        return artifact

    def artifact_by_path(self, workspace: str, source_path: str) -> Artifact | None:
        """The live artifact read from an absolute path."""
        return self._access.read(lambda db: catalog.artifact_by_path(db, workspace, source_path))

    def known_file(self, workspace: str, source_path: str) -> tuple[Artifact, list_[Version]] | None:
        """The live artifact read from an absolute path, and those of its versions whose bytes are there."""

        def query(db: Database) -> tuple[Artifact, list_[Version]] | None:
            artifact = catalog.artifact_by_path(db, workspace, source_path)
            return None if artifact is None else (artifact, catalog.live_versions(db, artifact))

        return self._access.read(query)

    def versions(self, workspace: str, number: int) -> list_[Version]:
        """The versions of an artifact whose bytes are there, oldest first.

        Raises:
            HandleGoneError, HandleNotFoundError: as for :meth:`artifact`.
        """

        def query(db: Database) -> list_[Version]:
            return catalog.live_versions(db, self._require(db, workspace, number))

        try:
            return self._access.read(query)
        except NotFoundError as error:
            grown = self._access.growing.version(self._grown(workspace, number, error))
            return [] if grown is None else [grown]

    def version(self, workspace: str, number: int, version: int | None = None) -> Version:
        """One version of an artifact, by default the latest.

        Raises:
            HandleGoneError: the artifact or this version is there no more.
            HandleNotFoundError: never issued.
        """

        def query(db: Database) -> Version:
            artifact = self._require(db, workspace, number)
            return catalog.version(db, artifact, artifact.latest if version is None else version)

        try:
            return self._access.read(query)
        except NotFoundError as error:
            grown = self._access.growing.version(self._grown(workspace, number, error))
            if grown is None or (version or 1) != 1:
                raise
            return grown

    def find_by_hash(self, workspace: str, blake3: str) -> list_[tuple[Artifact, Version]]:
        """Live versions whose stored bytes have this hash, in order of number and version."""
        return self._access.read(lambda db: catalog.find_by_hash(db, workspace, blake3))

    def list(
        self,
        workspace: str,
        *,
        limit: int,
        offset: int = 0,
        kind: Kind | None = None,
        name_contains: str | None = None,
    ) -> tuple[list_[tuple[Artifact, Version]], int]:
        """Live artifacts with their latest version, and how many there are.

        Those that grow come first, then the most recently used.
        """
        if limit < 0 or offset < 0:
            raise InvalidArgumentError("limit and offset must not be negative.")
        if self._access.touches.waiting():
            self._access.transact(self._access.touches.record)
        first = self._access.growing.listed(workspace, kind, name_contains)
        more = max(0, limit - max(0, len(first) - offset))
        rows, total = self._access.read(
            lambda db: catalog.listing(
                db,
                workspace,
                limit=more,
                offset=max(0, offset - len(first)),
                kind=kind,
                name_contains=name_contains,
            )
        )
        return first[offset : offset + limit] + rows, total + len(first)

    # --- reading ---

    def open_view(self, version: Version) -> BlobReader:
        """Open the UTF-8 view of a version; the caller closes it.

        Raises:
            HandleGoneError: the bytes are there no more.
            CorruptBlobError: they are not what was acknowledged.
        """
        if version.growing:
            return open_growing(self._access, version)
        return open_blob(self._access, version, version.view_blake3 or version.blake3)

    def open_raw(self, version: Version) -> BlobReader:
        """Open the stored bytes of a version; the caller closes it.

        Raises:
            HandleGoneError, CorruptBlobError: as for :meth:`open_view`.
        """
        if version.growing:
            return open_growing(self._access, version)
        return open_blob(self._access, version, version.blake3)

    def verify(self, version: Version, *, monitor: Monitor | None = None) -> None:
        """Hash the stored bytes and the view again.

        Raises:
            CorruptBlobError: they are not what was acknowledged.
            HandleGoneError: they are there no more.
        """
        hashes = [version.blake3] if version.view_blake3 is None else [version.blake3, version.view_blake3]
        for blake3 in hashes:
            with open_blob(self._access, version, blake3) as reader:
                integrity.verify_reader(reader, blake3, monitor or SilentMonitor())

    # --- caches ---

    def outline_get(self, key: str) -> bytes | None:
        """The payload kept under a key."""
        return self._access.read(lambda db: caches.outline_get(db, key))

    def outline_put(self, key: str, payload: bytes, names: str) -> None:
        """Keep an outline for as long as its view is stored.

        Args:
            key: the view's hex BLAKE3 hash, followed by whatever else the payload depends on.
            payload: opaque.
            names: the qualified names in it, one a line, for :meth:`symbol_candidates`.

        Raises:
            InvalidArgumentError: the key does not start with a hash.
        """
        now = self._access.config.clock()
        self._access.transact(lambda db: caches.outline_put(db, key, payload, names, now))

    def symbol_candidates(self, workspace: str, needle: str, limit: int) -> list_[SymbolCandidate]:
        """Outlines of latest views whose names contain the text (ASCII case aside), latest used first."""
        return self._access.read(lambda db: catalog.symbol_candidates(db, workspace, needle, limit))

    def tokens_get(self, blake3: str) -> int | None:
        """The exact token count kept for a view's hash."""
        return self._access.read(lambda db: caches.tokens_get(db, blake3))

    def tokens_put(self, blake3: str, tokens: int) -> None:
        """Keep a token count for as long as its view is stored."""
        now = self._access.config.clock()
        self._access.transact(lambda db: caches.tokens_put(db, blake3, tokens, now))

    # --- life ---

    def touch(self, workspace: str, numbers: Iterable[int]) -> None:
        """Note that artifacts were used; written with the next commit, or after half a minute."""
        if self._access.touches.add(workspace, numbers, self._access.config.clock()):
            self._access.transact(self._access.touches.record)

    def release(self, workspace: str, numbers: Iterable[int]) -> ReleaseReport:
        """Drop artifacts with all their versions, pinned ones too; those already gone are passed over.

        Raises:
            HandleNotFoundError: a number was never issued; nothing is dropped then.
        """
        wanted = tuple(numbers)
        return self._access.maintain(lambda maintenance: maintenance.release(workspace, wanted))

    def pin(self, workspace: str, numbers: Iterable[int], pinned: bool) -> None:
        """Keep artifacts from eviction and expiry, or no longer.

        Raises:
            HandleGoneError, HandleNotFoundError: a number names no live artifact; nothing is changed then.
        """
        wanted = tuple(numbers)
        self._access.maintain(lambda maintenance: maintenance.pin(workspace, wanted, pinned))

    def purge(self, workspace: str | None) -> ReleaseReport:
        """Drop everything of a workspace, or of all (None), pinned or not; numbers stay used up."""
        return self._access.maintain(lambda maintenance: maintenance.purge(workspace))

    def gc(self, now: float | None = None) -> GcResult:
        """Expire, evict over quota, delete unfinished writes and old records, shrink the catalog."""
        if self._access.touches.waiting():
            self._access.transact(self._access.touches.record)
        at = self._access.config.clock() if now is None else now
        return self._access.maintain(lambda maintenance: maintenance.collect(at))

    def stats(self, workspace: str) -> StoreStats:
        """What the workspace and the store hold."""
        row = self._access.read(lambda db: catalog.counts(db, workspace))
        session = self._access.session
        return catalog.to_stats(
            row,
            catalog_bytes=session.catalog_bytes(),
            wal_bytes=session.wal_bytes(),
            free_bytes=session.blobs.free_bytes(),
            schema=len(STEPS),
        )

    def workspace_bytes(self, workspace: str) -> int:
        """Bytes of all live versions of a workspace; content that is there twice counts twice."""
        return self._access.read(lambda db: catalog.workspace_bytes(db, workspace))

    def check(self, *, deep: bool = False, monitor: Monitor | None = None) -> CheckReport:
        """Compare catalog and files of all workspaces, where ``deep`` hashing every blob.

        Nothing can be stored meanwhile.

        Raises:
            OperationCancelledError: let through from the monitor.
        """
        listener = monitor or SilentMonitor()
        return self._access.write(lambda session: integrity.check(session, listener, deep=deep))
