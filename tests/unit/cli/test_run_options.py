from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_offload.cli.parser import parse
from mcp_offload.cli.run_options import with_run_environment
from mcp_offload.cli.serve_options import with_serve_options
from mcp_offload.cli.settings_from import build_settings
from mcp_offload.errors import SettingsError
from mcp_offload.settings import Settings

ENVIRON = {"PATH": "/bin", "GH_TOKEN": "x", "AWS_SECRET": "y"}


def _settings(line: list[str], cwd: Path, environ: Mapping[str, str] | None = None) -> Settings:
    args, environ = parse(line), ENVIRON if environ is None else environ
    settings = with_serve_options(build_settings(args, environ, str(cwd)), args, str(cwd))
    return with_run_environment(settings, args, environ)


def test_a_server_runs_nothing_and_knows_no_environment_by_default(tmp_path: Path) -> None:
    for line in (["serve"], ["list"]):
        settings = _settings(line, tmp_path)
        assert (settings.run_allow, settings.run_environment, settings.run_withheld) == ((), {}, ())


def test_a_server_runs_what_it_is_told_to(tmp_path: Path) -> None:
    environ = {**ENVIRON, "MCP_OFFLOAD_ALLOW_RUN": "make,npm", "MCP_OFFLOAD_RUN_ENV": "GH_TOKEN"}
    settings = _settings(["serve", "--allow-run", "pytest", "--allow-run", "bin/"], tmp_path, environ)
    assert settings.run_allow == ("pytest", "bin/", "make", "npm")
    assert settings.run_withheld == ("AWS_SECRET",)
    assert settings.run_environment["GH_TOKEN"] == "x"
    assert _settings(["serve"], tmp_path, environ).run_allow == ("make", "npm")


def test_the_command_line_runs_whatever_is_typed(tmp_path: Path) -> None:
    settings = _settings(["run", "--env", "AWS_*", "--", "true"], tmp_path)
    assert settings.run_withheld == ("GH_TOKEN",)
    assert settings.run_environment == {"PATH": "/bin", "AWS_SECRET": "y"}


def test_nothing_is_run_for_whoever_reaches_a_port(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not over HTTP"):
        _settings(["serve", "--http", "0", "--allow-run", "pytest"], tmp_path)
