"""Searching logs of 200 MB and of 1 GB."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.data import NEEDLE, write_log
from tests.benchmarks.measuring import Row, fastest, operation
from tests.benchmarks.storing import memory

RUNS = 3
PATTERNS = (
    ("a literal", NEEDLE),
    ("a literal, ignoring case", f"(?i){NEEDLE}"),
    ("alternatives", f"{NEEDLE}|FATAL"),
    ("an expression", f"worker-[0-9]+ {NEEDLE} .*batch [0-9]*7$"),
    ("an anchored expression", f"^worker-0 {NEEDLE}"),
)


def ripgrep_path() -> str | None:
    """ripgrep beside this interpreter, or on the path."""
    return shutil.which("rg", path=str(Path(sys.executable).parent)) or shutil.which("rg")


def search_rg(folder: Path, scale: float) -> Iterator[Row]:
    """Searching 200 MB where ripgrep serves, against the bare command."""
    tool = ripgrep_path()
    if tool is None:
        return
    source = _stored(folder, 200e6 * scale)
    for what, pattern in PATTERNS:
        floors = [operation("ripgrep", source, pattern, tool)]
        arguments = (source, str(folder / "stored"), pattern, str(floors[0].hits), tool)
        ours = [operation("search", *arguments)]
        for _ in range(RUNS - 1):
            floors.append(operation("ripgrep", source, pattern, tool))
            ours.append(operation("search", *arguments))
        yield _row(f"search 200 MB for {what}", "rg", fastest(ours).seconds, fastest(floors).seconds, 0.7)


def search_re2(folder: Path, scale: float) -> Iterator[Row]:
    """Searching 200 MB in process, against a bare scan with the same engine."""
    source = _stored(folder, 200e6 * scale)
    for what, pattern in PATTERNS:
        floors = [operation("re2", source, pattern)]
        arguments = (source, str(folder / "stored"), pattern, str(floors[0].hits))
        ours = [operation("search", *arguments)]
        for _ in range(RUNS - 1):
            floors.append(operation("re2", source, pattern))
            ours.append(operation("search", *arguments))
        what = f"search 200 MB without rg for {what}"
        yield _row(what, "a bare RE2 scan", fastest(ours).seconds, fastest(floors).seconds, 0.6)


def search_memory(folder: Path, scale: float) -> Iterator[Row]:
    """Peak memory of searching 1 GB, that of ripgrep's process included."""
    source = _stored(folder, 1e9 * scale)
    tool = ripgrep_path()
    pattern = PATTERNS[0][1]
    hits = str(operation("ripgrep", source, pattern, tool).hits) if tool else "-1"
    for what, path in (("without rg", ""), ("with rg", tool or "")):
        found = operation("search", source, str(folder / "stored"), pattern, hits, path)
        yield memory(f"peak memory of searching 1 GB {what}", max(found.rss_bytes, found.child_rss_bytes))


def _stored(folder: Path, size_bytes: float) -> str:
    source = str(write_log(folder / "searched.log", int(size_bytes)))
    operation("store", source, str(folder / "stored"))
    return source


def _row(what: str, floor: str, ours: float, floors: float, target: float) -> Row:
    return Row(what, floor, "speed", ours, floors, target)
