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

from tests.benchmarks.calls import CALLS, compared, new_logs, succeeded
from tests.benchmarks.data import write_log, write_module
from tests.process.stdio.rig import ENDLESS_LEASE, Rig, server_command

pytestmark = pytest.mark.bench

RUNS = 5


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
    # Relative paths are resolved where the server runs, which has to be its root.
    with Rig(server_command(tmp_path, *ENDLESS_LEASE), tmp_path / "work") as rig:
        rig.greet()
        step(rig)
        return time.perf_counter() - began


def test_start(tmp_path: Path) -> None:
    """The greeting costs an interpreter's start; the first call, the SDK's import."""
    (tmp_path / "work").mkdir()
    write_module(tmp_path / "work" / "app.py", 300)
    write_log(tmp_path / "work" / "big.log", 1_000_000)
    interpreter, sdk = _median_of_runs(_interpreter), _median_of_runs(_sdk_import)
    sys.stdout.write("\n")
    greeting = _median_of_runs(lambda: _until(tmp_path, lambda rig: None))
    _show("start to initialize", greeting, interpreter, "interpreter")
    listing = _median_of_runs(lambda: _until(tmp_path, lambda rig: rig.answer(rig.ask("tools/list"))))
    _show("start to tools/list", listing, interpreter, "interpreter")
    for what, tool, arguments in (
        ("start to a stored 1 MB log", "store_artifact", {"source": "big.log"}),
        ("start to a symbol read by path", "read_handle", {"handles": ["app.py#function_150"]}),
    ):
        call = _median_of_runs(lambda: _until(tmp_path, lambda rig: succeeded(rig, tool, arguments)))  # noqa: B023
        _show(what, call, sdk, "import of the SDK")


@pytest.mark.parametrize("cause", [None, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_end(tmp_path: Path, cause: signal.Signals | None) -> None:
    """From the cause to the end of the process, a parsing process at work included."""

    def end() -> float:
        with Rig(server_command(tmp_path, *ENDLESS_LEASE), tmp_path) as rig:
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


@pytest.mark.parametrize(
    ("what", "tool", "calls"),
    [
        ("store a new 1 MB log", "store_artifact", None),
        ("store a known 1 MB log", "store_artifact", {"source": "0.log"}),
        ("read a symbol by name", "read_handle", {"handles": ["app.py#function_150"]}),
        ("outline a module", "outline_handle", {"handle": "app.py"}),
        ("search a module", "search_handles", {"pattern": "function_299", "handles": ["app.py"]}),
    ],
)
def test_calls(tmp_path: Path, what: str, tool: str, calls: dict[str, object] | None) -> None:
    """A call of the real service beside a tool that does nothing but return the same text."""
    logs = new_logs(tmp_path / "work", 1_000_000)
    write_module(tmp_path / "work" / "app.py", 300)
    found = compared(tmp_path, tool, logs if calls is None else [calls] * CALLS)
    sys.stdout.write("\n")
    _show(what, found.seconds, found.floor_seconds, "a no-op tool of the SDK")
    _show(f"{what}: CPU", found.cpu_seconds, found.floor_cpu_seconds, "its CPU")
    sys.stdout.write(f"{what + ': CPU of the parser':<44} {found.parser_cpu_seconds * 1000:9.2f} ms\n")
