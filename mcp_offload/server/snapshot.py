"""Records what the real server answers to a client's first requests, for the front to answer from.

Run ``python -m mcp_offload.server.snapshot`` after any change to the tools, the instructions, the
version or the SDK; a test compares the recorded file with the server.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NoReturn

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from mcp_offload.server.build import assemble
from mcp_offload.settings import Settings, ToolProfile
from mcp_offload.wire.canned import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY

SNAPSHOT_PATH: Final = Path(__file__).with_name("snapshot.json")
PROFILES: Final[tuple[ToolProfile, ...]] = ("default", "all")
LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_CLIENT: Final = {"name": "snapshot", "version": "0"}

Json = dict[str, Any]


def initialize_params(version: str) -> Json:
    """Parameters of an ``initialize`` request."""
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}


def envelope_params(version: str) -> Json:
    """Parameters of a request in the envelope era."""
    return {"_meta": {VERSION_KEY: version, CAPABILITIES_KEY: {}, CLIENT_KEY: _CLIENT}}


def snapshot_server(profile: ToolProfile, *, run: bool = False) -> Server[Any]:
    """The real server with a service that cannot be used: lists and greetings never need one."""
    settings = Settings(
        store_dir="/",
        state_dir="/",
        roots=(),
        base_dir="/",
        workspace="",
        tools=profile,
        run_allow=("*",) if run else (),
    )
    return assemble(_no_service, settings).server


def _no_service() -> NoReturn:
    raise RuntimeError("no service is needed to record a snapshot")


async def ask(server: Server[Any], requests: list[tuple[str, Json]]) -> list[Json]:
    """Send requests over one fresh connection and return their results, in order.

    Raises:
        TypeError: one was answered by an error.
    """
    results: list[Json] = []
    async with (
        create_client_server_memory_streams() as ((reads, writes), (server_reads, server_writes)),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(server.run, server_reads, server_writes, server.create_initialization_options())
        for number, (method, params) in enumerate(requests, 1):
            request = JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
            await writes.send(SessionMessage(request))
            received = await reads.receive()
            if isinstance(received, Exception) or not isinstance(received.message, JSONRPCResponse):
                raise TypeError(f"{method} was not answered: {received!r}")
            results.append(received.message.result)
        tasks.cancel_scope.cancel()
    return results


async def record_profile(profile: ToolProfile) -> Json:
    """The recorded answers of one tool profile."""
    lists: dict[str, dict[str, Json]] = {method: {} for method in LISTS}
    initialize: Json = {}
    discover: Json = {}
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        requests: list[tuple[str, Json]] = [(method, {}) for method in LISTS]
        requests.insert(0, ("initialize", initialize_params(version)))
        initialize, *results = await ask(snapshot_server(profile), requests)
        for method, result in zip(LISTS, results, strict=True):
            lists[method][version] = result
    for version in MODERN_PROTOCOL_VERSIONS:
        params = envelope_params(version)
        methods = ("server/discover", *LISTS)
        discover, *results = await ask(snapshot_server(profile), [(method, params) for method in methods])
        for method, result in zip(LISTS, results, strict=True):
            lists[method][version] = result
    grouped = {method: _grouped(results) for method, results in lists.items()}
    return {"initialize": initialize, "discover": discover, "lists": grouped}


async def record_run_tool() -> list[Json]:
    """The tool that is listed last where commands may be run."""
    tools: dict[str, Json] = {}
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        requests: list[tuple[str, Json]] = [("initialize", initialize_params(version)), ("tools/list", {})]
        tools[version] = (await ask(snapshot_server("default", run=True), requests))[1]["tools"][-1]
    for version in MODERN_PROTOCOL_VERSIONS:
        requests = [("tools/list", envelope_params(version))]
        tools[version] = (await ask(snapshot_server("default", run=True), requests))[0]["tools"][-1]
    return _grouped(tools)


def _grouped(results: dict[str, Json]) -> list[Json]:
    """Versions with the same answer share it."""
    groups: list[Json] = []
    for version, result in results.items():
        for group in groups:
            if group["result"] == result:
                group["versions"].append(version)
                break
        else:
            groups.append({"versions": [version], "result": result})
    return groups


async def record() -> Json:
    """Everything the front answers from."""
    return {
        "handshake_versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "envelope_versions": list(MODERN_PROTOCOL_VERSIONS),
        "profiles": {profile: await record_profile(profile) for profile in PROFILES},
        "run_tool": await record_run_tool(),
    }


def main() -> None:
    """Write the snapshot beside this module."""
    recorded = anyio.run(record)
    SNAPSHOT_PATH.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
