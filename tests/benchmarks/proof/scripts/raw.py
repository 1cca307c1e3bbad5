"""How an agent works with the tools it has anyway: it reads files page by page until it has what it needs.

It notes what it will need later, since a gate in front of the model may take a page out of the prompt again
once it has been read.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from tests.benchmarks.proof.inputs import MODULES
from tests.benchmarks.replay.agent import Agent, NotFound, Script

#: What a model knows of Python.
KNOWN = frozenset({"from", "import", "self", "round", "taxes"})


async def pages(agent: Agent, path: str) -> AsyncGenerator[str]:
    """A file, 250 lines at a time."""
    text = await agent.call("read_file", path=path)
    while "(end of file)" not in text:
        offset = agent.find(r"more lines, offset (\d+)\)", text)
        agent.note(f"offset {offset}")
        yield text
        text = await agent.call("read_file", path=path, offset=int(offset))
    yield text


async def until(agent: Agent, path: str, *patterns: str) -> list[str]:
    """What each of the patterns finds in a file, which is read up to the last of them."""
    found: dict[str, str] = {}
    async for page in pages(agent, path):
        for pattern in patterns:
            if pattern not in found:
                try:
                    found[pattern] = agent.find(pattern, page)
                except NotFound:
                    continue
                agent.note(found[pattern])
        if len(found) == len(patterns):
            return [found[pattern] for pattern in patterns]
    raise NotFound(f"{patterns} in {path}")


async def tested(agent: Agent, path: str) -> str:
    """How many tests were passed, all of them."""
    text = await agent.call("run_tests", path=path)
    return agent.find(r"(?m)^(\d+) passed in", text)


async def changed(agent: Agent, path: str, old: str, new: str) -> None:
    """Replace a text in a file, and see that it was."""
    agent.find(r"edited (\S+)", await agent.call("edit_file", path=path, old=old, new=new))


async def root_cause(agent: Agent) -> None:
    name, first, last = await until(
        agent,
        "logs/ci.log",
        r"::(\w+) ERROR",
        r"E       \w+\.\w*Missing: (.*)",
        r"E           \w+\.(\w+: .*)",
    )
    agent.answer(name, last, first)


async def fix(agent: Agent) -> None:
    (method,) = await until(
        agent, "tests/test_checkout.py", r"(?s)def test_reduced_rate_abroad.*?checkout\.(\w+)\(\)"
    )
    (adds,) = await until(agent, "shop/checkout.py", rf"(?s)def {method}\(self\).*?sum\((\w+)\(")
    (looks,) = await until(agent, "shop/pricing.py", rf"(?s)def {adds}\(.*?1 \+ (\w+)\(")
    rate, wrong = await until(agent, "shop/rates.py", r"PT: .*? reduced (0\.\d+)\.", r"(REDUCED_PT = 0\.\d+)")
    name = wrong.partition(" = ")[0]
    await changed(agent, "shop/rates.py", wrong, f"{name} = {rate}")
    await tested(agent, "tests/test_checkout.py")
    agent.answer(adds, looks, rate)


async def rename(agent: Agent) -> None:
    listed = await agent.call("list_files", folder="shop")
    for path in agent.find_all(r"(?m)^(shop/\w+\.py)$", listed):
        if path.removeprefix("shop/").removesuffix(".py") not in (*MODULES, "pricing"):
            continue
        places: list[str] = []
        async for page in pages(agent, path):
            if "net_of" in page:
                places += agent.find_all(r"(?m)^(.*\bnet_of\b.*)$", page)
                agent.note("\n".join(places))
        for line in places:
            await changed(agent, path, line, line.replace("net_of", "net_amount"))
    agent.answer(await tested(agent, "tests/test_uses.py"))


async def compare(agent: Agent) -> None:
    failed: list[list[str]] = []
    for path in ("logs/before.log", "logs/after.log"):
        failed.append([])
        async for page in pages(agent, path):
            if " FAILED " in page:
                failed[-1] += agent.find_all(r"(?m)^(\S+) FAILED ", page)
                agent.note(f"{path} FAILED {' '.join(failed[-1])}")
    before, after = failed
    agent.answer(*sorted(set(after) - set(before)), *sorted(set(before) - set(after)))


async def migrate(agent: Agent) -> None:
    (call,) = await until(agent, "docs/taxes.md", r"Write `(taxes\.Tax\(code\)\.on\(net\))`")
    new = call.partition("(code)")[0]
    copy = "shop/ledger.py.new"
    started = False
    async for page in pages(agent, "shop/ledger.py"):
        text = page.rpartition("(")[0]
        for code in (
            dict.fromkeys(agent.find_all(r'taxes\.compute\(net, "(\w+)"\)', page))
            if "compute" in page
            else ()
        ):
            text = text.replace(f'taxes.compute(net, "{code}")', f'{new}("{code}").on(net)')
        wrote = await agent.call("write_file", path=copy, content=text, append=started)
        agent.find(r"wrote (\S+)", wrote)
        started = True
    agent.find(r"moved (\S+)", await agent.call("move_file", path=copy, to="shop/ledger.py"))
    agent.answer(await tested(agent, "tests/test_ledger.py"))


SCRIPTS: dict[str, Script] = {
    "root cause": root_cause,
    "fix a failing test": fix,
    "rename across files": rename,
    "compare two builds": compare,
    "migrate a module": migrate,
}
