"""Who is let in: tokens, names, rates."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_offload.errors import SettingsError
from mcp_offload.wire.admission import (
    ANONYMOUS,
    LOOPBACK_HOSTS,
    Names,
    TokenBucket,
    host_name,
    load_principals,
    names_of,
)

TOKEN = "0123456789abcdef"


def _file(tmp_path: Path, text: str, mode: int = 0o600) -> str:
    path = tmp_path / "tokens"
    path.write_text(text)
    os.chmod(path, mode)
    return str(path)


def test_a_token_names_its_principal_and_several_may_name_one(tmp_path: Path) -> None:
    principals = load_principals(_file(tmp_path, f"# all\nann {TOKEN}1\n\nbob {TOKEN}2 # b\nann {TOKEN}3\n"))
    assert not principals.open
    assert principals.named(f"Bearer {TOKEN}1") == "ann"
    assert principals.named(f"bearer  {TOKEN}2") == "bob"
    assert principals.named(f"Bearer {TOKEN}3") == "ann"
    for header in (None, "", "Bearer", f"Basic {TOKEN}1", f"Bearer {TOKEN}", TOKEN, "Bearer \udcff"):
        assert principals.named(header) is None


def test_without_a_file_everybody_is_nobody() -> None:
    principals = load_principals(None)
    assert principals.open
    assert principals.named(None) == principals.named("Bearer x") == ANONYMOUS


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        ("", 0o600, "no token"),
        ("# nobody\n", 0o600, "no token"),
        ("ann\n", 0o600, "Line 1"),
        (f"a b {TOKEN}\n", 0o600, "Line 1"),
        (f"ann {TOKEN}\nbob short\n", 0o600, "Line 2"),
        (f"../x {TOKEN}\n", 0o600, "Line 1"),
        (f"ann {TOKEN}\n", 0o640, "0600"),
    ],
)
def test_a_wrong_file_is_refused_without_repeating_it(
    tmp_path: Path, text: str, mode: int, complaint: str
) -> None:
    with pytest.raises(SettingsError, match=complaint) as caught:
        load_principals(_file(tmp_path, text, mode))
    assert TOKEN not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_principals(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:80", "localhost"),
        ("[::1]:80", "::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("", ""),
        ("[", ""),
    ],
)
def test_the_name_in_a_host_header(header: str, name: str) -> None:
    assert host_name(header) == name


def test_the_names_follow_from_the_address() -> None:
    assert names_of("127.0.0.1", [], open_to_all=True) == Names(LOOPBACK_HOSTS)
    assert names_of("localhost", ["Box"], open_to_all=True) == Names(LOOPBACK_HOSTS | {"box"})
    assert names_of("0.0.0.0", [], open_to_all=False) == Names(None)
    assert names_of("0.0.0.0", ["box"], open_to_all=False) == Names(LOOPBACK_HOSTS | {"box"})
    assert names_of("Box.example", [], open_to_all=False) == Names(frozenset({"box.example"}))
    with pytest.raises(SettingsError):
        names_of("0.0.0.0", [], open_to_all=True)


def test_where_any_name_will_do_pages_of_others_still_may_not() -> None:
    names = Names(None)
    assert names.admits_host("anything.example:8000")
    assert not names.admits_host(None)
    assert names.admits_origin(None, "a.example")
    assert names.admits_origin("https://a.example", "a.example:8000")
    assert not names.admits_origin("https://b.example", "a.example:8000")
    assert not names.admits_origin("http://[", "a.example")


def test_a_bucket_admits_its_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=2, burst=3)
    assert [bucket.take(100.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert bucket.take(100.25) == 0.25
    assert bucket.take(100.75) == 0
    assert bucket.take(100.75) > 0
    assert [bucket.take(900.0) for _ in range(4)] == [0, 0, 0, 0.5]
