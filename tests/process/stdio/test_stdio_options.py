"""The options of serve, through real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interaction.requirements import covers
from tests.process.stdio.rig import Rig, server_command

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

SOURCE = "def first():\n    return 1\n\n\ndef second():\n    return 2\n"


@covers("session")
def test_a_process_for_each_call_goes_on_with_a_named_session(tmp_path: Path) -> None:
    command = server_command(tmp_path, "--session", "nightly")
    source = tmp_path / "work" / "m.py"
    source.write_text(SOURCE)
    with Rig(command, tmp_path / "work") as rig:
        rig.greet()
        assert "return 2" in rig.call("read_handle", handles=["m.py#second"])
        rig.hang_up()
        assert rig.status() == 0
    source.write_text(SOURCE.replace("return 2", "return 3"))
    with Rig(command, tmp_path / "work") as rig:
        rig.greet()
        told = rig.call("read_handle", handles=["f1#second"])
    assert "return 3" in told
    assert "changed" in told


@covers("structured")
def test_structured_tools_are_listed_with_their_schemas(tmp_path: Path) -> None:
    with Rig(server_command(tmp_path, "--structured"), tmp_path / "work") as rig:
        rig.greet()
        tools = rig.answer(rig.ask("tools/list"))["result"]["tools"]
        assert all(tool["outputSchema"]["type"] == "object" for tool in tools)
        arguments = {"content": "a note\n", "name": "note.txt"}
        result = rig.answer(rig.ask("tools/call", {"name": "store_artifact", "arguments": arguments}))[
            "result"
        ]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"]["handle"] == "f1"
