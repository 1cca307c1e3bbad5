"""How an agent works with context-mode: programs print what it wants to know; it edits with its own tools."""

from __future__ import annotations

from tests.benchmarks.proof.inputs import MODULES
from tests.benchmarks.proof.scripts.raw import changed, tested
from tests.benchmarks.replay.agent import Agent, Script
from tests.benchmarks.replay.scripts.context_mode import KNOWN as PROGRAMS
from tests.benchmarks.replay.scripts.context_mode import grep, lines_from, program

#: What a model knows of Python, the programs that it writes among it.
KNOWN = PROGRAMS | {"from", "import", "self", "round", "taxes", "python"}

#: Prints each function whose body is the call that is gone.
CALLS = """lines = FILE_CONTENT.split("\\n")
found = [number for number, line in enumerate(lines) if "taxes.compute" in line]
for number in found:
    print("\\n".join(lines[number - 2:number + 1]))"""


async def root_cause(agent: Agent) -> None:
    name = agent.find(r"::(\w+) ERROR", await grep(agent, "logs/ci.log", " ERROR "))
    chain = await grep(agent, "logs/ci.log", "E   ")
    agent.answer(
        name,
        agent.find_all(r"E +\w+\.(\w+: .*)", chain)[-1],
        agent.find(r"E +\w+\.\w*Missing: (.*)", chain),
    )


async def fix(agent: Agent) -> None:
    test = await lines_from(agent, "tests/test_checkout.py", "def test_reduced_rate_abroad", 5)
    method = agent.find(r"checkout\.(\w+)\(\)", test)
    adds = agent.find(r"sum\((\w+)\(", await lines_from(agent, "shop/checkout.py", f"def {method}(", 4))
    looks = agent.find(r"1 \+ (\w+)\(", await lines_from(agent, "shop/pricing.py", f"def {adds}(", 4))
    found = await grep(agent, "shop/rates.py", "PT", which=":3")
    rate = agent.find(r"PT: .*? reduced (0\.\d+)\.", found)
    wrong = agent.find(r"(REDUCED_PT = \S+)", found)
    await changed(agent, "shop/rates.py", wrong, f"{wrong.partition(' = ')[0]} = {rate}")
    await tested(agent, "tests/test_checkout.py")
    agent.answer(adds, looks, rate)


async def rename(agent: Agent) -> None:
    listed = await agent.call("list_files", folder="shop")
    for path in agent.find_all(r"(?m)^(shop/\w+\.py)$", listed):
        if path.removeprefix("shop/").removesuffix(".py") not in (*MODULES, "pricing"):
            continue
        found = await grep(agent, path, "net_of")
        if "net_of" not in found:
            # It says that the program printed nothing.
            agent.find(r"(\S)", found)
            continue
        for line in agent.find_all(r"(?m)^\d+ (.*\bnet_of\b.*)$", found):
            await changed(agent, path, line, line.replace("net_of", "net_amount"))
    agent.answer(await tested(agent, "tests/test_uses.py"))


async def compare(agent: Agent) -> None:
    failed: list[set[str]] = []
    for path in ("logs/before.log", "logs/after.log"):
        found = await grep(agent, path, " FAILED ")
        failed.append(set(agent.find_all(r"(?m)^\d+ (\S+) FAILED ", found)))
    before, after = failed
    agent.answer(*sorted(after - before), *sorted(before - after))


async def migrate(agent: Agent) -> None:
    told = await grep(agent, "docs/taxes.md", "taxes.compute")
    new = agent.find(r"Write `(taxes\.Tax)\(code\)\.on\(net\)`", told)
    path = "shop/ledger.py"
    for source in agent.find_all(r"(?s)(def .*?compute\(.*?\))", await program(agent, path, CALLS)):
        code = agent.find(r'compute\(net, "(\w+)"\)', source)
        text = source.replace(f'taxes.compute(net, "{code}")', f'{new}("{code}").on(net)')
        await changed(agent, path, source, text)
    agent.answer(await tested(agent, "tests/test_ledger.py"))


SCRIPTS: dict[str, Script] = {
    "root cause": root_cause,
    "fix a failing test": fix,
    "rename across files": rename,
    "compare two builds": compare,
    "migrate a module": migrate,
}
