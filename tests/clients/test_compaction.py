"""Real agent clients through the gate with compaction on: old results become handles that they read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.install import CLIENTS
from tests.clients.agent_rig import Rig, open_rig
from tests.clients.agents import AGENTS
from tests.clients.conftest import Record
from tests.clients.model import Step, Turn
from tests.clients.node import NodeEnvironment, prepare
from tests.serving import node as serving_node

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

ROOM_TOKENS = 6_000
"""What a conversation may grow by; four characters are one token here."""
LINES = "".join(f"{number} {'compiled part of the program ' * 2}ok\n" for number in range(2_000))
READS = [Step(("read_handle",), {"handles": [f"build.log#L{at}-{at + 90}"], "max_tokens": 4_000})
         for at in range(1, 1_000, 100)]  # fmt: skip


@pytest.fixture(scope="module")
def node() -> NodeEnvironment:
    return prepare("agents")


@pytest.fixture(params=["claude-code", "codex", "opencode"])
def rig(request: pytest.FixtureRequest, node: NodeEnvironment, tmp_path: Path) -> Iterator[Rig]:
    with open_rig(AGENTS[request.param], node, tmp_path) as made:
        yield made


def _tokens(turn: Turn) -> int:
    return len(json.dumps(turn.body)) // 4


def _replaced(turn: Turn) -> str:
    """The handle that stands in the place of the first result; one that is none where none does."""
    found = re.search(r"(?:by handle\]\n|^\[)([flt]\d+) ", turn.result(0).text, re.MULTILINE)
    return found[1] if found else "l99"


def _without_lease(rig: Rig) -> None:
    """Have the server answer in full however large the context is, so that there is something to replace."""
    for name in (".claude.json", ".codex/config.toml", ".config/opencode/opencode.json"):
        path = rig.home / name
        if path.exists():
            path.write_text(path.read_text().replace('"serve"', '"serve", "--lease", "off"'))


def test_old_results_become_handles_that_the_clients_tools_read(rig: Rig, record: Record) -> None:
    (rig.project / "build.log").write_text(LINES)
    rig.install("--approve-reads")
    first = rig.converse([])[0]
    lease = _tokens(first) + ROOM_TOKENS
    flags = (
        "--mode", "off", "--compaction", "on", "--context-lease-tokens", str(lease),
        "--workspace", str(rig.project), "--store", str(rig.outside / "store"),
    )  # fmt: skip
    variables = {"MCP_OFFLOAD_STATE": str(rig.outside / "state")}
    with serving_node.gate(rig.home / "gate", rig.model.url, *flags, variables=variables) as gate:
        rig.model.url = gate.url
        rig.agent.settings(rig.home, gate.url)
        rig.install("--approve-reads")
        _without_lease(rig)
        script = [*READS, Step(("read_handle",), lambda turn: {"handles": [f"{_replaced(turn)}#L2-3"]})]
        turns = rig.converse(script)
        told = gate.status()["compaction"]
    last = turns[-1]
    assert told["changed"] > 2 and told["refused"] == 0 and told["retrievals"] == 0
    assert told["largest_prompt_tokens"] <= lease
    assert f"{rig.agent.prefix}read_handle reads " in last.result(0).text
    assert "\n1 compiled part of the program" in last.result(len(READS)).text
    version = rig.node.version(rig.agent.package)
    record(
        CLIENTS[rig.agent.id].name,
        version,
        "kept under a context lease by the gate, old results read back by handle",
    )
