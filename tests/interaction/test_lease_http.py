"""Leases over HTTP: by connection where that has a name, else by principal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_offload.models import DeliveryStats
from mcp_offload.server.tenants import workspace_of
from mcp_offload.service import open_service
from mcp_offload.settings import LeaseSettings, Settings
from mcp_offload.tokens import TokenCounter
from mcp_offload.wire.caller import LEASE_META_KEY
from tests.interaction.harness import INVOICE, MODES, Mode, call, settings_in
from tests.interaction.http_harness import ANN, BOB, client_of, serving, tokens_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

READ = {"handles": ["billing.py#report"]}


def leased(folder: Path) -> Settings:
    lease = LeaseSettings(mode="hard")
    settings = settings_in(folder, lease=lease, leases={"bob": replace(lease, limit_tokens=9_500)})
    (folder / "work" / "billing.py").write_text(INVOICE, encoding="utf-8")
    return settings


def delivered(settings: Settings, principal: str) -> DeliveryStats:
    with open_service(settings) as service:
        return service.in_workspace(workspace_of(principal, settings.workspace)).stats().delivered


async def test_each_principal_and_each_connection_has_a_lease_of_its_own(tmp_path: Path, mode: Mode) -> None:
    settings = leased(tmp_path)
    texts: list[str] = []
    async with serving(settings, token_file=tokens_in(tmp_path)) as base:
        for _ in range(2):
            async with client_of(base, mode, ANN) as ann:
                texts.append(await call(ann, "read_handle", **READ))
        async with client_of(base, mode, BOB) as bob:
            meta: Any = {LEASE_META_KEY: {}}
            result = await bob.call_tool("read_handle", READ, meta=meta)
            assert result.meta is not None
            assert result.meta[LEASE_META_KEY]["lease_tokens"] == 3_500
    counts = [TokenCounter().count(text) for text in texts]
    anns = delivered(settings, "ann")
    results = [session.delivered["result"] for session in anns.sessions]
    if mode == "legacy":
        assert all(session.session.startswith("http:") for session in anns.sessions)
        assert sorted(results) == sorted(counts)
        assert all(session.delivered["instructions"] > 80 for session in anns.sessions)
    else:
        assert [session.session for session in anns.sessions] == ["principal"]
        assert results == [sum(counts)]
    assert [len(delivered(settings, name).sessions) for name in ("bob", "")] == [1, 0]
