"""Calls over stdio against a tool of the SDK's own server that only returns a payload of the same size."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.data import write_log, write_module
from tests.benchmarks.measuring import Row
from tests.process.stdio.rig import CLIENT, Rig, server_command

CALLS = 100
WARM = 10
FLOOR = Path(__file__).with_name("noop_server.py")
TARGET = 1.5


def call_store(folder: Path, scale: float) -> Iterator[Row]:
    """Storing logs of 1 MB by path, each a new one."""
    work = folder / "work"
    work.mkdir()
    logs = [write_log(work / f"{number}.log", int(1e6 * scale) + number * 50) for number in range(CALLS // 2)]
    arguments = [{"source": log.name} for log in logs]
    yield _row("store a 1 MB log by path over stdio", folder, "store_artifact", arguments)


def call_read(folder: Path, scale: float) -> Iterator[Row]:
    """Reading a symbol by its qualified name."""
    work = folder / "work"
    work.mkdir()
    write_module(work / "app.py", int(300 * scale) + 1)
    arguments = [{"handles": ["app.py#function_0"]}] * CALLS
    yield _row("read a symbol by name over stdio", folder, "read_handle", arguments)


def _row(what: str, folder: Path, tool: str, calls: list[dict[str, object]]) -> Row:
    """Call both servers in turn, so that both see the same machine."""
    # Relative paths are resolved where the server runs, which has to be its root.
    with Rig(server_command(folder), folder / "work") as rig:
        rig.greet()
        payload = folder / "payload"
        payload.write_text(succeeded(rig, tool, calls[0]), encoding="utf-8")
        with Rig([sys.executable, str(FLOOR), str(payload)], folder) as floor:
            params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
            floor.answer(floor.ask("initialize", params))
            floor.tell("notifications/initialized")
            ours, floors = list[float](), list[float]()
            for arguments in calls[1:]:
                floors.append(_seconds(floor, "noop", {}))
                ours.append(_seconds(rig, tool, arguments))
    return Row(
        what=what,
        floor="a no-op tool of the SDK's server",
        kind="time",
        ours=statistics.median(ours[WARM:]),
        floors=statistics.median(floors[WARM:]),
        target=TARGET,
    )


def succeeded(rig: Rig, tool: str, arguments: dict[str, object]) -> str:
    """The text of a call that did its work. A refusal is quick and measures nothing."""
    result = rig.answer(rig.ask("tools/call", {"name": tool, "arguments": arguments}))["result"]
    text: str = result["content"][0]["text"]
    if result.get("isError"):
        raise RuntimeError(f"{tool} {arguments} failed: {text}")
    return text


def _seconds(rig: Rig, tool: str, arguments: dict[str, object]) -> float:
    began = time.perf_counter()
    succeeded(rig, tool, arguments)
    return time.perf_counter() - began
