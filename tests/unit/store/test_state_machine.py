"""Random operations against a plain model: nothing acknowledged is lost, altered or told wrongly."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_offload.errors import (
    HandleGoneError,
    HandleNotFoundError,
    QuotaExceededError,
    StoreError,
    StoreFullError,
)
from mcp_offload.models import Kind, Version
from mcp_offload.store import Failpoints, NewVersion, Store, StoreConfig
from mcp_offload.store.config import TOMBSTONE_SECONDS
from tests.unit.store.helpers import Clock, quick_folder

WORKSPACES = ("w", "v")
PATHS = (None, "/a", "/b")
SIZES = (0, 10, 16_384, 16_385, 70_000, 150_000)
QUOTA_BYTES = 400_000
TTL_SECONDS = 1000
FAIL_STEPS = ("blob.linked", "commit.rows", "commit.before", "evict.rows", "release.rows", "commit.after")

contents = st.builds(
    lambda size, mark: ((mark + "\n") * (size // 2)).encode(), st.sampled_from(SIZES), st.sampled_from("abcd")
)
large = st.builds(lambda mark: ((mark + "\n") * 50_000).encode(), st.sampled_from("abcdefghijkl"))


@dataclass
class Known:
    """What the model knows of one artifact; a live version may have been evicted unless pinned."""

    kind: Kind
    name: str
    path: str | None
    versions: dict[int, tuple[Version, bytes]] = field(default_factory=dict)
    gone: dict[int, set[str]] = field(default_factory=dict)  # version -> the reasons it may give
    pinned: bool = False
    used_at: float = 0.0

    @property
    def latest(self) -> int:
        return max([*self.versions, *self.gone])

    def lose_all(self, reason: str) -> None:
        """Once the whole artifact is gone, its reason may stand for those of all its versions."""
        self.gone.update({version: set() for version in self.versions})
        self.versions.clear()
        for reasons in self.gone.values():
            reasons.add(reason)


class StoreMachine(RuleBasedStateMachine):
    """Two workspaces and two openings of one store, with a quota that a few contents fill."""

    @initialize()
    def start(self) -> None:
        self.folder = quick_folder()
        self.root = self.folder.__enter__()
        self.clock = Clock()
        self.known: dict[tuple[str, int], Known] = {}
        self.lost: set[tuple[str, int]] = set()
        self.highest = dict.fromkeys(WORKSPACES, 0)
        self.stores = [self.open(), self.open()]

    def open(self, *failpoints: str) -> Store:
        return Store.open(
            StoreConfig(
                store_dir=str(self.root / "store"),
                state_dir=str(self.root / "state"),
                quota_bytes=QUOTA_BYTES,
                ttl_seconds=TTL_SECONDS,
                reserve_bytes=0,
                clock=self.clock,
                failpoints=Failpoints(failpoints),
            )
        )

    def teardown(self) -> None:
        if hasattr(self, "root"):
            for store in self.stores:
                store.close()
            self.folder.__exit__(None, None, None)

    # --- what may happen ---

    @rule(
        which=st.integers(0, 1),
        workspace=st.sampled_from(WORKSPACES),
        data=contents,
        view=st.one_of(st.none(), contents),
        path=st.sampled_from(PATHS),
        kind=st.sampled_from([Kind.FILE, Kind.LOG]),
        fail=st.sampled_from((None, *FAIL_STEPS)),
    )
    def put(
        self,
        which: int,
        workspace: str,
        data: bytes,
        view: bytes | None,
        path: str | None,
        kind: Kind,
        fail: str | None,
    ) -> None:
        store = self.stores[which] if fail is None else self.open(f"{fail}=eio")
        self.clock.now += 1
        try:
            with store.stage([data]) as staged, store.stage([view or b""]) as other:
                new = NewVersion(
                    staged=staged,
                    view=None if view is None else other,
                    kind=kind,
                    name="name",
                    source_path=path,
                    encoding="utf-8",
                    lines=staged.lines,
                )
                ((artifact, version, is_new),) = store.commit(workspace, [new])
        except (QuotaExceededError, StoreFullError):
            self.expect_quota_full()
            return
        except StoreError:
            assert fail is not None
            self.accept_whatever_a_failed_commit_left(workspace)
            return
        finally:
            if fail is not None:
                store.close()
        self.acknowledge(workspace, artifact.number, version, data, is_new, kind, path)

    @rule(
        workspace=st.sampled_from(WORKSPACES),
        data=st.lists(large, min_size=2, max_size=5, unique=True),
        path=st.sampled_from(PATHS),
    )
    def fill(self, workspace: str, data: list[bytes], path: str | None) -> None:
        """Put so much that something must be evicted."""
        for each in data:
            self.put(0, workspace, each, None, path, Kind.FILE, None)

    @rule(workspace=st.sampled_from(WORKSPACES), data=large, view=large, name=st.sampled_from("xyz"))
    def put_view_then_stored(self, workspace: str, data: bytes, view: bytes, name: str) -> None:
        """The view of one artifact is what another one stores."""
        self.put(0, workspace, data, view, "/" + name, Kind.FILE, None)
        self.put(1, workspace, view, None, None, Kind.LOG, None)

    def acknowledge(
        self,
        workspace: str,
        number: int,
        version: Version,
        data: bytes,
        new: bool,
        kind: Kind,
        path: str | None,
    ) -> None:
        key = (workspace, number)
        if key not in self.known:
            assert new
            assert version.version == 1
            assert number > self.highest[workspace], "a number was issued twice"
            self.highest[workspace] = number
            self.known[key] = Known(kind, "name", path)
        known = self.known[key]
        assert (known.path, known.name) == (path, "name")
        if new and known.versions | known.gone:
            assert version.version == known.latest + 1
        elif not new:
            assert known.versions[version.version][1] == data
            assert version.version == known.latest
        known.versions[version.version] = (version, data)
        known.used_at = self.clock.now
        self.notice_evictions()

    def expect_quota_full(self) -> None:
        """A refusal is right only where what is pinned fills the quota."""
        pinned = {
            blob
            for known in self.known.values()
            if known.pinned
            for version, _ in known.versions.values()
            for blob in (version.blake3, version.view_blake3)
            if blob
        }
        assert pinned, "refused although everything could have been evicted"

    def accept_whatever_a_failed_commit_left(self, workspace: str) -> None:
        """An unacknowledged commit may be there or not, but whole; take over what there is."""
        self.notice_evictions()
        store = self.stores[0]
        for artifact, version in store.list(workspace, limit=1000)[0]:
            key = (workspace, artifact.number)
            if key not in self.known:
                assert artifact.number > self.highest[workspace]
                self.highest[workspace] = artifact.number
                self.known[key] = Known(artifact.kind, artifact.name, artifact.source_path)
            known = self.known[key]
            if version.version not in known.versions:
                with store.open_raw(version) as reader:
                    known.versions[version.version] = (version, reader.read(0, reader.size_bytes))
                known.used_at = artifact.used_at

    def notice_evictions(self) -> None:
        """Move what the store has evicted to the gone; nothing pinned may be among it."""
        for (workspace, number), known in self.known.items():
            alive: set[int] = set()
            try:
                alive = {version.version for version in self.stores[0].versions(workspace, number)}
            except HandleGoneError as error:
                assert error.reason == "evicted" or not known.versions
            for version in set(known.versions) - alive:
                assert not known.pinned, "a pinned version was dropped"
                known.versions.pop(version)
                known.gone[version] = {"evicted"}

    @rule(which=st.integers(0, 1), data=st.data())
    @precondition(lambda self: any(known.versions for known in self.known.values()))
    def read(self, which: int, data: st.DataObject) -> None:
        workspace, number = data.draw(self.live())
        known = self.known[workspace, number]
        number_of = data.draw(st.sampled_from(sorted(known.versions)))
        version, expected = known.versions[number_of]
        found = self.stores[which].version(workspace, number, number_of)
        assert found.blake3 == version.blake3
        with self.stores[which].open_raw(found) as reader:
            assert reader.read(0, reader.size_bytes) == expected
            assert reader.line_count == expected.count(b"\n")
        self.stores[which].verify(found)

    def live(self) -> st.SearchStrategy[tuple[str, int]]:
        return st.sampled_from(sorted(key for key, known in self.known.items() if known.versions))

    @rule(which=st.integers(0, 1), data=st.data())
    @precondition(lambda self: any(known.versions for known in self.known.values()))
    def release(self, which: int, data: st.DataObject) -> None:
        workspace, number = data.draw(self.live())
        known = self.known[workspace, number]
        report = self.stores[which].release(workspace, [number])
        assert report.versions == len(known.versions)
        known.lose_all("released")
        known.pinned = False

    @rule(which=st.integers(0, 1), data=st.data(), pinned=st.booleans())
    @precondition(lambda self: any(known.versions for known in self.known.values()))
    def pin(self, which: int, data: st.DataObject, pinned: bool) -> None:
        workspace, number = data.draw(self.live())
        self.stores[which].pin(workspace, [number], pinned)
        self.known[workspace, number].pinned = pinned

    @rule(which=st.integers(0, 1), data=st.data())
    @precondition(lambda self: any(known.versions for known in self.known.values()))
    def touch(self, which: int, data: st.DataObject) -> None:
        workspace, number = data.draw(self.live())
        self.stores[which].touch(workspace, [number])
        self.stores[which].list(workspace, limit=1)  # writes it
        self.known[workspace, number].used_at = self.clock.now

    @rule(which=st.integers(0, 1), seconds=st.sampled_from([1, TTL_SECONDS // 2, TTL_SECONDS + 1]))
    def collect(self, which: int, seconds: int) -> None:
        self.clock.now += seconds
        self.stores[which].gc()
        for known in self.known.values():
            if known.versions and not known.pinned and known.used_at < self.clock.now - TTL_SECONDS:
                known.lose_all("expired")
        self.notice_evictions()
        assert self.stores[which].check().orphans == 0

    @rule(which=st.integers(0, 1))
    def restart(self, which: int) -> None:
        self.stores[which].close()
        self.stores[which] = self.open()

    @rule(workspace=st.sampled_from((None, *WORKSPACES)))
    @precondition(lambda self: self.clock.now % 3 == 0)  # seldom, so that more can gather
    def purge(self, workspace: str | None) -> None:
        self.stores[0].purge(workspace)
        self.forget([key for key in self.known if workspace in {None, key[0]}])

    @rule()
    @precondition(lambda self: self.clock.now % 5 == 0)
    def wipe(self) -> None:
        shutil.rmtree(self.root / "store")
        self.forget(list(self.known))

    def forget(self, keys: list[tuple[str, int]]) -> None:
        for key in keys:
            del self.known[key]
            self.lost.add(key)

    # --- what must always hold ---

    @invariant()
    def the_gone_tell_why(self) -> None:
        if not hasattr(self, "stores"):
            return
        for workspace, number in self.lost:
            with pytest.raises(HandleGoneError) as caught:
                self.stores[1].artifact(workspace, number)
            assert caught.value.reason == "wiped"
        for (workspace, number), known in self.known.items():
            for version, reasons in known.gone.items():
                with pytest.raises(HandleGoneError) as caught:
                    self.stores[1].version(workspace, number, version)
                assert caught.value.reason in reasons
        for workspace in WORKSPACES:
            with pytest.raises((HandleNotFoundError, HandleGoneError)):
                self.stores[1].artifact(workspace, self.highest[workspace] + 1)

    @invariant()
    def catalog_and_files_agree(self) -> None:
        if not hasattr(self, "stores"):
            return
        assert self.stores[0].check(deep=True).problems == ()
        for workspace in WORKSPACES:
            numbers = {key[1] for key, known in self.known.items() if key[0] == workspace and known.versions}
            page, total = self.stores[1].list(workspace, limit=1000)
            assert total == len(page)
            assert {artifact.number for artifact, _ in page} == numbers
        assert self.stores[0].stats("w").stored_bytes <= QUOTA_BYTES or any(
            known.pinned for known in self.known.values()
        )


assert TTL_SECONDS * 100 < TOMBSTONE_SECONDS

TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
