"""The options of serve: what they become, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_offload.cli.parser import parse
from mcp_offload.cli.serve_options import with_serve_options
from mcp_offload.cli.settings_from import build_settings
from mcp_offload.errors import SettingsError
from mcp_offload.settings import HttpSettings, OAuthSettings, Settings


def _settings(cwd: Path, *line: str) -> Settings:
    args = parse(line)
    return with_serve_options(build_settings(args, {}, str(cwd)), args, str(cwd))


def test_nothing_is_set_by_default_and_by_other_commands(tmp_path: Path) -> None:
    for line in (["serve"], ["list"]):
        settings = _settings(tmp_path, *line)
        assert (settings.structured, settings.resource_links) == (False, False)
        assert (settings.session, settings.http) == (None, None)


def test_the_flags_and_the_session(tmp_path: Path) -> None:
    settings = _settings(tmp_path, "serve", "--structured", "--resource-links", "--session", "a b")
    assert (settings.structured, settings.resource_links, settings.session) == (True, True, "a b")


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("8000", "127.0.0.1", 8000),
        (":8000", "127.0.0.1", 8000),
        ("0", "127.0.0.1", 0),
        ("0.0.0.0:80", "0.0.0.0", 80),
        ("[::1]:8000", "::1", 8000),
        ("box.example:65535", "box.example", 65535),
    ],
)
def test_addresses(tmp_path: Path, address: str, host: str, port: int) -> None:
    assert _settings(tmp_path, "serve", "--http", address).http == HttpSettings(host=host, port=port)


def test_the_token_file_is_found_from_where_the_command_stands(tmp_path: Path) -> None:
    line = ("serve", "--http", "1", "--token-file", "t", "--allow-host", "a", "--allow-host", "b")
    http = _settings(tmp_path, *line, "--rate", "3", "--client-quota", "9").http
    assert http is not None
    assert (http.token_file, http.allowed_hosts) == (str(tmp_path / "t"), ("a", "b"))
    assert (http.requests_per_second, http.burst, http.principal_bytes) == (3, 12, 9)


def test_tokens_are_for_the_address_listened_on_unless_told_otherwise(tmp_path: Path) -> None:
    for words, expected in (
        (("--http", "8000"), OAuthSettings(issuer="https://a.example", resource="http://127.0.0.1:8000/mcp")),
        (
            ("--http", "[::1]:8000"),
            OAuthSettings(issuer="https://a.example", resource="http://[::1]:8000/mcp"),
        ),
        (
            ("--http", "0", "--oauth-resource", "https://b.example/mcp", "--oauth-audience", "b"),
            OAuthSettings(issuer="https://a.example", resource="https://b.example/mcp", audience="b"),
        ),
        (
            ("--http", "1", "--oauth-scope", "r", "--oauth-scope", "w"),
            OAuthSettings(issuer="https://a.example", resource="http://127.0.0.1:1/mcp", scopes=("r", "w")),
        ),
    ):
        http = _settings(tmp_path, "serve", *words, "--oauth-issuer", "https://a.example").http
        assert http is not None
        assert http.oauth == expected


@pytest.mark.parametrize(
    "line",
    [
        ["--session", ""],
        ["--session", "x" * 201],
        ["--session", "a\nb"],
        ["--http", "localhost"],
        ["--http", "localhost:"],
        ["--http", "1:65536"],
        ["--http", "-1"],
        ["--http", "8000", "--session", "s"],
        ["--token-file", "t"],
        ["--allow-host", "h"],
        ["--rate", "5"],
        ["--client-quota", "5"],
        ["--oauth-issuer", "https://a.example"],
        ["--http", "1", "--oauth-resource", "https://a.example/mcp"],
        ["--http", "1", "--oauth-audience", "a"],
        ["--http", "1", "--oauth-scope", "a"],
        ["--http", "1", "--oauth-issuer", "http://a.example"],
        ["--http", "1", "--oauth-issuer", "a.example"],
        ["--http", "0", "--oauth-issuer", "https://a.example"],
        ["--http", "0.0.0.0:1", "--oauth-issuer", "https://a.example"],
        ["--http", "1", "--oauth-issuer", "https://a.example", "--oauth-resource", "a.example/mcp"],
    ],
)
def test_what_is_refused(tmp_path: Path, line: list[str]) -> None:
    # One word each: a value may start with a dash.
    words = [f"{line[i]}={line[i + 1]}" for i in range(0, len(line), 2)]
    with pytest.raises(SettingsError):
        _settings(tmp_path, "serve", *words)
