"""Replay the tasks with one system, in one context that nothing leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_offload.tokens import TokenCounter
from tests.benchmarks.replay.agent import KNOWN, Agent, Outcome, Script, Task, dispensable, outcome, work
from tests.benchmarks.replay.systems import Server, connected


@dataclass(frozen=True)
class Replay:
    """What one system needed.

    Attributes:
        definitions_tokens: instructions and tool definitions, there before the first question.
        peak_tokens: the whole context at its fullest: definitions, questions, calls, results, answers.
        delivered_tokens: of it, what servers sent: definitions and results.
        dispensable: results that a task would have been solved without; it has to be empty.
    """

    system: str
    outcomes: tuple[Outcome, ...]
    definitions_tokens: int
    peak_tokens: int
    delivered_tokens: int
    dispensable: tuple[str, ...]

    @property
    def found(self) -> int:
        """Answers that are right."""
        return sum(done.found for done in self.outcomes if not done.failure)

    @property
    def wanted(self) -> int:
        """Answers there are."""
        return sum(len(done.task.answers) for done in self.outcomes)


async def replay(
    system: str,
    servers: list[Server],
    scripts: dict[str, Script],
    tasks: list[Task],
    folder: Path,
    home: Path,
    known: frozenset[str] = frozenset(),
) -> Replay:
    """Work on ``tasks`` one after another, then on each without one of its results."""
    counter = TokenCounter()
    known = KNOWN | known
    done: list[Outcome] = []
    async with connected(servers, folder, home) as tools:
        for task in tasks:
            agent = Agent(task, tools.call, tools.definitions, known)
            done.append(outcome(agent, await work(agent, scripts[task.name]), counter))
        definitions = tools.definitions
    unneeded = [
        f"{one.task.name}: {one.calls[at].asked()}"
        for one in done
        if not one.failure
        for at in await dispensable(one, scripts[one.task.name], definitions, known)
    ]
    before = counter.count(definitions)
    return Replay(
        system,
        tuple(done),
        before,
        # Nothing leaves the context, so that it is fullest at the end.
        before + sum(one.tokens for one in done),
        before + sum(one.delivered_tokens for one in done),
        tuple(unneeded),
    )
