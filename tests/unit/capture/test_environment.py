from __future__ import annotations

import pytest

from mcp_offload.capture.environment import is_secret_name, scrub


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "GITHUBTOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MYSQL_PWD_PASSWORD"),
        *("OPENAI_API_KEY", "api_key", "OPENAIAPIKEY", "SSH_PASSPHRASE", "NPM_CONFIG__AUTH", "SENTRY_DSN"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "SESSION_COOKIE", "GITLAB_PAT", "DB_PASS", "TOKEN", "TOKEN_FILE"),
    ],
)
def test_what_looks_like_a_secret_is_one(name: str) -> None:
    assert is_secret_name(name)
    assert scrub({name: "x", "PATH": "/bin"}).variables == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "LANG", "TERM", "SSH_AUTH_SOCK", "XAUTHORITY", "KEYBOARD_LAYOUT"),
        *("TOKENIZERS_PARALLELISM", "MONKEY", "BYPASS_CACHE", "COMPASS", "MCP_OFFLOAD_MAX_TOKENS", "PATTERN"),
    ],
)
def test_what_commands_need_stays(name: str) -> None:
    assert scrub({name: "x"}).variables == {name: "x"}


def test_a_login_in_an_address_is_withheld_whatever_the_name() -> None:
    seen = scrub(
        {"DATABASE_URL": "postgres://app:hunter2@db/app", "SITE_URL": "https://example.org:8080/a@b"}
    )
    assert seen.variables == {"SITE_URL": "https://example.org:8080/a@b"}
    assert seen.withheld == ("DATABASE_URL",)


def test_names_and_patterns_can_be_allowed() -> None:
    environ = {"AWS_SECRET_ACCESS_KEY": "a", "AWS_SESSION_TOKEN": "b", "GH_TOKEN": "c", "NPM_TOKEN": "d"}
    seen = scrub(environ, ["AWS_*", "GH_TOKEN"])
    assert seen.variables == {n: v for n, v in environ.items() if n != "NPM_TOKEN"}
    assert seen.withheld == ("NPM_TOKEN",)
