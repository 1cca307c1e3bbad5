from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mcp_offload.cli import doctor
from mcp_offload.cli.doctor import Finding
from mcp_offload.models import Kind
from mcp_offload.settings import MIB, Settings
from mcp_offload.store import NewVersion, Store, StoreConfig


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    place = str(tmp_path)
    return Settings(store_dir=place, state_dir=place, roots=(place,), base_dir=place, workspace=place)


def test_a_line_says_what_to_do_on_a_line_of_its_own() -> None:
    assert doctor._line(Finding("disk", "ok", "plenty")) == "ok    disk: plenty"
    wrong = Finding("disk", "wrong", "none", "free some")
    assert doctor._line(wrong) == "WRONG disk: none\n      -> free some"


@pytest.mark.parametrize(
    ("free_bytes", "verdict"), [(10 * MIB, "wrong"), (100 * MIB, "note"), (5000 * MIB, "ok")]
)
def test_room_is_judged_by_reserve_and_quota(settings: Settings, free_bytes: int, verdict: str) -> None:
    settings = dataclasses.replace(settings, reserve_bytes=64 * MIB, quota_bytes=1000 * MIB)
    finding = doctor._room(settings, free_bytes)
    assert finding.verdict == verdict
    assert (finding.fix is None) == (verdict == "ok")


def test_broken_installed_code_is_reported_and_not_raised() -> None:
    def look() -> str:
        raise ImportError("libfoo.so: cannot open")

    finding = doctor._check("parsers", look, "reinstall")
    assert finding == Finding("parsers", "wrong", "ImportError: libfoo.so: cannot open", "reinstall")


def test_parsers_and_token_counter_are_looked_at() -> None:
    assert doctor._check("parsers", doctor._parsers, "").verdict == "ok"
    assert doctor._check("token counter", doctor._tokens, "").verdict == "ok"


def test_a_token_counter_that_counts_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_SAMPLE", ("hello world", 3))
    assert doctor._check("token counter", doctor._tokens, "fix").verdict == "wrong"


def test_a_damaged_store_is_told_with_what_is_lost(settings: Settings) -> None:
    config = StoreConfig.from_settings(settings)
    with Store.open(config) as store, store.stage([b"x" * 100_000]) as staged:
        put = NewVersion(staged=staged, kind=Kind.LOG, name="a", encoding="utf-8", lines=1)
        store.commit(settings.workspace, [put])
    assert [f.verdict for f in doctor._store(settings)] == ["ok"] * 3
    blobs = [file for file in Path(settings.store_dir).rglob("*") if file.is_file()]
    blob = next(file for file in blobs if file.read_bytes() == b"x" * 100_000)
    blob.chmod(0o600)
    blob.write_bytes(b"x" * 99)
    store_finding = next(doctor._store(settings))
    assert store_finding.verdict == "wrong"
    assert "blob" in store_finding.detail
