"""Work on the tasks with one system, each in a conversation of its own."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_offload.tokens import TokenCounter
from tests.benchmarks.proof import inputs
from tests.benchmarks.proof.client import converse
from tests.benchmarks.proof.logs import write_logs
from tests.benchmarks.proof.model import Gone, Prompt, ScriptedModel, Seeing
from tests.benchmarks.proof.tasks import SYSTEM, Work
from tests.benchmarks.replay.agent import KNOWN, Outcome, Script, dispensable, outcome, work
from tests.benchmarks.replay.systems import Server, Tools, connected

#: How much is written or seen is the agent's choice, no knowledge of what is there.
_ALWAYS = frozenset({"offset"})


@dataclass(frozen=True, slots=True)
class System:
    """A way to work.

    Attributes:
        servers: of MCP, started for a folder, a home and a session.
        gate: whether a gate that compacts stands before the engine.
    """

    name: str
    servers: Callable[[Path, Path, str], list[Server]]
    scripts: dict[str, Script]
    known: frozenset[str]
    gate: bool


@dataclass(frozen=True, slots=True)
class Done:
    """One task with one system.

    Attributes:
        prompts: what the engine computed, in order.
        dispensable: results that the task would have been solved without; it has to be empty.
    """

    system: str
    outcome: Outcome
    prompts: tuple[Prompt, ...]
    dispensable: tuple[str, ...]

    @property
    def solved(self) -> bool:
        """Whether all answers are right and what was to be done is done."""
        return not self.outcome.failure

    @property
    def peak_tokens(self) -> int:
        """The largest prompt, as the engine counts it."""
        return max((prompt.tokens for prompt in self.prompts), default=0)

    @property
    def sent_tokens(self) -> int:
        """All prompts together."""
        return sum(prompt.tokens for prompt in self.prompts)

    @property
    def computed_tokens(self) -> int:
        """What the engine had to compute of them: what its prefix cache did not hold."""
        return sum(prompt.tokens - prompt.cached_tokens for prompt in self.prompts)

    @property
    def seconds(self) -> float:
        """The engine's time for them."""
        return sum(prompt.seconds for prompt in self.prompts)


#: Starts a gate before an engine for a home; gives its address.
Gate = Callable[[str, Path, Path], AbstractAsyncContextManager[str]]


async def solve(system: System, one: Work, engine: str, gate: Gate, home: Path) -> Done:
    """Work on one task in a folder that is written for it."""
    folder = home / "work"
    await asyncio.to_thread(_prepare, folder)
    session = re.sub(r"\W", "-", f"{system.name}-{one.task.name}")
    script = system.scripts[one.task.name]
    model = ScriptedModel(engine, salt=f"{session}-{secrets.token_hex(8)}")
    async with (
        connected(system.servers(folder, home, session), folder, home) as tools,
        model.serving() as address,
    ):
        known = KNOWN | system.known | _ALWAYS
        agent = Seeing(one.task, _unready, f"{tools.definitions}\n{SYSTEM}", known, model=model)
        async with _before(address, system, gate, home, folder) as url:
            failure = await _converse(agent, script, model, url, tools, session)
    failure = failure or one.check(folder)
    done = outcome(agent, failure, TokenCounter())
    unneeded = [] if failure else await dispensable(done, script, agent.definitions, known)
    return Done(
        system.name, done, tuple(model.prompts), tuple(done.calls[at].asked()[:200] for at in unneeded)
    )


async def _converse(
    agent: Seeing, script: Script, model: ScriptedModel, url: str, tools: Tools, session: str
) -> str:
    """Run the client's loop and the script, each at its end of the endpoint; why it failed, or nothing."""
    client = asyncio.create_task(converse(url, tools, SYSTEM, agent.task.question, session))

    async def turn(tool: str, arguments: dict[str, object]) -> str:
        said = "\n".join(agent.notes[turn_notes[0] :])
        turn_notes[0] = len(agent.notes)
        model.say(said, tool, arguments)
        await model.prompt(client)
        return model.result()

    turn_notes = [0]
    agent.call_tool = turn
    try:
        await model.prompt(client)
        failure = await work(agent, script)
        model.say("\n".join(agent.answers) or "I cannot tell.")
        await client
    except Gone as gone:
        return f"the conversation ended: {gone}"
    finally:
        client.cancel()
    return failure


def _prepare(folder: Path) -> None:
    inputs.write(folder)
    write_logs(folder)


async def _unready(_tool: str, _arguments: dict[str, object]) -> str:
    raise Gone("no conversation has begun")


@asynccontextmanager
async def _before(address: str, system: System, gate: Gate, home: Path, folder: Path) -> AsyncGenerator[str]:
    if not system.gate:
        yield address
        return
    async with gate(address, home, folder) as url:
        yield url
