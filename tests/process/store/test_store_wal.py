"""The write-ahead log stays small while processes that overlap for ever read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.store import StoreConfig
from mcp_offload.store.config import WAL_LIMIT_BYTES
from tests.process.store.harness import Writer, Zygote, settings

LIMIT_BYTES = 2 * 1024 * 1024
READERS, WRITERS = 4, 2

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    zygote = Zygote(tmp_path)
    yield zygote
    zygote.close()


def run(zygote: Zygote, config: StoreConfig) -> tuple[int, int]:
    """Largest size the log had, and all bytes that went through it, after a fixed amount of writing."""
    readers = [
        Writer(zygote, job="read_for_ever", writer=f"r{n}", config=settings(config)) for n in range(READERS)
    ]
    for reader in readers:
        assert reader.acks.readline() == "reading\n"
    writers = [
        Writer(zygote, job="fill_log", writer=f"w{n}", config=settings(config)) for n in range(WRITERS)
    ]
    largest, written = 0, 0
    for writer in writers:
        status, lines = writer.finish()
        assert status == 0
        assert lines[-1].startswith("log "), lines
        largest = max(largest, int(lines[-1].split(" ")[1]))
        written += int(lines[-1].split(" ")[2])
    for reader in readers:
        reader.kill()
        assert os.WIFSIGNALED(reader.finish()[0])
    return largest, written


def test_overlapping_readers_cannot_make_the_log_grow(zygote: Zygote, tmp_path: Path) -> None:
    config = StoreConfig(
        store_dir=str(tmp_path / "store"),
        state_dir=str(tmp_path / "state"),
        reserve_bytes=0,
        wal_limit_bytes=LIMIT_BYTES,
    )
    largest, written = run(zygote, config)
    assert written > 8 * LIMIT_BYTES
    assert largest < 2.5 * LIMIT_BYTES
    assert WAL_LIMIT_BYTES * 2.5 == 40 * 1024 * 1024  # the bound with the size that is used in earnest
