"""The lease's options and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.cli import identity
from mcp_offload.cli.lease_options import with_lease
from mcp_offload.cli.parser import parse
from mcp_offload.cli.serve_options import with_serve_options
from mcp_offload.cli.settings_from import build_settings
from mcp_offload.errors import InvalidArgumentError, SettingsError
from mcp_offload.settings import LeaseSettings, Settings

CI = {"CI": "true"}


def _settings(argv: list[str], folder: Path, environ: dict[str, str] | None = None) -> Settings:
    args, environ = parse(argv), environ or {}
    settings = with_serve_options(build_settings(args, environ, str(folder)), args, str(folder))
    return with_lease(settings, args, environ)


def test_options_win_over_variables(tmp_path: Path) -> None:
    environ = {
        "MCP_OFFLOAD_LEASE": "hard",
        "MCP_OFFLOAD_LEASE_LIMIT": "30000",
        "MCP_OFFLOAD_LEASE_RESERVE": "8000",
        "MCP_OFFLOAD_TOKENIZER_FACTOR": "1.4",
    }
    assert _settings(["serve"], tmp_path, environ).lease == LeaseSettings(
        mode="hard", limit_tokens=30_000, reserve_tokens=8_000, tokenizer_factor=1.4
    )
    given = ["serve", "--lease", "off", "--lease-limit", "20000", "--lease-reserve", "5000"]
    lease = _settings([*given, "--tokenizer-factor", "1.1"], tmp_path, environ).lease
    assert lease == LeaseSettings(mode="off", limit_tokens=20_000, reserve_tokens=5_000, tokenizer_factor=1.1)


def test_an_unattended_server_is_hard_and_an_attended_one_advises(tmp_path: Path) -> None:
    assert _settings(["serve"], tmp_path, CI).lease.mode == "hard"
    assert _settings(["serve"], tmp_path, {"DISPLAY": ":0"}).lease.mode == "advisory"
    assert _settings(["serve"], tmp_path, {**CI, "DISPLAY": ":0"}).lease.mode == "hard"


def test_over_http_the_default_is_to_advise(tmp_path: Path) -> None:
    settings = _settings(["serve", "--http", "0"], tmp_path, CI)
    assert (settings.lease.mode, settings.identity) == ("advisory", "")
    assert _settings(["serve", "--http", "0", "--lease", "hard"], tmp_path).lease.mode == "hard"


def test_only_what_delivers_has_a_lease(tmp_path: Path) -> None:
    assert _settings(["list"], tmp_path, CI).lease == LeaseSettings()


def test_single_clients_have_leases_of_their_own(tmp_path: Path) -> None:
    settings = _settings(
        ["serve", "--lease", "hard", "--lease-for", "codex:limit=40000,factor=1.2"],
        tmp_path,
        {"MCP_OFFLOAD_LEASE_FOR": "a:b:mode=off;reviewer:limit=9000,reserve=1000"},
    )
    assert settings.leases == {
        "a:b": LeaseSettings(mode="off"),
        "reviewer": LeaseSettings(mode="hard", limit_tokens=9_000, reserve_tokens=1_000),
        "codex": LeaseSettings(mode="hard", limit_tokens=40_000, tokenizer_factor=1.2),
    }


@pytest.mark.parametrize(
    "argv",
    [
        ["--lease-limit", "many"],
        ["--lease-limit", "8000"],
        ["--lease-limit", "-1"],
        ["--tokenizer-factor", "0"],
        ["--tokenizer-factor", "nan"],
        ["--tokenizer-factor", "8"],
        ["--lease-for", "codex"],
        ["--lease-for", "codex:size=3"],
        ["--lease-for", ":limit=30000"],
        ["--lease-for", "codex:mode=soft"],
    ],
)
def test_malformed_leases_are_refused(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(SettingsError):
        _settings(["serve", "--lease", "hard", *argv], tmp_path)


def test_a_session_is_named_by_the_operator_then_the_client_then_its_process(tmp_path: Path) -> None:
    environ = {"CLAUDE_CODE_SESSION_ID": "c-1"}
    assert _settings(["serve", "--session", "s"], tmp_path, environ).identity == "session:s"
    assert _settings(["serve"], tmp_path, environ).identity == "session:c-1"
    assert _settings(["serve"], tmp_path).identity == identity.client_process()
    assert _settings(["serve"], tmp_path, {"CLAUDE_CODE_SESSION_ID": "a\nb"}).identity != "session:a\nb"


def test_a_malformed_session_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        identity.named_session("a\nb", {})
