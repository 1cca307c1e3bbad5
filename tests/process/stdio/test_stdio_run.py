"""Commands run by a real server for its client, and what becomes of them when either goes away."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.process.capture.rig import gone, until
from tests.process.stdio.rig import Rig, server_command

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes below the server"),
]

ENDLESS = ["sh", "-c", "echo ready; sleep 1000 & setsid sleep 1000 & wait"]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    allowed = [part for name in ("sh", "seq", "cat") for part in ("--allow-run", name)]
    with Rig(server_command(tmp_path, *allowed), tmp_path) as rig:
        rig.greet()
        yield rig


def _sleepers(rig: Rig) -> list[int]:
    """The keeper and the command's processes, once they all run; the parser is not among them."""

    def found() -> list[psutil.Process]:
        below = psutil.Process(rig.process.pid).children(recursive=True)
        return [process for process in below if "mcp_offload.parsing" not in " ".join(process.cmdline())]

    until(lambda: sum(process.name() == "sleep" for process in found()) == 2)
    return [process.pid for process in found()]


def _names(rig: Rig) -> list[str]:
    return [tool["name"] for tool in rig.answer(rig.ask("tools/list"))["result"]["tools"]]


def test_the_tool_is_there_only_where_it_is_allowed(rig: Rig, tmp_path: Path) -> None:
    assert _names(rig)[-1] == "run_command"
    with Rig(server_command(tmp_path), tmp_path) as other:
        other.greet()
        assert "run_command" not in _names(other)
        assert other.call("run_command", command=["sh"]).startswith("Unknown tool")


def test_a_command_is_answered_by_its_digest_and_its_handle(rig: Rig) -> None:
    assert rig.call("run_command", command=["seq", "9999"]).startswith("l1 seq 9999 | exit 0 | ")
    assert rig.call("read_handle", handles=["l1#L42"]).endswith("\n42")
    assert rig.call("run_command", command="seq 1 2").endswith("\n1\n2")
    assert rig.call("run_command", command="echo $((6 * 7)); exit 3", shell=True).endswith("\n42")


def test_what_is_not_allowed_is_not_run(rig: Rig) -> None:
    assert "may not be run here" in rig.call("run_command", command=["touch", "made"])
    assert "may not be run here" in rig.call("run_command", command=["./sh"])
    assert "outside the allowed roots" in rig.call("run_command", command=["sh"], cwd="/")


def test_a_run_goes_on_after_the_wait_and_is_ended_by_its_handle(rig: Rig) -> None:
    assert "still running" in rig.call("run_command", command=ENDLESS, wait_seconds=0.5)
    pids = _sleepers(rig)
    assert "ready" in rig.call("read_handle", handles=["l1#L-20"])
    assert "still running" in rig.call("run_command", job="l1", wait_seconds=0)
    assert "cancelled" in rig.call("run_command", job="l1", cancel=True)
    assert gone(pids)
    assert "ready" in rig.call("read_handle", handles=["l1"])


def test_a_cancelled_call_ends_what_it_started(rig: Rig) -> None:
    meta = {"progressToken": "t"}
    arguments = {"command": ENDLESS, "wait_seconds": 1000}
    call = rig.ask("tools/call", {"name": "run_command", "arguments": arguments, "_meta": meta})
    pids = _sleepers(rig)
    while (message := rig.receive()) and message.get("method") != "notifications/progress":
        pass
    assert message is not None
    assert "1 lines" in message["params"]["message"]
    rig.tell("notifications/cancelled", {"requestId": call})
    assert gone(pids)
    assert "ready" in rig.call("read_handle", handles=["l1"])


@pytest.mark.parametrize("end", ["hang up", "kill"])
def test_nothing_outlives_the_server(rig: Rig, tmp_path: Path, end: str) -> None:
    assert "still running" in rig.call("run_command", command=ENDLESS, wait_seconds=0.5)
    pids = _sleepers(rig)
    if end == "kill":
        rig.process.send_signal(signal.SIGKILL)
    else:
        rig.hang_up()
    assert gone(pids)
    rig.process.wait(30)
    with Rig(server_command(tmp_path), tmp_path) as later:
        later.greet()
        assert "ready" in later.call("read_handle", handles=["l1"])
