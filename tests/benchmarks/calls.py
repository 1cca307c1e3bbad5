"""Calls over stdio against a tool of the SDK's own server that only returns a payload of the same size."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.benchmarks.data import write_log, write_module
from tests.benchmarks.measuring import Row
from tests.benchmarks.operations import plain_pass
from tests.process.stdio.rig import CLIENT, Rig, server_command

CALLS = 100
WARM = 10
FLOOR = Path(__file__).with_name("noop_server.py")
TARGET = 1.5
#: A file's times tell nothing right after a change, so it is hashed again; a finished log is older.
SETTLING_SECONDS = 2.5

Call = dict[str, object]


@dataclass(frozen=True, slots=True)
class Compared:
    """Medians of one call of ours and of the floor; CPU seconds are those of whole server processes.

    ``bare_seconds``: of what the call cannot do without, done without any server; 0 where that is nothing.
    """

    seconds: float
    floor_seconds: float
    bare_seconds: float
    cpu_seconds: float
    floor_cpu_seconds: float
    parser_cpu_seconds: float


def call_store(folder: Path, scale: float) -> Iterator[Row]:
    """Storing logs of 1 MB by path, each a new one, and one that is stored already."""
    logs = new_logs(folder / "work", int(1e6 * scale))
    (folder / "plain").mkdir()

    def bare(arguments: Call) -> None:
        plain_pass(str(folder / "work" / str(arguments["source"])), str(folder / "plain"))

    new = compared(folder, "store_artifact", logs, bare)
    yield _row("store a new 1 MB log by path over stdio", new.seconds, new.floor_seconds, TARGET)
    bare_pass = "read + BLAKE3 + write + rename 1 MB without a server"
    yield _row(bare_pass, new.bare_seconds, new.floor_seconds, None)
    known = compared(folder, "store_artifact", [logs[0]] * CALLS)
    yield _row("store a known 1 MB log by path over stdio", known.seconds, known.floor_seconds, TARGET)


def call_read(folder: Path, scale: float) -> Iterator[Row]:
    """Reading a symbol by its qualified name."""
    (folder / "work").mkdir()
    write_module(folder / "work" / "app.py", int(300 * scale) + 1)
    arguments: list[Call] = [{"handles": ["app.py#function_0"]}] * CALLS
    found = compared(folder, "read_handle", arguments)
    yield _row("read a symbol by name over stdio", found.seconds, found.floor_seconds, TARGET)


def new_logs(work: Path, size_bytes: int) -> list[Call]:
    """Calls that store a log each, none like another."""
    work.mkdir()
    sizes = (size_bytes + number * 50 for number in range(CALLS // 2))
    return [{"source": write_log(work / f"{number}.log", size).name} for number, size in enumerate(sizes)]


def _row(what: str, seconds: float, floor_seconds: float, target: float | None) -> Row:
    return Row(
        what=what,
        floor="a no-op tool of the SDK's server",
        kind="time",
        ours=seconds,
        floors=floor_seconds,
        target=target,
    )


def compared(
    folder: Path, tool: str, calls: list[Call], bare: Callable[[Call], None] | None = None
) -> Compared:
    """Call both servers in turn, so that both see the same machine; ``bare`` is timed beside them."""
    # Relative paths are resolved where the server runs, which has to be its root.
    with Rig(server_command(folder), folder / "work") as rig:
        rig.greet()
        payload = folder / "payload"
        payload.write_text(succeeded(rig, tool, calls[0]), encoding="utf-8")
        time.sleep(SETTLING_SECONDS)
        with Rig([sys.executable, str(FLOOR), str(payload)], folder) as floor:
            params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
            floor.answer(floor.ask("initialize", params))
            floor.tell("notifications/initialized")
            ours, floors, bares = list[float](), list[float](), list[float]()
            before = [0.0, 0.0, 0.0]
            for number, arguments in enumerate(calls[1:]):
                if number == WARM:
                    before = _cpu(rig, floor)
                if bare is not None:
                    began = time.perf_counter()
                    bare(arguments)
                    bares.append(time.perf_counter() - began)
                floors.append(_seconds(floor, "noop", {}))
                ours.append(_seconds(rig, tool, arguments))
            spent = [after - earlier for after, earlier in zip(_cpu(rig, floor), before, strict=True)]
    counted = len(ours) - WARM
    return Compared(
        statistics.median(ours[WARM:]),
        statistics.median(floors[WARM:]),
        statistics.median(bares[WARM:]) if bares else 0.0,
        *(seconds / counted for seconds in spent),
    )


def _cpu(rig: Rig, floor: Rig) -> list[float]:
    """CPU seconds so far of our server, of the floor and of our parser process."""
    server = psutil.Process(rig.process.pid)
    processes = ([server], [psutil.Process(floor.process.pid)], server.children())
    return [sum(sum(one.cpu_times()[:2]) for one in group) for group in processes]


def succeeded(rig: Rig, tool: str, arguments: Call) -> str:
    """The text of a call that did its work. A refusal is quick and measures nothing."""
    result = rig.answer(rig.ask("tools/call", {"name": tool, "arguments": arguments}))["result"]
    text: str = result["content"][0]["text"]
    if result.get("isError"):
        raise RuntimeError(f"{tool} {arguments} failed: {text}")
    return text


def _seconds(rig: Rig, tool: str, arguments: Call) -> float:
    began = time.perf_counter()
    succeeded(rig, tool, arguments)
    return time.perf_counter() - began
