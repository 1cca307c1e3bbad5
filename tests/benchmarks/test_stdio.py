"""Start, calls and end of a server process, each beside a floor measured in the same run."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.stdio.rig import CLIENT, Rig, server_command

pytestmark = pytest.mark.bench

RUNS = 5
CALLS = 200
FLOOR = Path(__file__).with_name("stdio_floor.py")
MOST_OVER_A_NO_OP_TOOL = 1.5


def _median_of_runs(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(RUNS))


def _show(what: str, seconds: float, floor_seconds: float, floor: str) -> None:
    ratio = seconds / floor_seconds
    sys.stdout.write(
        f"{what:<44} {seconds * 1000:9.2f} ms {ratio:7.2f} x {floor} ({floor_seconds * 1000:.2f} ms)\n"
    )


def _interpreter() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import json, logging, signal, threading"], check=True)
    return time.perf_counter() - began


def _sdk_import() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp.server.lowlevel.server"], check=True)
    return time.perf_counter() - began


def _until(tmp_path: Path, step: Callable[[Rig], object]) -> float:
    began = time.perf_counter()
    with Rig(server_command(tmp_path), tmp_path) as rig:
        step(rig)
        return time.perf_counter() - began


def test_start(tmp_path: Path) -> None:
    """The greeting costs an interpreter's start; the first call, the SDK's import."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("def f():\n    pass\n", encoding="utf-8")
    interpreter, sdk = _median_of_runs(_interpreter), _median_of_runs(_sdk_import)
    greeting = _median_of_runs(lambda: _until(tmp_path, lambda rig: rig.greet()))

    def first_list(rig: Rig) -> None:
        rig.greet()
        rig.answer(rig.ask("tools/list"))

    def first_call(rig: Rig) -> None:
        rig.greet()
        rig.call("store_artifact", source="a.py")

    sys.stdout.write("\n")
    _show("start to initialize", greeting, interpreter, "interpreter")
    listing = _median_of_runs(lambda: _until(tmp_path, first_list))
    _show("start to tools/list", listing, interpreter, "interpreter")
    call = _median_of_runs(lambda: _until(tmp_path, first_call))
    _show("start to the first stored file", call, sdk, "import of the SDK")


@pytest.mark.parametrize("cause", [None, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_end(tmp_path: Path, cause: signal.Signals | None) -> None:
    """From the cause to the end of the process, a parsing process at work included."""

    def end() -> float:
        with Rig(server_command(tmp_path), tmp_path) as rig:
            rig.greet()
            rig.call("store_artifact", content="def f():\n    pass\n", name="a.py", kind="file")
            rig.call("outline_handle", handle="f1")
            began = time.perf_counter()
            if cause is None:
                rig.hang_up()
            else:
                rig.process.send_signal(cause)
            rig.status()
            return time.perf_counter() - began

    worst = max(end() for _ in range(RUNS))
    what = f"end by {cause.name if cause else 'end of input'}"
    sys.stdout.write(f"\n{what:<44} {worst * 1000:9.2f} ms at worst\n")


def _call_seconds(rig: Rig, tool: str, **arguments: object) -> float:
    """Median of many calls after a few to warm up."""
    times: list[float] = []
    for _ in range(CALLS):
        began = time.perf_counter()
        rig.call(tool, **arguments)
        times.append(time.perf_counter() - began)
    return statistics.median(times[CALLS // 10 :])


def _floor_seconds(tmp_path: Path, payload_bytes: int) -> float:
    with Rig([sys.executable, str(FLOOR), str(payload_bytes)], tmp_path) as rig:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
        rig.answer(rig.ask("initialize", params))
        rig.tell("notifications/initialized")
        return _call_seconds(rig, "floor")


def test_calls(tmp_path: Path) -> None:
    """Storing a log by path and reading a symbol cost little more than a tool that does nothing."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "big.log").write_bytes(b"a line of the log\n" * 58_000)
    body = "".join(f"    total += {n}\n" for n in range(20))
    functions = "".join(f"def function_{n}(total):\n{body}    return total\n\n\n" for n in range(300))
    (work / "app.py").write_text(functions, encoding="utf-8")
    sys.stdout.write("\n")
    for tool, arguments, ratio_holds in (
        ("store_artifact", {"source": "big.log"}, True),
        ("read_handle", {"handles": ["app.py#function_150"]}, True),
        ("outline_handle", {"handle": "app.py"}, False),
        ("search_handles", {"pattern": "function_299", "handles": ["app.py"]}, False),
    ):
        with Rig(server_command(tmp_path), tmp_path) as rig:
            rig.greet()
            payload_bytes = len(rig.call(tool, **arguments).encode())
            seconds = _call_seconds(rig, tool, **arguments)
        floor = _floor_seconds(tmp_path, payload_bytes)
        _show(
            f"{tool} {' '.join(map(str, arguments.values()))}"[:44], seconds, floor, "a no-op tool of the SDK"
        )
        if ratio_holds:
            assert seconds / floor <= MOST_OVER_A_NO_OP_TOOL
