from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from blake3 import blake3

from mcp_offload.errors import ArtifactTooLargeError, OperationCancelledError, QuotaExceededError
from mcp_offload.models import Kind
from mcp_offload.store import NewVersion, Store, StoreConfig
from mcp_offload.store import blobs as blobs_module
from mcp_offload.store import staged as staged_module
from mcp_offload.store import staging as staging_module
from mcp_offload.store.config import INLINE_MAX_BYTES
from mcp_offload.store.newlines import NewlineCounter
from tests.unit.store.helpers import MIB, Put, blob_files, content, putter

SIZES = [0, 1, INLINE_MAX_BYTES, INLINE_MAX_BYTES + 1, 300_000, 3 * MIB + 17]


def sample(size_bytes: int) -> bytes:
    return (b"0123456789abcde\n" * (size_bytes // 16 + 1))[:size_bytes]


@pytest.fixture(params=[True, False], ids=["with a helper", "alone"])
def helped(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash large content in a second thread, as on an idle machine, or not, as on a busy one."""
    monkeypatch.setattr(staging_module, "_core_is_free", lambda: request.param)
    monkeypatch.setattr(staging_module, "_HELPER_FROM_BYTES", MIB // 2)


@pytest.mark.usefixtures("helped")
@pytest.mark.parametrize("size_bytes", SIZES)
@pytest.mark.parametrize("cut", [1000, 65_536, 100 * MIB])
def test_a_stream_is_hashed_and_counted_however_it_is_cut(store: Store, size_bytes: int, cut: int) -> None:
    data = sample(size_bytes)
    with store.stage(data[at : at + cut] for at in range(0, size_bytes, cut)) as staged:
        assert staged.size_bytes == size_bytes
        assert staged.blake3 == blake3(data).hexdigest()
        assert staged.newlines == data.count(b"\n")
        assert staged.ends_with_newline is data.endswith(b"\n")
        assert staged.lines == len(data.splitlines())
        assert staged.read(0, size_bytes) == data
        assert staged.read(size_bytes // 2, size_bytes) == data[size_bytes // 2 :]


@pytest.mark.usefixtures("helped")
@pytest.mark.parametrize("size_bytes", SIZES)
@pytest.mark.parametrize("expected", [None, 0, 100_000, 3 * MIB + 17], ids=str)
def test_a_descriptor_gives_the_same_as_a_stream(
    store: Store, tmp_path: Path, size_bytes: int, expected: int | None
) -> None:
    data = sample(size_bytes)
    (tmp_path / "source").write_bytes(data)
    for _ in range(2):  # the second pass uses the memory of the first
        with (
            open(tmp_path / "source", "rb") as source,
            store.stage_file(source.fileno(), total_bytes=expected) as staged,
        ):
            assert staged.blake3 == blake3(data).hexdigest()
            assert staged.newlines == data.count(b"\n")
            assert staged.read(0, size_bytes) == data


def test_a_file_of_known_size_passes_once_through_memory_that_is_there(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    readv = os.readv

    def noted(fd: int, buffers: list[bytearray]) -> int:
        sizes.append(readv(fd, buffers))
        seen.add(id(buffers[0]))
        return sizes[-1]

    def refused(*_: object) -> bytes:
        raise AssertionError("read into new memory")

    monkeypatch.setattr(os, "readv", noted)
    monkeypatch.setattr(os, "read", refused)
    for number in range(2):
        seen = set[int]()
        sizes.clear()
        (tmp_path / "source").write_bytes(sample(MIB - number))
        with (
            open(tmp_path / "source", "rb", buffering=0) as source,
            store.stage_file(source.fileno(), total_bytes=MIB - number) as staged,
        ):
            assert staged.size_bytes == MIB - number
        assert sizes == [MIB - number, 0]
        assert len(seen) == 1


def test_a_pipe_is_read_to_its_end(store: Store) -> None:
    source, sink = os.pipe()
    with os.fdopen(source, "rb", closefd=True) as reader:
        with os.fdopen(sink, "wb") as writer:
            writer.write(sample(60_000))
        with store.stage_file(reader.fileno()) as staged:
            assert staged.size_bytes == 60_000


@pytest.mark.usefixtures("helped")
def test_a_buffer_that_its_owner_reuses_does_not_change_what_is_stored(store: Store) -> None:
    buffer = bytearray(300_000)

    def reusing() -> Iterator[bytes]:
        for value in range(12):
            buffer[:] = bytes([value]) * len(buffer)
            yield buffer  # type: ignore[misc] - a caller that breaks its word must not break the store

    with store.stage(reusing()) as staged:
        whole = b"".join(bytes([value]) * 300_000 for value in range(12))
        assert staged.blake3 == blake3(whole).hexdigest()
        assert staged.read(0, staged.size_bytes) == whole


def test_nothing_is_left_of_content_that_is_not_committed(store: Store, config: StoreConfig) -> None:
    with store.stage([sample(300_000)]):
        pass
    assert blob_files(config) == []
    assert store.gc().orphans == 0


@pytest.mark.usefixtures("helped")
def test_a_failure_while_hashing_is_told_and_leaves_nothing(
    store: Store, config: StoreConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(NewlineCounter):
        def update(self, data: bytes | memoryview) -> None:
            super().update(data)
            if self.newlines > 5 * MIB // 16:
                raise MemoryError

    monkeypatch.setattr(staged_module, "NewlineCounter", Failing)
    with pytest.raises(MemoryError):
        store.stage([sample(12 * MIB)])
    assert blob_files(config) == []


class Cancelled:
    """A monitor that cancels at its first report."""

    def advance(self, done: int, total: int | None, message: str = "") -> None:
        raise OperationCancelledError("stopped")


def slowly() -> Iterator[bytes]:
    while True:
        yield sample(MIB)


def test_a_cancelled_stream_leaves_nothing(store: Store, config: StoreConfig) -> None:
    with pytest.raises(OperationCancelledError):
        store.stage(slowly(), monitor=Cancelled())
    assert blob_files(config) == []


def test_an_error_of_the_source_is_passed_on_and_leaves_nothing(store: Store, config: StoreConfig) -> None:
    def breaking() -> Iterator[bytes]:
        yield sample(3 * MIB)
        raise ConnectionResetError("the source broke")

    with pytest.raises(ConnectionResetError):
        store.stage(breaking())
    assert blob_files(config) == []


def test_an_endless_stream_stops_at_the_largest_artifact(opened: Callable[..., Store]) -> None:
    store = opened(max_artifact_bytes=2 * MIB)
    with pytest.raises(ArtifactTooLargeError, match="2,097,152"):
        store.stage(slowly())


def test_a_size_known_to_be_too_large_is_refused_before_it_is_read(
    opened: Callable[..., Store], tmp_path: Path
) -> None:
    store = opened(max_artifact_bytes=2 * MIB)
    (tmp_path / "source").write_bytes(b"x")
    with open(tmp_path / "source", "rb") as source:
        with pytest.raises(ArtifactTooLargeError):
            store.stage_file(source.fileno(), total_bytes=2 * MIB + 1)
        assert source.read() == b"x"


def test_small_content_has_limits_too(opened: Callable[..., Store]) -> None:
    with pytest.raises(ArtifactTooLargeError):
        opened(max_artifact_bytes=10).stage([b"x" * 11])


def test_more_than_the_quota_can_never_fit(opened: Callable[..., Store]) -> None:
    with pytest.raises(QuotaExceededError):
        opened(quota_bytes=MIB).stage(slowly())


def test_files_are_private_whatever_the_umask(store: Store, put: Put, config: StoreConfig) -> None:
    old = os.umask(0o377)
    try:
        put(sample(300_000))
    finally:
        os.umask(old)
    root = Path(config.store_dir)
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(files) >= 7
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (root, root / "blobs")} == {0o700}


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Store]) -> Store:
    """A store as on a system without unnamed files."""
    monkeypatch.setattr(blobs_module, "_O_TMPFILE", 0)
    return opened()


def test_without_unnamed_files_a_temporary_name_is_used(named: Store, config: StoreConfig) -> None:
    with named.stage([sample(300_000)]) as staged:
        files = blob_files(config)
        assert len(files) == 2  # the content, and the lock that says that its writer lives
        assert all(file.name.startswith("tmp.") for file in files)
        assert named.gc().orphans == 0
        new = NewVersion(staged=staged, kind=Kind.LOG, name="x", encoding="utf-8", lines=staged.lines)
        ((_, version, _),) = named.commit("w", [new])
    assert content(named, version) == sample(300_000)
    assert [file.name.split(".")[0] for file in blob_files(config)] == [version.blake3, "tmp"]


def test_temporary_names_of_dead_writers_are_swept(named: Store, config: StoreConfig) -> None:
    put = putter(named)
    version = put(sample(300_000))[1]
    with named.stage([sample(400_000)]):
        pass
    for name in ("tmp.dead", "tmp.dead.1", "tmp.unlocked.2"):
        (Path(config.store_dir) / "blobs" / name).write_bytes(b"x" * 77)
    result = named.gc()
    assert (result.orphans, result.freed_bytes) == (3, 3 * 77)
    assert content(named, version) == sample(300_000)


def test_more_files_are_staged_at_once_than_a_process_may_open(store: Store, config: StoreConfig) -> None:
    contents = [b"%05d\n" % n * 5000 for n in range(300)]
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    staged = [store.stage([data]) for data in contents]
    if before:
        assert len(os.listdir("/proc/self/fd")) - before < 100
    assert [each.read(0, 10**9) for each in staged] == contents
    assert store.gc().orphans == 0
    new = [
        NewVersion(staged=each, kind=Kind.FILE, name=str(n), encoding="utf-8", lines=each.lines)
        for n, each in enumerate(staged[:290])
    ]
    done = store.commit("w", new)
    assert [content(store, version) for _, version, _ in done] == contents[:290]
    for each in staged:
        each.close()
    assert len([file for file in blob_files(config) if not file.name.startswith("tmp.")]) == 290
    assert len(blob_files(config)) == 291
    store.close()
    assert len(blob_files(config)) == 290
