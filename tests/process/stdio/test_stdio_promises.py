"""What clients rely on across processes: handles outlive and are shared by servers, replies stay small."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.interaction.requirements import covers
from tests.process.stdio.rig import Rig, server_command

pytestmark = pytest.mark.process


@covers("job-restart")
def test_handles_survive_a_server_that_is_killed(tmp_path: Path) -> None:
    with Rig(server_command(tmp_path), tmp_path) as rig:
        rig.greet()
        assert rig.call("store_artifact", content="keep me\n", name="note.txt").startswith("f1 ")
        rig.process.send_signal(signal.SIGKILL)
        assert rig.status() == -signal.SIGKILL
    with Rig(server_command(tmp_path), tmp_path) as again:
        again.greet()
        assert again.call("read_handle", handles=["f1"]).endswith("\nkeep me")


def test_servers_of_one_workspace_share_handles_and_others_get_one_final_answer(tmp_path: Path) -> None:
    stranger = server_command(tmp_path)
    stranger[stranger.index("--workspace") + 1] = "another"
    with (
        Rig(server_command(tmp_path), tmp_path) as parent,
        Rig(server_command(tmp_path), tmp_path) as helper,
        Rig(stranger, tmp_path) as other,
    ):
        for rig in (parent, helper, other):
            rig.greet()
        parent.call("store_artifact", content="for my helper\n", name="note.txt")
        assert helper.call("read_handle", handles=["f1"]).endswith("\nfor my helper")
        helper.call("store_artifact", content="for my parent\n", name="answer.txt")
        assert parent.call("read_handle", handles=["f2"]).endswith("\nfor my parent")
        told = other.call("read_handle", handles=["f1"])
        assert "for my helper" not in told
        assert told.startswith("No f1 in this workspace")


@pytest.mark.parametrize("how", ["path", "content"])
def test_the_reply_to_five_megabytes_is_small(tmp_path: Path, how: str) -> None:
    command = server_command(tmp_path)
    text = "".join(
        f"request {number} took {number % 977} ms and went to shard {number % 61}\n"
        for number in range(110_000)
    )
    assert len(text) > 5_000_000
    (tmp_path / "work" / "big.log").write_text(text)
    arguments = (
        {"source": "big.log"} if how == "path" else {"content": text, "name": "big.log", "kind": "log"}
    )
    with Rig(command, tmp_path) as rig:
        rig.greet()
        answer = rig.answer(rig.ask("tools/call", {"name": "store_artifact", "arguments": arguments}))
        # The whole message: text, structured content and whatever else a client might show.
        assert len(json.dumps(answer)) < 4_000
        assert answer["result"]["content"][0]["text"].startswith("l1 big.log 110000L 5.")
        assert "request 109999 took" in rig.call("read_handle", handles=["l1#L-1"])


def test_text_that_looks_like_a_handle_changes_nothing(tmp_path: Path) -> None:
    lookalikes = f"sha256:{'ab' * 32} deadbeef {'0f' * 12} <<offloaded 12 rows>> f1#L1-2 l99 [artifact://7]\n"
    with Rig(server_command(tmp_path), tmp_path) as rig:
        rig.greet()
        before = rig.answer(rig.ask("tools/list"))["result"]
        rig.call("store_artifact", content=lookalikes, name="notes.txt")
        assert rig.answer(rig.ask("tools/list"))["result"] == before
        assert rig.call("read_handle", handles=["f1"]).split("\n")[1:] == [lookalikes.rstrip("\n")]
        assert "l99" in rig.call("read_handle", handles=["l99"])


# The server with clocks that jump two hours ahead on a signal: as if it had been idle for so long.
IDLE = """
import signal, sys, time
ahead = 0
def later(*_):
    global ahead
    ahead += 2 * 3600
signal.signal(signal.SIGUSR1, later)
def shifted(clock, unit):
    return lambda: clock() + ahead * unit
time.time, time.monotonic = shifted(time.time, 1), shifted(time.monotonic, 1)
time.time_ns, time.monotonic_ns = shifted(time.time_ns, 10**9), shifted(time.monotonic_ns, 10**9)
from mcp_offload.__main__ import main
sys.exit(main())
"""


def test_a_server_that_was_idle_for_hours_still_answers(tmp_path: Path) -> None:
    command = server_command(tmp_path)
    with Rig([command[0], "-c", IDLE, *command[3:]], tmp_path) as rig:
        rig.greet()
        rig.call("store_artifact", content="def f():\n    pass\n", name="a.py")
        assert "f1#f" in rig.call("outline_handle", handle="f1")
        for _ in range(3):
            rig.process.send_signal(signal.SIGUSR1)
            assert "tools" in rig.answer(rig.ask("tools/list"))["result"]
            assert "def f" in rig.call("read_handle", handles=["f1#f"])
        rig.call("store_artifact", content="def g():\n    pass\n", name="b.py")
        assert "f2#g" in rig.call("outline_handle", handle="f2")


@covers("tools-named-exist")
@pytest.mark.parametrize("profile", ["default", "all"])
def test_every_tool_that_a_reply_names_is_listed(tmp_path: Path, profile: str) -> None:
    with Rig(
        server_command(tmp_path, "--tools", profile), tmp_path, env={"MCP_OFFLOAD_QUOTA_BYTES": "900000"}
    ) as rig:
        rig.greet()
        listed = {tool["name"] for tool in rig.answer(rig.ask("tools/list"))["result"]["tools"]}
        cells = "".join(f"cell {number};\n" for number in range(9_000))
        asked = [
            ("store_artifact", {"content": cells, "name": "cells.txt"}),
            ("read_handle", {"handles": ["f1"]}),
            ("read_handle", {"handles": ["f1"], "max_tokens": 50}),
            ("outline_handle", {"handle": "f1", "max_tokens": 60}),
            ("search_handles", {"pattern": "cell"}),
            ("search_handles", {"pattern": "x", "handles": ["f7"]}),
            ("search_handles", {"pattern": "nothing_of_it", "symbols": True}),
            ("edit_handle", {"handle": "f1#nope", "text": ""}),
            ("diff_handles", {"before": "f1@4"}),
            ("export_handle", {"handle": "f1", "path": "../out"}),
            ("store_artifact", {"content": cells * 10, "name": "large.txt"}),
            ("store_artifact", {"content": "fill\n" * 170_000, "name": "fill.txt"}),
            ("read_handle", {"handles": ["f1"]}),
            ("store_artifact", {}),
            ("no_such_tool", {}),
        ]
        texts = [rig.call(tool, **arguments) for tool, arguments in asked]
    words = {word.strip(".,;:()'\"") for text in texts for word in text.split()}
    suffixes = ("_handle", "_handles", "_artifact", "_artifacts")
    named = {word for word in words if word.endswith(suffixes)}
    assert named and named <= listed
