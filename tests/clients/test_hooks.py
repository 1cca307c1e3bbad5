"""Real agent clients run a plain ``pytest``: by hooks their model sees a digest, and can read by handle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_offload.install import CLIENTS
from mcp_offload.install.hooks import HOOKS
from tests.clients.agent_rig import CASES, Rig, open_rig
from tests.clients.agents import AGENTS
from tests.clients.conftest import Record
from tests.clients.node import NodeEnvironment, prepare

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

PASSED = re.compile(r"test_an_order_of_one_item\S* PASSED")


@pytest.fixture(scope="module")
def node() -> NodeEnvironment:
    return prepare("agents")


@pytest.fixture(params=list(HOOKS))
def rig(request: pytest.FixtureRequest, node: NodeEnvironment, tmp_path: Path) -> Iterator[Rig]:
    with open_rig(AGENTS[request.param], node, tmp_path) as made:
        yield made


def _is_as_it_came(text: str) -> bool:
    """Whether it is what the client shows of long output by itself; Copilot shows the first of it."""
    cut = text.startswith("Output too large to read at once") and "test session starts" in text
    return cut or len(PASSED.findall(text)) > 20


def _refuse_make(rig: Rig) -> None:
    """Codex runs everything in its sandbox, but for what rules say; the others allow pytest alone here."""
    if rig.agent.id == "codex":
        rules = rig.home / ".codex" / "rules" / "default.rules"
        rules.parent.mkdir()
        rules.write_text('prefix_rule(pattern=["make"], decision="prompt")\n')


def test_a_plain_pytest_is_offloaded_and_nothing_else_changes(rig: Rig, record: Record) -> None:
    _refuse_make(rig)
    raw = rig.converse([rig.shell("pytest")], careful=True)[-1].result(0).text
    assert _is_as_it_came(raw), raw

    rig.install("--hooks")
    script = [rig.shell("pytest"), rig.shell("pytest -q -k costs_nothing"), rig.shell("make")]
    last = rig.converse(script, careful=True)[-1]
    seen = last.result(0).text
    found = re.search(r"^(?:\S+ )?([lt]\d+) pytest \d+L", seen, re.MULTILINE)
    assert found, seen
    assert "1 failed" in seen
    assert "test_an_order_of_nothing_costs_nothing" in seen
    assert not PASSED.search(seen)
    assert len(seen) < max(2_000, len(raw) / 4)
    if rig.agent.id != "codex":  # what stands for an output there stands for its status, too
        assert re.search(r"(?i)exit(ed)?( with)?( exit)?( code)?:? 1\b", seen), seen

    whole = rig.offload("read", found[1], "--raw")
    assert len(PASSED.findall(whole)) == CASES
    assert "assert 5 == 0" in rig.offload("read", f"{found[1]}#!1")

    short = last.result(1).text
    assert "assert 5 == 0" in short
    assert not re.search(r"[lt]\d+ pytest", short)
    assert not (rig.project / "made").exists(), f"make was not asked about: {last.result(2).text}"

    client = CLIENTS[rig.agent.id]
    version = rig.node.version(rig.agent.package)
    assert HOOKS[rig.agent.id].verified == version
    record(client.name, version, "by hooks: had a plain pytest offloaded, the model naming no tool of ours")


def test_a_store_that_cannot_be_used_leaves_the_output_as_it_was(rig: Rig) -> None:
    rig.install("--hooks")
    (rig.outside / "store").write_text("not a directory")
    seen = rig.converse([rig.shell("pytest")], careful=True)[-1].result(0).text
    assert _is_as_it_came(seen), seen


def test_uninstalling_takes_the_hooks_out(rig: Rig) -> None:
    before = _files(rig)
    rig.install("--hooks")
    assert _files(rig) != before
    rig.offload("uninstall", rig.agent.id)
    assert _files(rig) == before


def _files(rig: Rig) -> dict[str, bytes]:
    return {
        str(path.relative_to(rig.home)): path.read_bytes()
        for path in rig.home.rglob("*")
        if path.is_file() and "/." in str(path)
    }
