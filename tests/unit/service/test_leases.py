"""Leases in a store: sharing, forgetting, silence, and a ledger that cannot be written."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import InvalidArgumentError, StoreError
from mcp_offload.lease import DeliveredText, Delivery, Report
from mcp_offload.service.accounting import delivery_stats
from mcp_offload.service.leases import IDLE_SECONDS, Leases, Uncounted
from mcp_offload.settings import LeaseSettings, Settings
from mcp_offload.store import Store, StoreConfig
from mcp_offload.wire.desk import counted

RESULT = Delivery("result", 1_000, "read_handle", (DeliveredText("f1", 900, "x"),))


def settings_of(folder: Path, mode: str) -> Settings:
    lease = LeaseSettings(mode=mode)  # type: ignore[arg-type]
    return Settings(
        store_dir=str(folder / "s"),
        state_dir=str(folder / "t"),
        roots=(),
        base_dir=str(folder),
        workspace="w",
        lease=lease,
    )


def test_silence_begins_an_unnamed_advisory_session_anew_and_no_other(tmp_path: Path) -> None:
    now = 1_000.0
    for mode, session, left in (
        ("advisory", "process:1", 12_000),
        ("advisory", "session:a", 11_000),
        ("hard", "process:2", 11_000),
    ):
        settings = settings_of(tmp_path / mode / session, mode)
        config = replace(StoreConfig.from_settings(settings), clock=lambda: now)
        with Store.open(config) as store:
            lease = replace(Leases(store.ledger, settings).of(session), clock=lambda: now)
            assert lease.deliver(RESULT)
            later = replace(lease, clock=lambda: now + IDLE_SECONDS + 1)
            assert lease.show().left_tokens == 11_000
            assert later.show().left_tokens == left
            assert later.show().delivered == {"result": 1_000}


def test_a_session_is_forgotten_with_what_it_used(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "hard")
    with Store.open(StoreConfig.from_settings(settings)) as store:
        lease = Leases(store.ledger, settings).of("session:a")
        assert lease.deliver(RESULT, artifacts={3: 900})
        store.gc()
        assert store.ledger.uses("w")
        row = store.ledger.get("w", "session:a")
        assert row is not None
        store.gc(row.used_at + settings.ttl_seconds + 1)
        assert store.ledger.get("w", "session:a") is None
        assert store.ledger.uses("w") == []


def test_a_reporter_takes_the_terms_of_the_server_that_counts(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "hard")
    with Store.open(StoreConfig.from_settings(settings)) as store:
        theirs = Leases(store.ledger, replace(settings, lease=LeaseSettings()))
        assert theirs.known("session:a") is None
        assert Leases(store.ledger, settings).with_standing(500).of("session:a").deliver(RESULT)
        known = theirs.known("session:a")
        assert known is not None
        assert (known.show().mode, known.show().left_tokens) == ("hard", 10_500)


def test_an_agent_that_starts_again_starts_empty(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "hard")
    with Store.open(StoreConfig.from_settings(settings)) as store:
        leases = Leases(store.ledger, settings)
        parent, child = leases.of("session:a"), leases.of("session:a", agent="x")
        for _ in range(2):
            parent.report(Report(agent_started="x", share_tokens=1_500))
            assert child.deliver(RESULT)
            assert not child.deliver(RESULT)
        parent.report(Report(agent_ended="x"))
        assert child.deliver(RESULT)
        assert parent.show().charged_tokens == 1_000


@pytest.mark.parametrize(
    "told", [Report(context_tokens=-1), Report(share_tokens=-1), Report(agent_started="")]
)
def test_wrong_reports_change_nothing(tmp_path: Path, told: Report) -> None:
    settings = settings_of(tmp_path, "hard")
    with Store.open(StoreConfig.from_settings(settings)) as store:
        lease = Leases(store.ledger, settings).of("session:a")
        with pytest.raises(InvalidArgumentError):
            lease.report(told)
        assert store.ledger.get("w", "session:a") is None


@pytest.mark.parametrize("mode", ["advisory", "hard"])
def test_a_ledger_that_cannot_be_written_ends_a_hard_session_alone(
    tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(tmp_path, mode)
    with Store.open(StoreConfig.from_settings(settings)) as store:
        lease = Leases(store.ledger, settings).of("session:a")
    if mode == "hard":
        with pytest.raises(StoreError):
            counted(lease, RESULT)
        return
    with caplog.at_level(logging.WARNING):
        assert counted(lease, RESULT)
    assert "could not be counted" in caplog.text


def test_a_tight_report_binds_processes_that_have_set_something_aside(tmp_path: Path) -> None:
    settings = replace(
        settings_of(tmp_path, "hard"),
        lease=LeaseSettings(mode="hard", limit_tokens=40_000, reserve_tokens=6_000),
    )
    config = replace(StoreConfig.from_settings(settings), write_after_seconds=3_600.0)
    with Store.open(config) as one, Store.open(config) as two, Store.open(config) as three:
        leases = [Leases(store.ledger, settings).of("session:a") for store in (one, two, three)]
        small = Delivery("result", 100, "t")
        for lease in leases:
            assert lease.deliver(small)
        aside = leases[2].report(Report(context_tokens=40_000 - 4_500, source="gateway"))
        assert 0 < aside.left_tokens < 1_000
        sent = 0
        for _ in range(60):
            sent += sum(100 for lease in leases if lease.deliver(small))
        assert 4_000 < sent <= 4_500


@pytest.mark.parametrize("mode", ["off", "advisory"])
def test_what_waits_is_shown_by_its_process_at_once_and_to_all_when_it_ends(
    tmp_path: Path, mode: str
) -> None:
    settings = settings_of(tmp_path, mode)
    config = replace(StoreConfig.from_settings(settings), write_after_seconds=3_600.0)
    counted_texts: list[str] = []

    def count(text: str) -> int:
        counted_texts.append(text)
        return 7

    with Store.open(config) as onlooker:
        with Store.open(config) as store:
            lease = Leases(store.ledger, settings).of("session:a")
            assert lease.deliver(Delivery("result", 0, "read_handle"), text=Uncounted("x" * 90, count))
            assert onlooker.ledger.get("w", "session:a") is None
            assert lease.show().delivered == {"result": 7}
            assert delivery_stats(store.ledger, "w").delivered_tokens == 7
            assert lease.deliver(Delivery("result", 0, "read_handle"), text=Uncounted("y", count))
        row = onlooker.ledger.get("w", "session:a")
    assert row is not None
    assert row.state.delivered == {"result": 14}
    assert counted_texts == ["x" * 90, "y"]


def test_a_small_hard_lease_is_written_with_each_reply(tmp_path: Path) -> None:
    settings = replace(
        settings_of(tmp_path, "hard"),
        lease=LeaseSettings(mode="hard", limit_tokens=10_000, reserve_tokens=6_000),
    )
    config = replace(StoreConfig.from_settings(settings), write_after_seconds=3_600.0)
    with Store.open(config) as store, Store.open(config) as onlooker:
        lease = Leases(store.ledger, settings).of("session:a")
        for number in range(1, 4):
            assert lease.deliver(Delivery("result", 100, "t"))
            row = onlooker.ledger.get("w", "session:a")
            assert row is not None
            assert (row.state.delivered, dict(row.state.reserved)) == ({"result": 100 * number}, {})
