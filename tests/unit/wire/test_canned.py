"""Only what is plainly in order is answered from the record; everything else is the SDK's."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_offload.wire.canned import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY, Handshake, Snapshot
from mcp_offload.wire.messages import Message

OLD, NEW, MODERN = "2024-11-05", "2025-11-25", "2026-07-28"
SNAPSHOT = Snapshot(
    initialize={"protocolVersion": NEW, "serverInfo": {"name": "n"}},
    discover={"supportedVersions": [MODERN]},
    lists={"tools/list": {version: {"tools": [version]} for version in (OLD, NEW, MODERN)}},
    handshake_versions=(OLD, NEW),
    envelope_versions=(MODERN,),
)
CLIENT = {"name": "c", "version": "1"}
GREETING: dict[str, Any] = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": CLIENT}
ENVELOPE: dict[str, Any] = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}, CLIENT_KEY: CLIENT}


def _ask(handshake: Handshake, method: str, params: dict[str, Any] | None = None) -> dict[str, object] | None:
    body: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        body["params"] = params
    return handshake.answer(Message(body, method, 1, b""))


@pytest.fixture
def handshake() -> Handshake:
    return Handshake(SNAPSHOT)


@pytest.mark.parametrize(("asked", "given"), [(OLD, OLD), (NEW, NEW), (MODERN, NEW), ("1999-01-01", NEW)])
def test_the_version_is_negotiated_and_rules_the_list(handshake: Handshake, asked: str, given: str) -> None:
    answer = _ask(handshake, "initialize", {**GREETING, "protocolVersion": asked})
    assert answer == {"protocolVersion": given, "serverInfo": {"name": "n"}}
    assert _ask(handshake, "tools/list") == {"tools": [given]}
    assert _ask(handshake, "ping", {"_meta": {"progressToken": 1}}) == {}


def test_the_list_waits_for_the_handshake(handshake: Handshake) -> None:
    assert _ask(handshake, "tools/list") is None
    assert _ask(handshake, "ping") == {}
    assert _ask(handshake, "initialize", GREETING) is not None
    assert _ask(handshake, "tools/list", {}) == {"tools": [OLD]}


def test_a_second_greeting_is_the_sdks(handshake: Handshake) -> None:
    assert _ask(handshake, "initialize", GREETING) is not None
    assert _ask(handshake, "initialize", GREETING) is None


def test_an_enveloped_first_request_decides_the_era(handshake: Handshake) -> None:
    assert _ask(handshake, "server/discover", {"_meta": ENVELOPE}) == {"supportedVersions": [MODERN]}
    assert _ask(handshake, "tools/list", {"_meta": ENVELOPE}) == {"tools": [MODERN]}
    assert _ask(handshake, "initialize", GREETING) is None
    assert _ask(handshake, "ping") is None
    assert _ask(handshake, "tools/list") is None


def test_a_plain_first_request_decides_the_other(handshake: Handshake) -> None:
    assert _ask(handshake, "initialize", {**GREETING, "_meta": ENVELOPE}) is not None
    assert _ask(handshake, "server/discover", {"_meta": ENVELOPE}) is None
    assert _ask(handshake, "tools/list", {"_meta": ENVELOPE}) is None
    assert _ask(handshake, "tools/list") == {"tools": [OLD]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocolVersion": 1},
        {"protocolVersion": None},
        {"capabilities": None},
        {"capabilities": []},
        {"capabilities": {"roots": {"listChanged": "yes"}}},
        {"capabilities": {"sampling": True}},
        {"capabilities": {"experimental": {"x": 1}}},
        {"clientInfo": None},
        {"clientInfo": {"name": "c"}},
        {"clientInfo": {"name": "c", "version": 1}},
        {"clientInfo": {**CLIENT, "title": None}},
        {"clientInfo": {**CLIENT, "icons": [{"sizes": ["1x1"]}]}},
        {"clientInfo": {**CLIENT, "icons": "i.png"}},
        {"_meta": 5},
        {"_meta": {"progressToken": []}},
    ],
)
def test_a_greeting_with_anything_odd_is_the_sdks(handshake: Handshake, wrong: dict[str, Any]) -> None:
    assert _ask(handshake, "initialize", {**GREETING, **wrong}) is None
    assert _ask(handshake, "tools/list") is None


@pytest.mark.parametrize(
    "plain",
    [
        {"capabilities": {"roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}}}},
        {"capabilities": {"sampling": {"tools": {}}, "experimental": {"x": {"y": 1}}, "unknown": 5}},
        {"clientInfo": {**CLIENT, "title": "C", "websiteUrl": "https://example.org"}},
        {"clientInfo": {**CLIENT, "icons": [{"src": "i.png", "sizes": ["1x1"], "mimeType": "image/png"}]}},
        {"_meta": {"progressToken": "t", "other": [1]}},
    ],
)
def test_what_clients_really_send_is_answered(handshake: Handshake, plain: dict[str, Any]) -> None:
    assert _ask(handshake, "initialize", {**GREETING, **plain}) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {VERSION_KEY: "2027-01-01"},
        {VERSION_KEY: 5},
        {CAPABILITIES_KEY: None},
        {CLIENT_KEY: None},
        {CLIENT_KEY: {"name": "c"}},
        {"progressToken": {}},
    ],
)
def test_an_odd_envelope_is_the_sdks(handshake: Handshake, wrong: dict[str, Any]) -> None:
    assert _ask(handshake, "server/discover", {"_meta": {**ENVELOPE, **wrong}}) is None


def test_an_envelope_need_not_name_the_client(handshake: Handshake) -> None:
    meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    assert _ask(handshake, "server/discover", {"_meta": meta}) is not None


def test_later_pages_and_other_methods_are_the_sdks(handshake: Handshake) -> None:
    assert _ask(handshake, "initialize", GREETING) is not None
    assert _ask(handshake, "tools/list", {"cursor": "x"}) is None
    assert _ask(handshake, "tools/call", {"name": "read_handle"}) is None
    assert _ask(handshake, "resources/list") is None
