"""What is asked of this machine before clients are configured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_offload.cli.registration import places_of


def test_places_are_those_of_the_user_and_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "src"
    below.mkdir()
    environ = {"CODEX_HOME": "/c", "XDG_CONFIG_HOME": "", "PATH": "/bin", "SECRET": "x"}
    monkeypatch.setattr("sys.platform", "darwin")
    places = places_of(environ, str(below))
    assert (places.system, places.project) == ("macos", str(tmp_path))
    assert (dict(places.variables), places.search_path) == ({"CODEX_HOME": "/c"}, "/bin")
    assert places.home == os.path.expanduser("~")
    monkeypatch.setattr("sys.platform", "win32")
    assert places_of({}, str(below)).system == "windows"
    monkeypatch.setattr("sys.platform", "linux")
    assert places_of({}, str(below)).system == "linux"
