"""How an agent works with ctxtual: pages of source come whole; of a log it asks for all, and searches it."""

from __future__ import annotations

from tests.benchmarks.proof.scripts import raw
from tests.benchmarks.replay.agent import Agent, Script
from tests.benchmarks.replay.scripts.ctxtual import passages, stored

KNOWN = raw.KNOWN
ALL_LINES = 100_000


async def root_cause(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="logs/ci.log", limit=ALL_LINES)
    found = await passages(agent, result, "ERROR fixture test")
    name = agent.find(r"ERROR at setup of (\w+)", found)
    chain = await passages(agent, result, "conftest Missing exception", 6)
    agent.answer(
        name,
        agent.find_all(r"E +\w+\.(\w+: .*?)\\n", chain)[-1],
        agent.find(r"E +\w+\.\w*Missing: (.*?)\\n", chain),
    )


async def compare(agent: Agent) -> None:
    failed: list[set[str]] = []
    for path in ("logs/before.log", "logs/after.log"):
        result = await stored(agent, "read_file", path=path, limit=ALL_LINES)
        found = await passages(agent, result, "FAILED", 10)
        failed.append(set(agent.find_all(r"FAILED (suite/\S+?\]) - ", found)))
    before, after = failed
    agent.answer(*sorted(after - before), *sorted(before - after))


SCRIPTS: dict[str, Script] = {**raw.SCRIPTS, "root cause": root_cause, "compare two builds": compare}
