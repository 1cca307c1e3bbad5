"""The rules that a scripted agent is held to, each broken once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_offload.tokens import TokenCounter
from tests.benchmarks.replay.agent import (
    Agent,
    NotFound,
    Script,
    Task,
    Undelivered,
    dispensable,
    outcome,
    work,
)
from tests.benchmarks.replay.scripts import context_mode, ctxtual, ours, raw
from tests.benchmarks.replay.tasks import DATA, own_tasks

TASK = Task("door", "What is the code of the door? See plan.txt.", ("4711",))
FILES = {"plan.txt": "the door is described in doors/left.txt", "doors/left.txt": "code: 4711 at line 120"}


async def read(_tool: str, arguments: dict[str, Any]) -> str:
    return FILES[arguments["path"]]


def agent_of(task: Task = TASK) -> Agent:
    return Agent(task, read, '{"name":"read_file"}')


async def right(agent: Agent) -> None:
    plan = await agent.call("read_file", path="plan.txt")
    door = await agent.call("read_file", path=agent.find(r"described in (\S+)", plan))
    agent.answer(agent.find(r"code: (\d+)", door))


def test_a_script_that_uses_what_it_was_told() -> None:
    agent = agent_of()
    assert anyio.run(work, agent, right) == ""
    done = outcome(agent, "", TokenCounter())
    assert (done.found, len(done.calls)) == (1, 2)
    assert 0 < done.delivered_tokens < done.tokens


def test_an_argument_that_nobody_told() -> None:
    async def script(agent: Agent) -> None:
        await agent.call("read_file", path="doors/left.txt")

    assert "nobody told the word 'doors'" in anyio.run(work, agent_of(), script)


@pytest.mark.parametrize(
    "arguments", [{"page": 57}, {"steps": [{"filter": {"hidden": 1}}]}, {"handles": ["l9#L4711"]}]
)
def test_an_argument_within_an_argument(arguments: dict[str, Any]) -> None:
    with pytest.raises(Undelivered):
        anyio.run(lambda: agent_of().call("read_file", **arguments))


def test_an_answer_that_was_not_delivered() -> None:
    async def script(agent: Agent) -> None:
        await agent.call("read_file", path="plan.txt")
        agent.answer("4711")

    assert "no result holds the answer '4711'" in anyio.run(work, agent_of(), script)


def test_the_question_is_no_result() -> None:
    task = Task("door", "Is it 4711? See plan.txt.", ("4711",))

    async def script(agent: Agent) -> None:
        await agent.call("read_file", path="plan.txt")
        agent.answer("4711")

    assert anyio.run(work, agent_of(task), script).startswith("Undelivered")


def test_a_pattern_that_knows_the_answer() -> None:
    async def script(agent: Agent) -> None:
        plan = await agent.call("read_file", path="plan.txt")
        agent.answer(agent.find(r"(4711)", plan))

    assert "nobody told the word '4711' in a pattern" in anyio.run(work, agent_of(), script)


def test_a_text_that_is_no_result() -> None:
    with pytest.raises(Undelivered, match="no result"):
        agent_of().find(r"(\d+)", "code: 4711")


def test_results_of_another_task_do_not_count() -> None:
    first, second = agent_of(), agent_of()
    assert anyio.run(work, first, right) == ""
    with pytest.raises(Undelivered):
        second.answer("4711")


def test_lines_near_one_that_was_delivered() -> None:
    async def script(agent: Agent) -> None:
        await agent.call("read_file", path="plan.txt")
        await agent.call("read_file", path="doors/left.txt")
        assert agent.near("120", -3) == "117"
        with pytest.raises(Undelivered, match="too far"):
            agent.near("120", 500)
        with pytest.raises(Undelivered, match="'300'"):
            agent.near("300", 1)
        agent.answer("4711")

    async def told(agent: Agent) -> None:
        await agent.call("read_file", path="plan.txt")
        agent.find(r"(doors)/left", agent.calls[0].text)
        await script(agent)

    assert anyio.run(work, agent_of(), told) == ""


def test_a_wrong_answer() -> None:
    async def script(agent: Agent) -> None:
        plan = await agent.call("read_file", path="plan.txt")
        agent.answer(agent.find(r"(door)", plan))

    assert anyio.run(work, agent_of(), script) == "answered ('door',)"


def _dispensable(script: Script) -> list[int]:
    agent = agent_of()
    assert anyio.run(work, agent, script) == ""
    done = outcome(agent, "", TokenCounter())
    return anyio.run(dispensable, done, script, agent.definitions, agent.known)


def test_without_a_result_the_task_fails() -> None:
    assert _dispensable(right) == []


def test_a_result_that_was_not_needed_is_told() -> None:
    async def script(agent: Agent) -> None:
        await agent.call("read_file", path="plan.txt")
        await right(agent)

    assert _dispensable(script) == [0]


def test_nothing_found() -> None:
    async def script(agent: Agent) -> None:
        plan = await agent.call("read_file", path="plan.txt")
        with pytest.raises(NotFound):
            agent.find(r"(\d{9})", plan)
        await right(agent)

    assert anyio.run(work, agent_of(), script) == ""


@pytest.mark.parametrize("scripts", [raw, ours, ctxtual, context_mode])
def test_no_script_holds_an_answer(scripts: Any) -> None:
    """What is asked for may not stand in a script, but for what questions name themselves."""
    source = Path(scripts.__file__).read_text(encoding="utf-8")
    asked = {word for task in own_tasks() for word in re.findall(r"\w+", task.question)}
    for task in own_tasks():
        for answer in task.answers:
            telling = {word for word in re.findall(r"\w{5,}", answer) if word not in asked}
            assert not telling & set(re.findall(r"\w+", source)), (task.name, telling)


def test_every_task_has_a_script() -> None:
    names = set(raw.SCRIPTS)
    assert {task.name for task in own_tasks()} <= names
    for scripts in (ours, ctxtual, context_mode):
        assert set(scripts.SCRIPTS) == names


def test_the_committed_sources_are_those_of_the_committed_run() -> None:
    """The run after the change saw the sources as they stand here."""
    log = (DATA / "runs" / "after.log").read_text(encoding="utf-8")
    test = (DATA / "project" / "tests" / "test_checkout.py").read_text(encoding="utf-8").split("\n")
    place = re.search(r"tests/test_checkout\.py:(\d+): AssertionError", log)
    assert place
    assert test[int(place[1]) - 1].strip() == "assert total == 111.4"
