"""The answers to the first requests of a client, prepared when the package was built.

They are the SDK's own answers, recorded; a test holds them equal. Only a request whose every part is
plainly in order is answered from here: anything else waits for the SDK, which then answers or
refuses it itself. Standard library only.
"""

from __future__ import annotations

import json
from typing import Final, Literal, NamedTuple, cast

from mcp_offload.wire.messages import JsonObject, Message, as_object, as_request_id

# Source: MCP specification 2026-07-28, "Per-request protocol fields".
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"

Era = Literal["handshake", "envelope"]

# Source: ClientCapabilities of the MCP schemas; members of other names are not looked at by the SDK.
_CAPABILITIES: Final = ("experimental", "extensions", "sampling", "elicitation", "roots", "tasks")


class Snapshot(NamedTuple):
    """Recorded results of one tool profile.

    Attributes:
        initialize: result of ``initialize``, for the newest handshake version.
        discover: result of ``server/discover``.
        lists: result of each list by its method, then by protocol version.
        handshake_versions, envelope_versions: oldest first.
    """

    initialize: JsonObject
    discover: JsonObject
    lists: dict[str, dict[str, JsonObject]]
    handshake_versions: tuple[str, ...]
    envelope_versions: tuple[str, ...]


def load_snapshot(
    data: str | bytes, profile: str, *, structured: bool = False, run: bool = False
) -> Snapshot:
    """Read the recorded answers of one tool profile.

    ``structured``: without the list of tools, which then has schemas that are not recorded.
    ``run``: with the tool that runs commands.

    Raises:
        KeyError, ValueError: the file is not one that the generator wrote.
    """
    recorded = json.loads(data)
    one = recorded["profiles"][profile]
    if run:
        _add_tool(one["lists"]["tools/list"], _by_version(recorded["run_tool"]))
    return Snapshot(
        initialize=one["initialize"],
        discover=one["discover"],
        lists={
            method: _by_version(groups)
            for method, groups in one["lists"].items()
            if not (structured and method == "tools/list")
        },
        handshake_versions=tuple(recorded["handshake_versions"]),
        envelope_versions=tuple(recorded["envelope_versions"]),
    )


def _add_tool(groups: list[JsonObject], tools: dict[str, JsonObject]) -> None:
    """Append to each list of tools one more, as its protocol versions have it; in place."""
    for group in groups:
        result = cast("dict[str, list[JsonObject]]", group["result"])
        result["tools"].append(tools[cast("list[str]", group["versions"])[0]])


def _by_version(groups: list[JsonObject]) -> dict[str, JsonObject]:
    return {
        version: cast("JsonObject", group["result"])
        for group in groups
        for version in cast("list[str]", group["versions"])
    }


class Handshake:
    """Follows which era and version a connection is in, and answers what it safely can.

    The first request decides the era for the life of the process, as in the SDK.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._era: Era | None = None
        self._version: str | None = None

    def answer(self, message: Message) -> JsonObject | None:
        """Return the result for a request, or None where it is the SDK's to answer.

        Call for every request, in order.
        """
        enveloped = VERSION_KEY in _meta(message.params)
        if self._era is None:
            self._era = "envelope" if enveloped and message.method != "initialize" else "handshake"
        if self._era == "envelope":
            return self._answer_enveloped(message)
        if message.method == "initialize":
            return self._initialize(message.params)
        if enveloped or not _plain_meta(message.params):
            return None
        return self._answer_handshake(message)

    def _initialize(self, params: JsonObject) -> JsonObject | None:
        requested = params.get("protocolVersion")
        plain = (
            isinstance(requested, str)
            and plain_capabilities(params.get("capabilities"))
            and plain_implementation(params.get("clientInfo"))
            and _plain_meta(params)
        )
        if not plain or self._version is not None:
            return None
        known = self._snapshot.handshake_versions
        self._version = cast("str", requested) if requested in known else known[-1]
        return {**self._snapshot.initialize, "protocolVersion": self._version}

    def _answer_handshake(self, message: Message) -> JsonObject | None:
        if message.method == "ping":
            return {}
        return None if self._version is None else self._listed(message, self._version)

    def _listed(self, message: Message, version: str) -> JsonObject | None:
        results = self._snapshot.lists.get(message.method or "")
        return results[version] if results is not None and _first_page(message.params) else None

    def _answer_enveloped(self, message: Message) -> JsonObject | None:
        meta = _meta(message.params)
        version = meta.get(VERSION_KEY)
        plain = (
            version in self._snapshot.envelope_versions
            and plain_capabilities(meta.get(CAPABILITIES_KEY))
            and (CLIENT_KEY not in meta or plain_implementation(meta[CLIENT_KEY]))
            and _plain_meta(message.params)
        )
        if not plain:
            return None
        if message.method == "server/discover":
            return self._snapshot.discover
        return self._listed(message, cast("str", version))


def _meta(params: JsonObject) -> JsonObject:
    return as_object(params.get("_meta")) or {}


def _plain_meta(params: JsonObject) -> bool:
    """Whether ``_meta`` is absent, or an object whose progress token is well formed."""
    if "_meta" not in params:
        return True
    meta = as_object(params["_meta"])
    return meta is not None and (
        "progressToken" not in meta or as_request_id(meta["progressToken"]) is not None
    )


def _first_page(params: JsonObject) -> bool:
    return params.keys() <= {"_meta"}


def plain_capabilities(value: object) -> bool:
    """Whether every known client capability is an object of objects (or of flags, for roots)."""
    capabilities = as_object(value)
    if capabilities is None:
        return False
    return all(_plain_capability(name, capabilities[name]) for name in _CAPABILITIES if name in capabilities)


def _plain_capability(name: str, value: object) -> bool:
    members = as_object(value)
    if members is None:
        return False
    wanted = bool if name == "roots" else dict
    return all(isinstance(member, wanted) for member in members.values())


def plain_implementation(value: object) -> bool:
    """Whether a client's name card holds a name, a version and otherwise only text and plain icons."""
    card = as_object(value)
    if card is None or not isinstance(card.get("name"), str) or not isinstance(card.get("version"), str):
        return False
    return all(
        _plain_icons(member) if name == "icons" else isinstance(member, str) for name, member in card.items()
    )


def _plain_icons(value: object) -> bool:
    icons = cast("list[object]", value) if isinstance(value, list) else [None]
    return all(_plain_icon(as_object(icon)) for icon in icons)


def _plain_icon(icon: JsonObject | None) -> bool:
    if icon is None or not isinstance(icon.get("src"), str) or "theme" in icon:
        return False
    return all(isinstance(member, str | list) for member in icon.values())
