"""The recorded answers are the SDK's own, for every protocol version and tool profile."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from mcp_offload import __version__
from mcp_offload.server.snapshot import (
    LISTS,
    PROFILES,
    SNAPSHOT_PATH,
    ask,
    envelope_params,
    initialize_params,
    record,
    snapshot_server,
)
from mcp_offload.settings import ToolProfile
from mcp_offload.wire.canned import Handshake, load_snapshot
from mcp_offload.wire.messages import Message

PROFILE = pytest.mark.parametrize("profile", PROFILES)


def _front(handshake: Handshake, method: str, params: dict[str, Any]) -> dict[str, object] | None:
    body: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return handshake.answer(Message(body, method, 1, 10))


def _handshake(profile: ToolProfile) -> Handshake:
    return Handshake(load_snapshot(SNAPSHOT_PATH.read_bytes(), profile))


def test_the_recorded_file_is_what_the_generator_writes() -> None:
    assert json.loads(SNAPSHOT_PATH.read_text(encoding="utf-8")) == anyio.run(record), (
        "run: python -m mcp_offload.server.snapshot"
    )


def test_every_version_the_sdk_knows_is_recorded() -> None:
    for profile in PROFILES:
        snapshot = load_snapshot(SNAPSHOT_PATH.read_bytes(), profile)
        assert set(snapshot.lists) == set(LISTS)
        assert all(set(results) == set(KNOWN_PROTOCOL_VERSIONS) for results in snapshot.lists.values())


@PROFILE
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS, "2099-01-01"])
def test_the_front_and_the_sdk_greet_and_list_alike(profile: ToolProfile, version: str) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [("initialize", initialize_params(version)), ("ping", {})]
    requests += [(method, {}) for method in LISTS]
    handshake = _handshake(profile)
    front = [_front(handshake, method, params) for method, params in requests]
    assert front == anyio.run(ask, snapshot_server(profile), requests)


@PROFILE
@pytest.mark.parametrize("version", MODERN_PROTOCOL_VERSIONS)
def test_the_front_and_the_sdk_discover_and_list_alike(profile: ToolProfile, version: str) -> None:
    requests = [(method, envelope_params(version)) for method in ("server/discover", *LISTS)]
    handshake = _handshake(profile)
    front = [_front(handshake, method, params) for method, params in requests]
    assert front == anyio.run(ask, snapshot_server(profile), requests)


@PROFILE
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS])
def test_the_tool_that_runs_commands_is_listed_alike_where_it_is_allowed(
    profile: ToolProfile, version: str
) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [("tools/list", envelope_params(version))]
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        requests = [("initialize", initialize_params(version)), ("tools/list", {})]
    handshake = Handshake(load_snapshot(SNAPSHOT_PATH.read_bytes(), profile, run=True))
    front = [_front(handshake, method, params) for method, params in requests]
    assert front == anyio.run(ask, snapshot_server(profile, run=True), requests)
    assert "run_command" in str(front[-1])


def test_the_greeting_names_this_release() -> None:
    snapshot = load_snapshot(SNAPSHOT_PATH.read_bytes(), "default")
    assert snapshot.initialize["serverInfo"] == {
        "name": "mcp-offload",
        "title": "MCP Offload",
        "version": __version__,
    }
