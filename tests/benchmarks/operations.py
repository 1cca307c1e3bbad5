"""What is measured, each in a process of its own, so that its peak memory is its own.

Run as ``python -m tests.benchmarks.operations NAME ARGUMENTS...``; prints one JSON object.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REPEATS = 3
READS = 300
LINES = 50


def main() -> None:
    name, *arguments = sys.argv[1:]
    figures = OPERATIONS[name](*arguments)
    figures["rss_bytes"] = peak_rss_bytes()
    figures["child_rss_bytes"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    sys.stdout.write(json.dumps(figures))


def peak_rss_bytes() -> int:
    """The most resident memory of this process; what it inherited when it was started does not count."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _timed(run: Callable[[], object], repeats: int = REPEATS) -> dict[str, float]:
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return {"seconds": min(times)}


@contextmanager
def _service(folder: str, rg_path: str | None = None) -> Iterator[object]:
    from mcp_offload import Settings, open_service

    root = str(Path(folder))
    settings = Settings(
        store_dir=f"{folder}/store",
        state_dir=f"{folder}/state",
        roots=(str(Path(folder).parent),),
        base_dir=root,
        workspace=root,
        quota_bytes=16 << 30,
        rg_path=rg_path,
    )
    with open_service(settings) as service:
        yield service


def copy(source: str, folder: str) -> dict[str, float]:
    """The floor of storing a large file: one plain pass."""
    Path(folder).mkdir()
    return _timed(lambda: plain_pass(source, folder), repeats=1)


def plain_pass(source: str, folder: str) -> None:
    """Read, BLAKE3, write beside, rename: what storing a file cannot do without."""
    from blake3 import blake3

    hasher = blake3()
    with open(source, "rb", buffering=0) as read, open(f"{folder}/part", "wb", buffering=0) as written:
        buffer = bytearray(1 << 20)
        view = memoryview(buffer)
        while count := read.readinto(buffer):
            hasher.update(view[:count])
            written.write(view[:count])
    os.rename(f"{folder}/part", f"{folder}/{hasher.hexdigest()}")


def store(source: str, folder: str) -> dict[str, float]:
    """Store a file by path in a new store."""
    Path(folder).mkdir()
    with _service(folder) as service:
        figures = _timed(lambda: service.store(source), repeats=1)
        assert service.store(source).bytes == os.path.getsize(source)
        return figures


def read(source: str, folder: str) -> dict[str, float]:
    """Read 50 lines at a random place: the median of many reads."""
    chance = random.Random(3)
    with _service(folder) as service:
        stored = service.store(source)
        times: list[float] = []
        for _ in range(READS):
            first = chance.randrange(1, stored.lines - LINES)
            handle = f"{stored.handle}#L{first}-{first + LINES - 1}"
            began = time.perf_counter()
            (result,) = service.read([handle], max_tokens=0)
            times.append(time.perf_counter() - began)
            assert result.end_line - result.start_line == LINES - 1, result
    times.sort()
    return {"seconds": times[len(times) // 2], "worst_seconds": times[int(len(times) * 0.99)]}


def search(source: str, folder: str, pattern: str, hits: str, rg_path: str = "") -> dict[str, float]:
    """Search a stored file for a pattern with a known number of hits."""
    with _service(folder, rg_path or None) as service:
        handle = service.store(source).handle

        def run() -> None:
            found = service.search(pattern, [handle], limit=10**6, max_tokens=0)
            assert len(found.hits) == int(hits), (len(found.hits), hits)

        return _timed(run)


def ripgrep(source: str, pattern: str, rg_path: str) -> dict[str, float]:
    """The floor of searching with ripgrep: the bare command, line numbers on, its output read."""
    hits = 0

    def run() -> None:
        nonlocal hits
        command = [rg_path, "--no-config", "--line-number", "--regexp", pattern, source]
        hits = subprocess.run(command, capture_output=True, check=False).stdout.count(b"\n")

    return {**_timed(run), "hits": hits}


def re2(source: str, pattern: str) -> dict[str, float]:
    """The floor of searching in process: read all, scan all with RE2."""
    import re2 as engine

    options = engine.Options()
    options.never_capture = True
    hits = 0

    def run() -> None:
        nonlocal hits
        compiled = engine.compile(b"(?m)" + pattern.encode(), options)
        hits = sum(1 for _ in compiled.finditer(Path(source).read_bytes()))

    return {**_timed(run), "hits": hits}


OPERATIONS: dict[str, Callable[..., dict[str, float]]] = {
    operation.__name__: operation for operation in (copy, store, read, search, ripgrep, re2)
}

if __name__ == "__main__":
    main()
