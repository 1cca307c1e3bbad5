"""Starts runs and ends them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process.capture.rig import Run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts runs: ``start("sh", "-c", "...", timeout_seconds=1)``."""
    runs: list[Run] = []

    def start(*argv: str, stdin_fd: int | None = None, **limits: float) -> Run:
        folder = tmp_path / str(len(runs))
        folder.mkdir()
        runs.append(Run(folder, list(argv), stdin_fd, **limits))
        return runs[-1]

    yield start
    for run in runs:
        run.close()


@pytest.fixture
def python() -> str:
    return sys.executable
