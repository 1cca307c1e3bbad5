"""Generated logs: the same bytes every time, on disk, with the odd line to find."""

from __future__ import annotations

import os
import random
from pathlib import Path

ROWS = 20_000
NEEDLE = "NEEDLE"
#: One row in so many batches of rows holds the needle.
BATCHES_PER_NEEDLE = 2
YESTERDAY_SECONDS = 24 * 3600


def write_log(path: Path, size_bytes: int) -> Path:
    """Write a log of ``size_bytes`` and up to a row; its times lie in the past, as a finished run's do."""
    chance = random.Random(size_bytes)
    words = [f"{chance.choice('bcdfgklmnprst')}{number:x}" for number in range(5000)]
    rows = [_row(chance, words) for _ in range(ROWS)]
    with path.open("wb") as file:
        batch = 0
        while file.tell() < size_bytes:
            chance.shuffle(rows)
            extra = [f"worker-0 {NEEDLE} found in batch {batch}\n"] if batch % BATCHES_PER_NEEDLE == 0 else []
            data = "".join([*rows, *extra]).encode()
            left = size_bytes - file.tell()
            file.write(data if len(data) <= left else data[: data.index(b"\n", left - 1) + 1])
            batch += 1
    written = path.stat().st_mtime - YESTERDAY_SECONDS
    os.utime(path, (written, written))
    return path


def _row(chance: random.Random, words: list[str]) -> str:
    level = chance.choice(["INFO", "DEBUG", "WARN"])
    time = (
        f"2026-11-03T12:{chance.randrange(60):02d}:{chance.randrange(60):02d}.{chance.randrange(1000):03d}Z"
    )
    return f"{time} {level} worker-{chance.randrange(100)} {' '.join(chance.choices(words, k=10))}\n"


def write_module(path: Path, functions: int) -> Path:
    """Write a Python module of so many functions of 22 lines."""
    body = "".join(f"    total += {number}\n" for number in range(20))
    text = "".join(f"def function_{n}(total):\n{body}    return total\n\n\n" for n in range(functions))
    path.write_text(text, encoding="utf-8")
    return path
