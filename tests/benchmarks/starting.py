"""How soon a server process answers after it was started."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks.calls import succeeded
from tests.benchmarks.data import write_log, write_module
from tests.benchmarks.measuring import Row
from tests.process.stdio.rig import ENDLESS_LEASE, Rig, server_command

RUNS = 7


def start(folder: Path, scale: float) -> Iterator[Row]:
    """Answers to initialize and to the first call, against the interpreter and the SDK's import."""
    del scale
    (folder / "work").mkdir()
    write_module(folder / "work" / "app.py", 300)
    write_log(folder / "work" / "big.log", 1_000_000)
    bare = _median(lambda: _run("import json, logging, signal, threading"))
    sdk = _median(lambda: _run("import mcp.server.lowlevel.server"))
    greeting = _median(lambda: _until(folder, lambda rig: None))
    call = _median(
        lambda: _until(folder, lambda rig: succeeded(rig, "store_artifact", {"source": "big.log"}))
    )
    symbol = {"handles": ["app.py#function_150"]}
    read = _median(lambda: _until(folder, lambda rig: succeeded(rig, "read_handle", symbol)))
    yield Row("start to the answer to initialize", "a bare interpreter", "time", greeting, bare, None)
    yield Row("start to a stored 1 MB log", "an import of the SDK", "time", call, sdk, None)
    yield Row("start to a symbol read by path", "an import of the SDK", "time", read, sdk, None)
    yield Row("start to the answer to initialize", "an idle machine", "limit", greeting, 0, 0.15)
    yield Row("start to a stored 1 MB log", "an idle machine", "limit", call, 0, 0.9)
    yield Row("start to a symbol read by path", "an idle machine", "limit", read, 0, 0.9)


def _median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(RUNS))


def _run(source: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", source], check=True)
    return time.perf_counter() - began


def _until(folder: Path, step: Callable[[Rig], object]) -> float:
    began = time.perf_counter()
    with Rig(server_command(folder, *ENDLESS_LEASE), folder / "work") as rig:
        rig.greet()
        step(rig)
        return time.perf_counter() - began
