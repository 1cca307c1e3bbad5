"""Storing and reading a log of 1 GB."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.data import write_log
from tests.benchmarks.measuring import MIB, Figures, Row, fastest, operation

RUNS = 3
RSS_LIMIT_MIB = 200


def store_1gb(folder: Path, scale: float) -> Iterator[Row]:
    """Storing by path against one plain pass over the bytes."""
    source = str(write_log(folder / "big.log", int(1e9 * scale)))
    ours, floors = list[Figures](), list[Figures]()
    operation("copy", source, str(folder / "warm"))
    shutil.rmtree(folder / "warm")
    for run in range(RUNS):
        for name, into in (("copy", floors), ("store", ours)):
            place = folder / f"{name}-{run}"
            into.append(operation(name, source, str(place)))
            shutil.rmtree(place)
    yield Row(
        what="store a 1 GB log by path",
        floor="read + BLAKE3 + write + rename",
        kind="speed",
        ours=fastest(ours).seconds,
        floors=fastest(floors).seconds,
        target=0.6,
    )
    yield memory("peak memory of storing 1 GB", max(one.rss_bytes for one in ours))


def read_50_lines(folder: Path, scale: float) -> Iterator[Row]:
    """Fifty lines at random places of the stored log, in process."""
    source = str(write_log(folder / "big.log", int(1e9 * scale)))
    place = folder / "stored"
    operation("store", source, str(place))
    found = operation("read", source, str(place))
    what, median, worst = "read 50 lines of 1 GB", found.seconds * 1000, found.worst_seconds * 1000
    yield Row(f"{what}, median", "no floor", "limit", median, 0, 2, "ms")
    yield Row(f"{what}, 99th of 100", "no floor", "limit", worst, 0, None, "ms")


def memory(what: str, size_bytes: int) -> Row:
    """A row about peak resident memory."""
    return Row(what, "no floor", "limit", size_bytes / MIB, 0, RSS_LIMIT_MIB, "MiB")
