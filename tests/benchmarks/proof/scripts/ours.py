"""How an agent works with mcp-offload: digests of logs, symbols by handle, edits where a hit is."""

from __future__ import annotations

from tests.benchmarks.replay.agent import Agent, Script

#: What a model knows of Python, and of the symbols that an outline names.
KNOWN = frozenset({"from", "import", "self", "round", "taxes", "python", "pytest"})


async def digest(agent: Agent, path: str) -> str:
    """What matters in a log, with the reply to storing it or a moment later."""
    stored = await agent.call("store_artifact", source=path)
    if "digest: outline" not in stored:
        return stored
    return await agent.call("outline_handle", handle=agent.find(r"digest: outline (\w+)", stored))


async def tested(agent: Agent, path: str) -> str:
    """How many tests were passed, all of them."""
    ran = await agent.call("run_command", command=["python", "-m", "pytest", "-q", path])
    agent.find(r"\| (exit 0) \|", ran)
    return agent.find(r"(\d+) passed", ran)


async def changed(agent: Agent, handle: str, text: str) -> None:
    """Replace what a handle names, and see that the file was written."""
    edited = await agent.call("edit_handle", handle=handle, text=text)
    agent.find(r"wrote (\S+?);", edited)


async def root_cause(agent: Agent) -> None:
    found = await digest(agent, "logs/ci.log")
    failure = agent.find(r"(\w+#!1) setup of", found)
    name = agent.find(r"#!1 setup of (\w+)", found)
    last = agent.find(r"#!1 .*? L\d+: \w+\.(\w+: .*)", found)
    block = await agent.call("read_handle", handles=[failure])
    agent.answer(name, last, agent.find(r"E       \w+\.\w*Missing: (.*)", block))


async def fix(agent: Agent) -> None:
    test = await agent.call("read_handle", handles=["tests/test_checkout.py#test_reduced_rate_abroad"])
    method = agent.find(r"checkout\.(\w+)\(\)", test)
    due = await agent.call("read_handle", handles=[f"shop/checkout.py#Checkout.{method}"])
    adds = agent.find(r"sum\((\w+)\(", due)
    pricing = await agent.call("read_handle", handles=[f"shop/pricing.py#{adds}"])
    looks = agent.find(r"1 \+ (\w+)\(", pricing)
    head = await agent.call("search_handles", pattern="^PT:", handles=["shop/rates.py"])
    rate = agent.find(r"PT: .*? reduced (0\.\d+)\.", head)
    named = await agent.call("search_handles", pattern="PT", symbols=True, handles=["shop/rates.py"])
    handle = agent.find(r"(\S+#REDUCED_PT) ", named)
    name = handle.partition("#")[2]
    await changed(agent, handle, f"{name} = {rate}\n")
    await tested(agent, "tests/test_checkout.py")
    agent.answer(adds, looks, rate)


async def rename(agent: Agent) -> None:
    stored = await agent.call("store_artifact", source="shop")
    agent.find(r"(\d+) files", stored)
    hits = await agent.call("search_handles", pattern="net_of", literal=True)
    places = list(
        zip(
            agent.find_all(r"(?m)^(\w+#L\d+) ", hits),
            agent.find_all(r"(?m)^\w+#L\d+ (.*)$", hits),
            strict=True,
        )
    )
    for handle, line in places:
        await changed(agent, handle, line.replace("net_of", "net_amount") + "\n")
    agent.answer(await tested(agent, "tests/test_uses.py"))


async def compare(agent: Agent) -> None:
    found = await agent.call("diff_handles", before="logs/before.log", after="logs/after.log")
    agent.answer(*agent.find_all(r"#!\d+ (\S+)", found))


async def migrate(agent: Agent) -> None:
    told = await agent.call(
        "search_handles", pattern="taxes.compute", literal=True, handles=["docs/taxes.md"]
    )
    new = agent.find(r"Write `(taxes\.Tax)\(code\)\.on\(net\)`", told)
    hits = await agent.call(
        "search_handles", pattern="taxes.compute", literal=True, handles=["shop/ledger.py"]
    )
    lines = agent.find_all(r"(?m)^(\w+#L\d+ .*)$", hits)
    for line in lines:
        handle, _, text = line.partition(" ")
        code = agent.find(r'compute\(net, "(\w+)"\)', line)
        await changed(
            agent, handle, text.replace(f'taxes.compute(net, "{code}")', f'{new}("{code}").on(net)') + "\n"
        )
    agent.answer(await tested(agent, "tests/test_ledger.py"))


SCRIPTS: dict[str, Script] = {
    "root cause": root_cause,
    "fix a failing test": fix,
    "rename across files": rename,
    "compare two builds": compare,
    "migrate a module": migrate,
}
