from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from blake3 import blake3

from mcp_offload.errors import StoreError, StoreUnsafeError, StoreVersionError
from mcp_offload.store import Failpoints, Store, StoreConfig
from mcp_offload.store import schema as schema_module
from mcp_offload.store.schema import STEPS
from mcp_offload.store.sql import Database
from tests.unit.store.helpers import content, putter


def first_version(config: StoreConfig) -> None:
    """A store as the first schema version wrote it, with one inline artifact."""
    os.mkdir(config.store_dir, 0o700)
    path = os.path.join(config.store_dir, "catalog.sqlite")
    db = Database(path, create=True)
    db.run("PRAGMA journal_mode = WAL")
    db.script(STEPS[0])
    db.script("PRAGMA application_id = 1835233382; PRAGMA user_version = 1")
    data = b"written by version 1\n"
    name = blake3(data).hexdigest()
    db.run("INSERT INTO workspace (id, key, last_number, reserved) VALUES (1, 'w', 5, 32)")
    db.run("INSERT INTO blob VALUES (1, ?, ?, 1, 1, NULL, 1, 0, x'')", name, len(data))
    db.run("INSERT INTO inline VALUES (1, ?)", data)
    db.run("INSERT INTO artifact VALUES (1, 5, 'f', 'old', NULL, 1, 0, 10.0, 20.0, NULL, NULL)")
    db.run(
        "INSERT INTO version (workspace_id, number, version, blob_id, blake3, encoding, size_bytes, lines,"
        " created_at) VALUES (1, 5, 1, 1, ?, 'utf-8', ?, 1, 10.0)",
        name,
        len(data),
    )
    db.close()


def user_version(config: StoreConfig) -> int:
    db = Database(os.path.join(config.store_dir, "catalog.sqlite"))
    row = db.row("PRAGMA user_version")
    db.close()
    assert row is not None
    return row[0]


def test_an_older_store_is_brought_up_to_date_with_its_content(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    first_version(config)
    store = opened()
    assert content(store, store.version("w", 5)) == b"written by version 1\n"
    assert store.stats("w").stored_bytes == 21
    store.outline_put("0" * 64, b"", "")  # a table of the second version
    assert putter(store)(b"new")[0].number == 6
    assert store.check(deep=True).problems == ()
    assert user_version(config) == len(STEPS) > 1


def test_a_migration_that_fails_changes_nothing_and_works_the_next_time(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    first_version(config)
    with pytest.raises(StoreError):
        opened("schema.step=enospc")
    assert user_version(config) == 1
    store = opened()
    assert content(store, store.version("w", 5)) == b"written by version 1\n"


def test_a_newer_store_is_refused_and_left_untouched(
    opened: Callable[..., Store], config: StoreConfig
) -> None:
    store = opened()
    putter(store)(b"x" * 100_000)
    store.close()
    db = Database(os.path.join(config.store_dir, "catalog.sqlite"))
    db.run("CREATE TABLE of_tomorrow (x)")
    db.run(f"PRAGMA user_version = {len(STEPS) + 1}")
    db.set_up(0)  # leave the log as it is on closing
    db.close()

    def everything() -> dict[str, bytes]:
        root = Path(config.store_dir)
        paths = [path for path in root.rglob("*") if path.is_file()]
        return {str(path.relative_to(root)): path.read_bytes() for path in paths if "-shm" not in path.name}

    before = everything()
    assert len(before["catalog.sqlite-wal"]) > 0
    with pytest.raises(StoreVersionError, match="newer release"):
        opened()
    assert everything() == before


def test_another_programs_database_is_refused(opened: Callable[..., Store], config: StoreConfig) -> None:
    os.mkdir(config.store_dir, 0o700)
    db = apsw.Connection(os.path.join(config.store_dir, "catalog.sqlite"))
    db.execute("CREATE TABLE theirs (x); PRAGMA user_version = 1")
    db.close()
    with pytest.raises(StoreError, match="another program"):
        opened()


def test_a_file_that_is_no_database_is_an_error(opened: Callable[..., Store], config: StoreConfig) -> None:
    os.mkdir(config.store_dir, 0o700)
    Path(config.store_dir, "catalog.sqlite").write_bytes(b"not a database " * 1000)
    with pytest.raises(StoreError, match="damaged"):
        opened()


def test_a_file_system_without_the_log_is_refused(
    monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Store], config: StoreConfig
) -> None:
    class Refusing(Database):
        """As on a network mount that accepts the mode and fails at the first write."""

        def script(self, sql: str) -> None:
            raise apsw.IOError("disk I/O error")

    monkeypatch.setattr(schema_module, "Database", Refusing)
    with pytest.raises(StoreError, match="another store directory"):
        opened()
    assert [path.name for path in Path(config.store_dir).glob("probe*")] == []


def test_a_catalog_that_is_a_link_is_refused(
    opened: Callable[..., Store], config: StoreConfig, tmp_path: Path
) -> None:
    os.mkdir(config.store_dir, 0o700)
    (tmp_path / "elsewhere").write_bytes(b"")
    os.symlink(tmp_path / "elsewhere", os.path.join(config.store_dir, "catalog.sqlite"))
    with pytest.raises(StoreError):
        opened()
    assert (tmp_path / "elsewhere").read_bytes() == b""


def test_an_unsafe_store_directory_is_refused(opened: Callable[..., Store], config: StoreConfig) -> None:
    os.mkdir(config.store_dir)
    os.chmod(config.store_dir, 0o777)
    with pytest.raises(StoreUnsafeError):
        opened()
    assert os.listdir(config.store_dir) == []


def test_a_blob_directory_that_is_a_link_is_refused(
    opened: Callable[..., Store], config: StoreConfig, tmp_path: Path
) -> None:
    os.mkdir(config.store_dir, 0o700)
    os.symlink(tmp_path, os.path.join(config.store_dir, "blobs"))
    with pytest.raises(StoreError):
        opened()


def test_no_failpoint_is_armed_by_default() -> None:
    assert StoreConfig(store_dir="/s", state_dir="/t").failpoints._armed == Failpoints()._armed == {}
