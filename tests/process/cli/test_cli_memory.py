"""Content far larger than memory should be: stored, looked at and read in bounded memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(400)]

SIZE_BYTES = 3_000_000_000
LIMIT_BYTES = 300_000_000
HEAD = b"".join(b"line %d of the head\n" % number for number in range(5_000))
TAIL = b"\nthe very last line\n"


@pytest.fixture
def sparse(shell: Any) -> Iterator[Path]:
    """Text, a hole of three gigabytes, and text."""
    if shutil.disk_usage(shell.home).free < 3 * SIZE_BYTES:
        pytest.skip("no room for three gigabytes")
    path: Path = shell.project / "huge.txt"
    with path.open("wb") as file:
        file.write(HEAD)
        file.truncate(SIZE_BYTES - len(TAIL))
        file.seek(0, os.SEEK_END)
        file.write(TAIL)
    yield path
    # Folders of passed tests are kept for a while; three gigabytes must not be.
    path.unlink()
    shutil.rmtree(shell.home / "store", ignore_errors=True)


# Between us and the command stands a small process: a child's peak counts from the size that its parent
# had when it was forked, and a test runner is large.
LAUNCHER = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
with open(sys.argv[1], "w") as peak:
    peak.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(done.returncode)
"""


def bounded(shell: Any, *args: str) -> bytes:
    """What a command prints; its largest resident set must be within the limit."""
    peak = shell.home / "peak"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, str(peak), *shell.command(*args)],
        cwd=shell.project,
        env=shell.environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(peak.read_text(encoding="utf-8")) * 1024 < LIMIT_BYTES
    return done.stdout


def test_three_gigabytes_are_stored_and_read_in_bounded_memory(shell: Any, sparse: Path) -> None:
    stored = bounded(shell, "store", "huge.txt").decode()
    assert stored.startswith("f1 huge.txt 5002L 3.0 GB")
    assert bounded(shell, "read", "--raw", "f1#L2") == b"line 1 of the head\n"
    assert bounded(shell, "read", "--raw", "f1#L-1") == b"the very last line\n"
    assert bounded(shell, "read", "--raw", f"f1#B{SIZE_BYTES - 19}-") == TAIL[1:]
    found = bounded(shell, "search", "very last", "f1").decode()
    assert "f1#L5002 the very last line" in found
