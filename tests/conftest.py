"""What every test may rely on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.clients.recording"]

ROOT = Path(__file__).resolve().parents[1]

# No deadline: how long an example takes depends on what else the machine does.
settings.register_profile("default", deadline=None)
settings.load_profile("default")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of larger samples; a test that uses it is skipped where there is none."""
    folder = Path(os.environ.get("MCP_OFFLOAD_TEST_CORPUS") or ROOT.parent / "shared" / "corpus")
    if not folder.is_dir():
        pytest.skip("no corpus: MCP_OFFLOAD_TEST_CORPUS names no folder")
    return folder
