from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_offload.cli.environment import VARIABLES
from mcp_offload.cli.parser import parse
from mcp_offload.cli.settings_from import UNLIMITED, build_settings
from mcp_offload.errors import SettingsError
from mcp_offload.settings import Settings


def _settings(line: list[str], cwd: Path, environ: Mapping[str, str] | None = None) -> Settings:
    return build_settings(parse(line), environ or {}, str(cwd))


def test_the_workspace_is_the_git_root_from_any_directory_below_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "src" / "pkg"
    below.mkdir(parents=True)
    for line in (["serve"], ["list"], ["--root", str(below), "list"]):
        settings = _settings(line, below)
        assert settings.workspace == str(tmp_path)
        assert settings.base_dir == str(below)
    assert _settings(["list"], below).roots == (str(tmp_path),)


def test_a_named_workspace_leaves_the_roots_alone(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    settings = _settings(["list", "--workspace", "team"], tmp_path)
    assert (settings.workspace, settings.roots) == ("team", (str(tmp_path),))


def test_an_option_wins_over_its_variable(tmp_path: Path) -> None:
    environ = {
        "MCP_OFFLOAD_STORE": "/var/from-variable",
        "MCP_OFFLOAD_STATE": "/var/from-variable",
        "MCP_OFFLOAD_WORKSPACE": "from-variable",
        "MCP_OFFLOAD_TOOLS": "all",
    }
    line = ["serve", "--store", "/o", "--state", "/p", "--workspace", "option", "--tools", "default"]
    settings = _settings(line, tmp_path, environ)
    assert (settings.store_dir, settings.state_dir) == ("/o", "/p")
    assert (settings.workspace, settings.tools) == ("option", "default")
    settings = _settings(["serve"], tmp_path, environ)
    assert (settings.store_dir, settings.state_dir) == ("/var/from-variable", "/var/from-variable")
    assert (settings.workspace, settings.tools) == ("from-variable", "all")


def test_relative_places_start_from_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    settings = _settings(["--store", "s", "list", "--root", "in", "--state", "../st"], tmp_path)
    assert settings.store_dir == str(tmp_path / "s")
    assert settings.state_dir == str(tmp_path.parent / "st")
    assert settings.roots == (str(tmp_path / "in"),)


def test_roots_stand_before_and_after_the_command(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    settings = _settings(["--root", "a", "list", "--root", "b", "--root", "c"], tmp_path)
    assert settings.roots == tuple(str(tmp_path / name) for name in "abc")


def test_roots_come_from_the_variable_where_no_option_is_given(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    environ = {"MCP_OFFLOAD_ROOTS": os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")])}
    assert len(_settings(["list"], tmp_path, environ).roots) == 2
    assert _settings(["list", "--root", "b"], tmp_path, environ).roots == (str(tmp_path / "b"),)


def test_a_root_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a directory"):
        _settings(["list", "--root", "missing"], tmp_path)


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _settings(["list"], tmp_path, {"MCP_OFFLOAD_STORE": "~/s"}).store_dir == str(tmp_path / "s")


def test_the_default_store_does_not_depend_on_the_environment(tmp_path: Path) -> None:
    plain = _settings(["list"], tmp_path).store_dir
    assert _settings(["list"], tmp_path, {"TMPDIR": "/x", "XDG_CACHE_HOME": "/y"}).store_dir == plain
    assert plain.endswith(f"mcp-offload-{os.getuid()}")


def test_the_state_follows_xdg_where_it_is_absolute(tmp_path: Path) -> None:
    assert _settings(["list"], tmp_path, {"XDG_STATE_HOME": "/x"}).state_dir == "/x/mcp-offload"
    relative = _settings(["list"], tmp_path, {"XDG_STATE_HOME": "x"}).state_dir
    assert relative == _settings(["list"], tmp_path).state_dir


def test_replies_are_bounded_in_the_server_alone(tmp_path: Path) -> None:
    environ = {"MCP_OFFLOAD_MAX_TOKENS": "500", "MCP_OFFLOAD_MAX_REPLY_BYTES": "4000"}
    server, shell = _settings(["serve"], tmp_path, environ), _settings(["read", "f1"], tmp_path, environ)
    assert (server.max_tokens, server.max_reply_bytes) == (500, 4000)
    assert (shell.max_tokens, shell.max_reply_bytes) == (UNLIMITED, UNLIMITED)


def test_every_variable_reaches_the_settings(tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_text("")
    program.chmod(0o755)
    values = {
        "MCP_OFFLOAD_STORE": "/s",
        "MCP_OFFLOAD_STATE": "/t",
        "MCP_OFFLOAD_ROOTS": str(tmp_path),
        "MCP_OFFLOAD_WORKSPACE": "w",
        "MCP_OFFLOAD_DURABILITY": "host",
        "MCP_OFFLOAD_QUOTA_BYTES": "101",
        "MCP_OFFLOAD_MAX_ARTIFACT_BYTES": "102",
        "MCP_OFFLOAD_TTL_SECONDS": "103",
        "MCP_OFFLOAD_RESERVE_BYTES": "104",
        "MCP_OFFLOAD_TOOLS": "all",
        "MCP_OFFLOAD_MAX_TOKENS": "105",
        "MCP_OFFLOAD_MAX_REPLY_BYTES": "1006",
        "MCP_OFFLOAD_LEASE": "hard",  # see test_lease_options
        "MCP_OFFLOAD_LEASE_LIMIT": "18001",
        "MCP_OFFLOAD_LEASE_RESERVE": "6001",
        "MCP_OFFLOAD_TOKENIZER_FACTOR": "1.1",
        "MCP_OFFLOAD_LEASE_FOR": "a:mode=off",
        "MCP_OFFLOAD_RG": str(program),
        "MCP_OFFLOAD_ALLOW_RUN": "make",  # see test_run_options
        "MCP_OFFLOAD_RUN_ENV": "A,B_*",  # of run alone
        "MCP_OFFLOAD_WRAP_HEADERS": "A: b",  # see test_wrap_options
        "MCP_OFFLOAD_FAILPOINTS": "a=kill,b=error",
    }
    assert set(values) == set(VARIABLES)
    assert _settings(["serve"], tmp_path, values) == Settings(
        store_dir="/s",
        state_dir="/t",
        roots=(str(tmp_path),),
        base_dir=str(tmp_path),
        workspace="w",
        durability="host",
        quota_bytes=101,
        max_artifact_bytes=102,
        ttl_seconds=103,
        reserve_bytes=104,
        tools="all",
        max_tokens=105,
        max_reply_bytes=1006,
        rg_path=str(program),
        failpoints=("a=kill", "b=error"),
    )


def test_ripgrep_is_found_on_the_path_and_can_be_turned_off(tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_text("")
    environ = {"PATH": str(tmp_path)}
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    found = beside if os.access(beside, os.X_OK) else None
    assert _settings(["list"], tmp_path, environ).rg_path == found
    program.chmod(0o755)
    assert _settings(["list"], tmp_path, environ).rg_path == (found or str(program))
    assert _settings(["list"], tmp_path, {**environ, "MCP_OFFLOAD_RG": "off"}).rg_path is None


def test_a_named_ripgrep_must_be_a_program(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="MCP_OFFLOAD_RG"):
        _settings(["list"], tmp_path, {"MCP_OFFLOAD_RG": str(tmp_path / "none")})


def test_a_server_started_elsewhere_works_in_its_first_root(tmp_path: Path) -> None:
    project, other, elsewhere = tmp_path / "project", tmp_path / "other", tmp_path / "elsewhere"
    for directory in (project / ".git", project / "src", other, elsewhere):
        directory.mkdir(parents=True)
    line = ["serve", "--root", str(project / "src"), "--root", str(other), "--store", "s"]
    settings = _settings(line, elsewhere)
    assert (settings.base_dir, settings.workspace) == (str(project / "src"), str(project))
    assert settings.store_dir == str(elsewhere / "s")
    assert _settings(["serve", "--root", str(project)], Path("/")).base_dir == str(project)
    # In a root, or in the project that one belongs to, the current directory counts.
    assert _settings(line, project).base_dir == str(project)
    assert _settings(line, other).base_dir == str(other)
    assert _settings(["list", *line[1:]], elsewhere).base_dir == str(elsewhere)
