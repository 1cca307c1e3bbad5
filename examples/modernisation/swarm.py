"""Which agent works when, on what, and what must hold before the next one goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from . import agents, check
from .agents import Agent
from .check import Layout, LegacyFailed
from .desk import Refused, desk
from .model import BadAnswer, Endpoint, NoAnswer

ROLES = {
    "parser": agents.PARSER,
    "extractor": agents.EXTRACTOR,
    "synthesiser": agents.SYNTHESISER,
    "configurator": agents.CONFIGURATOR,
    "tester": agents.TESTER,
}
_Result = TypeVar("_Result")
Check = Callable[[], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Module:
    """A legacy module: its files, the class it becomes, and whether that class is the program."""

    name: str
    files: tuple[str, ...]
    java: str
    wanted: str
    is_program: bool = False


MODULES = (
    Module(
        "fee_rules",
        ("fee_rules.sql",),
        "FeeRules",
        "Write class bank.FeeRules with a public method for monthly_fee that other classes call.",
    ),
    Module(
        "billing",
        ("BILLING.cbl", "ACCOUNT.cpy"),
        "Billing",
        "Write class bank.Billing: a constructor that takes a FeeRules, a method run(Path, Path), and main "
        "with the two paths as arguments. Fees come from FeeRules.",
        is_program=True,
    ),
)


@dataclass(slots=True)
class Report:
    """What came of it. `steps` tells each check: ok, what failed for good, or why it was not made."""

    steps: dict[str, str] = field(default_factory=dict[str, str])
    agents: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @property
    def ok(self) -> bool:
        """Whether every check was made and held."""
        return bool(self.steps) and all(state == "ok" for state in self.steps.values())


@dataclass(frozen=True, slots=True)
class Swarm:
    """The agents at their desks, and how often one may try again."""

    team: Mapping[str, Agent]
    layout: Layout
    retries: int
    report: Report
    told: Callable[[str], None]

    async def migrate(self) -> Report:
        """Turn every module into Java, configure and test it, and compare it with the original."""
        try:
            program = self.layout.legacy / MODULES[-1].files[0]
            await check.run_legacy(self.team["parser"].desk, self.layout, program)
            await self._modules()
        except (NoAnswer, LegacyFailed) as error:
            self._state("stopped", str(error))
        for agent in self.team.values():
            self.report.agents[agent.name] = {
                "questions": agent.questions,
                "bad_answers": agent.bad_answers,
                "peak_prompt_tokens": agent.peak_prompt_tokens,
                "lease": await agent.desk.lease(),
            }
        return self.report

    async def _modules(self) -> None:
        classes: list[str] = []
        rules: list[str] = []
        for module in MODULES:
            made = await self._module(module, classes)
            if made is None:
                break
            rules.append(made[0])
            classes.append(made[1])
        else:
            await self._configure(classes)
            await self._test(classes, rules)

    async def _module(self, module: Module, classes: Sequence[str]) -> tuple[str, str] | None:
        """The handles of its rules and of its class; None when either could not be had."""
        parser, extractor, writer = (self.team[role] for role in ("parser", "extractor", "synthesiser"))
        sources = [await parser.desk.store(self.layout.legacy / name) for name in module.files]
        parts = await self._until(
            f"{module.name}: parts", parser, lambda: agents.choose_parts(parser, sources)
        )
        if parts is None:
            return None
        rules_file = self.layout.folder / "rules" / f"{module.name}.json"
        rules = await self._until(
            f"{module.name}: rules", extractor, lambda: agents.extract_rules(extractor, parts, rules_file)
        )
        if rules is None:
            return None
        source = self.layout.java / f"{module.java}.java"

        async def good() -> str | None:
            complaint = await check.compiles(writer.desk, self.layout, source)
            if complaint is None and module.is_program:
                complaint = await check.equals(writer.desk, self.layout, f"bank.{module.java}", "actual")
            return complaint

        written = await self._write(
            f"{module.name}: {module.java}",
            writer,
            module.wanted,
            [rules, *parts],
            list(classes),
            source,
            good,
        )
        return None if written is None else (rules, written)

    async def _configure(self, classes: list[str]) -> None:
        jars = check.spring_jars()
        name, source = "spring", self.layout.java / "BankConfiguration.java"
        if not jars:
            self.report.steps[name] = "not checked: no Spring; on Debian, apt install libspring-context-java"
            return
        writer = self.team["configurator"]

        async def good() -> str | None:
            complaint = await check.compiles(writer.desk, self.layout, source, jars=jars)
            return complaint or await check.equals(
                writer.desk, self.layout, "bank.BankConfiguration", "spring", jars
            )

        wanted = "Write class bank.BankConfiguration."
        await self._write(name, writer, wanted, [], classes, source, good)

    async def _test(self, classes: list[str], rules: list[str]) -> None:
        jars = check.junit_jars()
        name, source = "tests", self.layout.java / "RulesTest.java"
        if not jars:
            self.report.steps[name] = "not checked: no JUnit; on Debian, apt install junit4"
            return
        writer = self.team["tester"]

        async def good() -> str | None:
            complaint = await check.compiles(writer.desk, self.layout, source, jars=jars)
            return complaint or await check.passes(writer.desk, self.layout, "bank.RulesTest", jars)

        await self._write(name, writer, "Write class bank.RulesTest.", rules, classes, source, good)

    async def _write(
        self,
        step: str,
        writer: Agent,
        wanted: str,
        read: list[str],
        outlined: list[str],
        source: Path,
        good: Check,
    ) -> str | None:
        """Write a class, and repair it until the check holds; its handle, or None after too many tries."""
        handle, complaint = None, "no answer could be used"
        for _ in range(1 + self.retries):
            try:
                await writer.desk.begin()
                if handle is None:
                    handle = await agents.write_class(writer, wanted, read, outlined, source)
                else:
                    await agents.repair(writer, handle, read, complaint)
                failed = await good()
            except (BadAnswer, Refused) as error:
                failed = str(error)
            if failed is None:
                self._state(step, "ok")
                return handle
            complaint = failed
            self.told(f"{step}: again, since {complaint.partition(chr(10))[0]}")
        self._state(step, f"failed after {self.retries} retries: {complaint}")
        return None

    async def _until(self, step: str, agent: Agent, work: Callable[[], Awaitable[_Result]]) -> _Result | None:
        complaint = ""
        for _ in range(1 + self.retries):
            try:
                await agent.desk.begin()
                result = await work()
            except (BadAnswer, Refused) as error:
                complaint = str(error)
                self.told(f"{step}: again, since {complaint}")
            else:
                self._state(step, "ok")
                return result
        self._state(step, f"failed after {self.retries} retries: {complaint}")
        return None

    def _state(self, step: str, state: str) -> None:
        self.report.steps[step] = state
        self.told(f"{step}: {state.partition(chr(10))[0]}")


@asynccontextmanager
async def staffed(
    endpoint: Endpoint, layout: Layout, server: Sequence[str], retries: int, told: Callable[[str], None]
) -> AsyncGenerator[Swarm]:
    """A swarm with a server process, a session and a lease for each agent."""
    layout.folder.mkdir(parents=True, exist_ok=True)
    roots = (layout.legacy, *{data.parent for data in layout.inputs})
    async with AsyncExitStack() as stack:
        team = {
            name: Agent(
                name,
                task,
                await stack.enter_async_context(desk(name, layout.folder, roots, server)),
                endpoint,
            )
            for name, task in ROLES.items()
        }
        yield Swarm(team, layout, retries, Report(), told)
