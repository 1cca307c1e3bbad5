from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import HandleGoneError, HandleNotFoundError
from mcp_offload.models import Kind
from mcp_offload.store import NewVersion, Store, StoreConfig, settled_key_of
from mcp_offload.store.config import BLOCK_BYTES
from mcp_offload.store.growing import Growing


@pytest.fixture
def config(tmp_path: Path) -> StoreConfig:
    return StoreConfig(store_dir=str(tmp_path / "store"), state_dir=str(tmp_path / "state"), reserve_bytes=0)


@pytest.fixture
def store(config: StoreConfig) -> Iterator[Store]:
    with Store.open(config) as store:
        yield store


@pytest.fixture
def growing(store: Store) -> Iterator[Growing]:
    growing = store.grow("w", "make all")
    yield growing
    growing.close()


def commit(store: Store, growing: Growing) -> None:
    """What the service does when nothing is written any more."""
    os.lseek(growing.output_fd, 0, os.SEEK_SET)
    with store.stage_file(growing.output_fd) as staged:
        number = growing.artifact.number
        put = NewVersion(
            staged=staged,
            kind=Kind.LOG,
            name=growing.artifact.name,
            encoding="utf-8",
            lines=staged.lines,
            number=number,
            issued=True,
        )
        store.outline_put(settled_key_of(growing.artifact), staged.blake3.encode(), "")
        store.commit("w", [put])
    store.growing.discard(growing.artifact)


def test_what_was_appended_is_read_at_once(store: Store, growing: Growing) -> None:
    number = growing.artifact.number
    assert (store.artifact("w", number).name, store.artifact("w", number).growing) == ("make all", True)
    assert store.version("w", number).size_bytes == 0
    os.write(growing.output_fd, b"one\ntwo")
    version = store.version("w", number)
    assert (version.version, version.size_bytes, version.lines, version.growing) == (1, 7, 2, True)
    os.write(growing.output_fd, b" and more\n")
    with store.open_view(version) as view:
        assert (view.read(0, 100), view.line_count) == (b"one\ntwo", 2)
    with store.open_view(store.version("w", number)) as view:
        assert (view.read(0, 100), view.line_count) == (b"one\ntwo and more\n", 2)
        assert view.line_span(2, 2).start_byte == 4


def test_lines_are_found_in_what_is_larger_than_a_block(store: Store, growing: Growing) -> None:
    line = b"x" * 99 + b"\n"
    number = growing.artifact.number
    early = None
    for _ in range(3):
        os.write(growing.output_fd, line * (BLOCK_BYTES // 100))
        early = early or store.version("w", number)
    assert early is not None
    late = store.version("w", number)
    for version, count in ((early, BLOCK_BYTES // 100), (late, 3 * (BLOCK_BYTES // 100))):
        assert version.lines == count
        with store.open_view(version) as view:
            span = view.line_span(count, count)
            assert (span.start_byte, span.end_byte) == (100 * (count - 1), 100 * count)
            assert view.line_of(span.start_byte) == count


def test_it_is_listed_first_and_counted(store: Store, growing: Growing) -> None:
    with store.stage([b"x"]) as staged:
        store.commit("w", [NewVersion(staged=staged, kind=Kind.FILE, name="b", encoding="utf-8", lines=1)])
    rows, total = store.list("w", limit=10)
    assert ([artifact.name for artifact, _ in rows], total) == (["make all", "b"], 2)
    assert [a.name for a, _ in store.list("w", limit=1, offset=1)[0]] == ["b"]
    assert [a.name for a, _ in store.list("w", limit=1)[0]] == ["make all"]
    assert store.list("w", limit=10, kind=Kind.FILE)[1] == 1
    assert store.list("w", limit=10, name_contains="MAKE")[1] == 1
    assert store.list("elsewhere", limit=10) == ([], 0)


def test_another_process_sees_it_written_until_it_is_let_go(
    config: StoreConfig, store: Store, growing: Growing
) -> None:
    number = growing.artifact.number
    inherited = os.dup(growing.output_fd)
    with Store.open(config) as other:
        assert other.growing.is_written("w", number)
        assert list(other.growing.ended()) == []
        growing.close()
        assert other.growing.is_written("w", number)
        os.close(inherited)
        assert not other.growing.is_written("w", number)
        (ended,) = other.growing.ended()
        assert ended.artifact == other.artifact("w", number)
        assert store.growing.take_ended("w", number) is None
        ended.close()


def test_it_becomes_version_1_and_who_read_it_before_reads_on(store: Store, growing: Growing) -> None:
    number = growing.artifact.number
    os.write(growing.output_fd, b"one\n")
    early = store.version("w", number)
    os.write(growing.output_fd, b"two\n")
    commit(store, growing)
    version = store.version("w", number)
    assert (version.version, version.growing, version.size_bytes) == (1, False, 8)
    assert store.list("w", limit=10)[1] == 1
    with store.open_view(early) as view:
        assert view.read(0, 4) == b"one\n"


def test_committed_twice_it_is_the_same(store: Store, growing: Growing) -> None:
    os.write(growing.output_fd, b"one\n")
    commit(store, growing)
    commit(store, growing)
    assert store.artifact("w", growing.artifact.number).latest == 1


def test_two_with_the_same_output_stay_two(store: Store) -> None:
    both = [store.grow("w", "true") for _ in range(2)]
    for growing in both:
        commit(store, growing)
        growing.close()
    assert len({growing.artifact.number for growing in both}) == 2
    assert store.list("w", limit=10)[1] == 2


def test_a_released_one_is_not_committed_again(store: Store, growing: Growing) -> None:
    commit(store, growing)
    store.release("w", [growing.artifact.number])
    with pytest.raises(HandleGoneError):
        commit(store, growing)


def test_an_issued_number_is_not_issued_again(store: Store, growing: Growing) -> None:
    with store.stage([b"x"]) as staged:
        put = NewVersion(staged=staged, kind=Kind.FILE, name="b", encoding="utf-8", lines=1)
        number = store.commit("w", [put])[0][0].number
    assert number == growing.artifact.number + 1


def test_there_is_no_other_version(store: Store, growing: Growing) -> None:
    with pytest.raises((HandleGoneError, HandleNotFoundError)):
        store.version("w", growing.artifact.number, 2)
    assert [version.version for version in store.versions("w", growing.artifact.number)] == [1]


def test_it_is_gone_once_it_is_discarded(store: Store, growing: Growing) -> None:
    version = store.version("w", growing.artifact.number)
    store.growing.discard(growing.artifact)
    with pytest.raises((HandleGoneError, HandleNotFoundError)):
        store.artifact("w", growing.artifact.number)
    with pytest.raises(HandleGoneError):
        store.open_view(replace(version))


def test_what_was_left_half_begun_is_swept(config: StoreConfig, store: Store, growing: Growing) -> None:
    folder = Path(config.store_dir) / "growing"
    (folder / "abc.about").write_text("{}")
    store.growing.sweep((folder / "abc.about").stat().st_mtime - 1)
    assert (folder / "abc.about").exists()
    store.growing.sweep((folder / "abc.about").stat().st_mtime + 1)
    assert not (folder / "abc.about").exists()
    assert store.artifact("w", growing.artifact.number).growing
