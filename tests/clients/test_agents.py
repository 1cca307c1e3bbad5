"""Real agent clients against a model on loopback: registered by us, what their model sees is asserted."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.install import CLIENTS
from mcp_offload.tools.catalog import INSTRUCTIONS, listed_tools
from tests.clients.agent_rig import BIN, SECONDS, Rig, open_rig
from tests.clients.agents import AGENTS
from tests.clients.conftest import Record
from tests.clients.model import Step, Turn
from tests.clients.node import NodeEnvironment, prepare

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

LONG = "#L1-100"
"""With the names of these tests close to the most bytes that a reply has, and no client may cut it."""

TAKES_INSTRUCTIONS = {"claude-code", "codex", "opencode"}


@pytest.fixture(scope="module")
def node() -> NodeEnvironment:
    return prepare("agents")


@pytest.fixture(params=list(AGENTS))
def rig(request: pytest.FixtureRequest, node: NodeEnvironment, tmp_path: Path) -> Iterator[Rig]:
    with open_rig(AGENTS[request.param], node, tmp_path) as made:
        yield made


def _failing_log(project: Path) -> str:
    done = subprocess.run(
        [str(BIN / "pytest")], cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 1
    (project / "test.log").write_text(done.stdout)
    return done.stdout


def _handle(turn: Turn) -> str:
    found = re.search(r"\b([lt]\d+) test\.log", turn.result(0).text)
    assert found, turn.result(0)
    return found[1]


SCRIPT = [
    Step(("store_artifact",), {"source": "test.log"}),
    Step(("read_handle",), lambda turn: {"handles": [f"{_handle(turn)}#!1"]}),
    Step(("read_handle",), lambda turn: {"handles": [_handle(turn) + LONG], "max_tokens": 3_000}),
    Step(("read_handle",), {"handles": ["l99"]}),
]


def test_a_client_stores_a_log_and_reads_a_failure_by_handle(rig: Rig, record: Record) -> None:
    log = _failing_log(rig.project)
    rig.install("--approve-reads")
    turns = rig.converse(SCRIPT)
    first, last = turns[0], turns[-1]

    if rig.agent.id != "qwen":  # it lists no tools of servers before the model has searched for them
        for ours in listed_tools("default"):
            theirs = first.tool(ours.name)
            assert theirs, f"{ours.name} is not among {[tool.name for tool in first.tools]}"
            assert theirs.name == rig.agent.prefix + ours.name
            assert ours.description and ours.description in theirs.description
            assert set(theirs.schema["properties"]) >= set(ours.input_schema["properties"])
    if rig.agent.id in TAKES_INSTRUCTIONS:
        assert first.holds(INSTRUCTIONS.split("\n")[1])

    handle = _handle(last)
    stored = last.result(0)
    assert f"{log.count(chr(10))}L" in stored.text
    assert "1 failed" in stored.text
    assert not stored.is_error

    failure = rig.offload("read", f"{handle}#!1").rstrip("\n")
    assert "assert 5 == 0" in failure
    assert failure in last.result(1).text

    long = rig.offload("read", handle + LONG).rstrip("\n")
    assert 8_000 < len(long.encode()) < 10_000
    assert long in last.result(2).text, "it was cut on its way to the model"

    assert "No l99 in this workspace." in last.result(3).text
    if last.dialect in {"messages", "gemini"}:
        assert last.result(3).is_error
    assert not [turn for turn in turns for result in turn.results if "structuredContent" in result.text]

    client = CLIENTS[rig.agent.id]
    version = rig.node.version(rig.agent.package)
    assert client.verified == version
    record(client.name, version, "stored a log by path and read its failure by handle, uncut")
