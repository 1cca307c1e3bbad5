"""A service on a fresh store, with a project directory as its only root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.service import OffloadService, open_service
from mcp_offload.settings import Settings


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def settings(tmp_path: Path, project: Path) -> Settings:
    return Settings(
        store_dir=str(tmp_path / "store"),
        state_dir=str(tmp_path / "state"),
        roots=(str(project),),
        base_dir=str(project),
        workspace=str(project),
        reserve_bytes=0,
    )


@pytest.fixture
def service(settings: Settings) -> Iterator[OffloadService]:
    with open_service(settings) as service:
        yield service


@pytest.fixture
def elsewhere(settings: Settings, service: OffloadService) -> Iterator[OffloadService]:
    """The same store seen from another workspace."""
    with open_service(replace(settings, workspace="elsewhere")) as other:
        yield other
