"""Progress, cancellation and the work itself over a real pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.interaction.requirements import covers
from tests.process.stdio.rig import ENVELOPE, Rig, server_command

pytestmark = pytest.mark.process

# The server with one tool made slow: it counts hundredths of a second, and says so when it is stopped.
SLOW = """
import sys, threading
from mcp_offload.service.facade import OffloadService
def read(self, handles, *, max_tokens=None, session=None, monitor):
    pause = threading.Event()
    try:
        for step in range(1, 3000):
            monitor.advance(step, 3000, "step\\x1b[2J\\udcff")
            pause.wait(0.01)
    except BaseException as error:
        print("stopped by", type(error).__name__, file=sys.stderr, flush=True)
        raise
    return []
OffloadService.read = read
from mcp_offload.__main__ import main
sys.exit(main())
"""


@pytest.fixture(params=["handshake", "envelope"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def slow(tmp_path: Path, era: str) -> Iterator[Rig]:
    command = server_command(tmp_path)
    with Rig([command[0], "-c", SLOW, *command[3:]], tmp_path) as rig:
        if era == "handshake":
            rig.greet()
        else:
            rig.answer(rig.ask("server/discover", {"_meta": ENVELOPE}))
        yield rig


def _slow_call(rig: Rig, era: str) -> int:
    meta = {"progressToken": "t", **(ENVELOPE if era == "envelope" else {})}
    return rig.ask("tools/call", {"name": "read_handle", "arguments": {"handles": ["x"]}, "_meta": meta})


@covers("progress", "reply-visible")
def test_a_long_call_reports_rising_progress(slow: Rig, era: str) -> None:
    _slow_call(slow, era)
    seen = [slow.receive() or {} for _ in range(3)]
    assert {one["method"] for one in seen} == {"notifications/progress"}
    params = [one["params"] for one in seen]
    assert {one["progressToken"] for one in params} == {"t"}
    assert {one["total"] for one in params} == {3000}
    assert {one["message"] for one in params} == {"step␛[2J\\xff"}
    steps = [one["progress"] for one in params]
    assert steps == sorted(set(steps))
    assert steps[0] >= 20


@covers("cancel")
def test_a_cancelled_call_stops_and_is_not_answered(slow: Rig, era: str) -> None:
    call = _slow_call(slow, era)
    assert (slow.receive() or {})["method"] == "notifications/progress"
    slow.tell("notifications/cancelled", {"requestId": call, "reason": "enough"})
    meta = {"_meta": ENVELOPE} if era == "envelope" else None
    while "stopped by OperationCancelledError" not in slow.errors():
        assert "tools" in slow.answer(slow.ask("tools/list", meta))["result"]
    slow.hang_up()
    assert [one for one in slow.rest() if one.get("id") == call] == []


@covers("cancel-late")
def test_cancelling_what_has_been_answered_does_nothing(tmp_path: Path) -> None:
    with Rig(server_command(tmp_path), tmp_path) as rig:
        rig.greet()
        early = rig.ask("tools/list")
        rig.answer(early)
        rig.tell("notifications/cancelled", {"requestId": early})
        rig.tell("notifications/cancelled", {"requestId": 1})
        assert "store_artifact" in rig.call("list_artifacts")
        late = rig.ask("tools/list")
        assert "tools" in rig.answer(late)["result"]
        rig.tell("notifications/cancelled", {"requestId": late})
        assert rig.answer(rig.ask("ping"))["result"] == {}


@covers("lifecycle-pending")
def test_a_call_in_flight_at_the_end_of_input_is_answered_and_stopped(slow: Rig, era: str) -> None:
    call = _slow_call(slow, era)
    assert (slow.receive() or {})["method"] == "notifications/progress"
    slow.hang_up()
    answers = [one for one in slow.rest() if "method" not in one]
    assert [(one["id"], one["error"]["code"]) for one in answers] == [(call, -32000)]
    assert slow.status() == 0


@covers("job-store", "job-outline", "job-edit", "job-export", "job-restart")
@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_the_official_client_does_the_job(tmp_path: Path, mode: str) -> None:
    command = server_command(tmp_path)
    work = tmp_path / "work"
    source = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
    (work / "app.py").write_text(source, encoding="utf-8")
    parameters = StdioServerParameters(command=sys.executable, args=command[1:], cwd=str(work))
    async with Client(parameters, mode=mode) as client:
        assert len((await client.list_tools()).tools) == 7
        assert "f1#two f L5-6" in _text(await client.call_tool("outline_handle", {"handle": "app.py"}))
        new = "def two():\n    return 22\n"
        await client.call_tool("edit_handle", {"handle": "f1#two", "text": new})
        await client.call_tool("export_handle", {"handle": "f1@1", "path": "before.py"})
    assert (work / "app.py").read_text(encoding="utf-8") == source.replace("def two():\n    return 2\n", new)
    assert (work / "before.py").read_text(encoding="utf-8") == source
    async with Client(parameters, mode=mode) as client:
        assert "return 2\n" in _text(await client.call_tool("read_handle", {"handles": ["f1@1"]})) + "\n"


def _text(result: CallToolResult) -> str:
    assert not result.is_error, result
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text
