"""Principals come and go: what each gets is made when it comes, and makes room for others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_offload.server.tenants import Tenants, TooManyTenantsError, make_tenant
from mcp_offload.service import open_service
from mcp_offload.settings import HttpSettings
from tests.interaction.harness import settings_in
from tests.interaction.requirements import covers

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def tenants_of(folder: Path, most: int) -> AsyncIterator[Tenants]:
    settings, http = settings_in(folder), HttpSettings(host="127.0.0.1", port=0)
    with open_service(settings) as service:
        tenants = Tenants(lambda name: make_tenant(name, lambda: service, settings, http), most)
        async with tenants.running():
            yield tenants


@covers("http-principals")
async def test_the_one_that_was_longest_away_makes_room(tmp_path: Path) -> None:
    async with tenants_of(tmp_path, most=2) as tenants:
        async with tenants.of("ann") as ann:
            stored = ann.service.get().store(content="a note\n", name="note.txt").handle
        async with tenants.of("bob") as bob, tenants.of("ann") as same:
            assert same is ann
        async with tenants.of("cid"), tenants.of("ann") as same:
            assert same is ann
        async with tenants.of("bob") as again:
            assert again is not bob
        async with tenants.of("cid"), tenants.of("ann") as again:
            assert again is not ann
            # Its connections are gone, and nothing else.
            assert again.service.get().read([str(stored)])[0].text == "a note\n"


@covers("http-principals")
async def test_one_with_a_running_request_stays(tmp_path: Path) -> None:
    async with tenants_of(tmp_path, most=2) as tenants:
        async with tenants.of("ann") as ann:
            async with tenants.of("bob"):
                with pytest.raises(TooManyTenantsError):
                    async with tenants.of("cid"):
                        pass
            async with tenants.of("cid"):
                pass
        async with tenants.of("ann") as same:
            assert same is ann
