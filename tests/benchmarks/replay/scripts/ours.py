"""How an agent works with mcp-offload: it stores, reads digests, and opens what handles name."""

from __future__ import annotations

from tests.benchmarks.replay.agent import Agent, Script

#: A digest tells what matters first.
DIGEST_TOKENS = 800


async def digest(agent: Agent, path: str) -> str:
    """What matters in a log, in the reply to storing it or, of a long one, a moment later."""
    stored = await agent.call("store_artifact", source=path)
    if "digest: outline" not in stored:
        return stored
    handle = agent.find(r"digest: outline (\w+)", stored)
    return await agent.call("outline_handle", handle=handle, max_tokens=DIGEST_TOKENS)


async def failing_test(agent: Agent) -> None:
    found = await digest(agent, "runs/after.log")
    test = agent.find(r"#!1 (\S+)", found)
    line = agent.find(r"#!1 \S+ [^:]+:(\d+)", found)
    file, name = test.split("::")
    agent.answer(name, file, line, agent.find(r"#!1 .*? L\d+: (.+)", found))


async def compare(agent: Agent) -> None:
    found = await agent.call("diff_handles", before="runs/before.log", after="runs/after.log")
    newly, fixed = agent.find_all(r"#!\d+ (\S+)", found)
    agent.answer(newly, fixed)


async def field(agent: Agent) -> None:
    stored = await agent.call("list_jobs")
    handle = agent.find(r"(?m)^(\w+) list_jobs", stored)
    rows = agent.find(r"(\$\.jobs)\[\*\]", stored)
    job = await agent.call("read_handle", handles=[f"{handle}#?{rows}[?@.status=='failed']"])
    names = agent.find_all(r'"name":"([^"]+)"', job)
    agent.answer(*names, agent.find(r'"exit_code":(\d+)', job))


async def three_files(agent: Agent) -> None:
    stored = await agent.call("store_artifact", source="shop")
    files = agent.find_all(r"(?m)^(f\d+) ", stored)
    path = "tests/test_checkout.py"
    test = await agent.call("read_handle", handles=[f"{path}#test_reduced_rate_abroad"])
    country, category = agent.find(r'\("(\w+)", Line', test), agent.find(r'Line\("\w+", "(\w+)"', test)
    helper = agent.find(r"total = (\w+)\(", test)
    paying = await agent.call("read_handle", handles=[f"{path}#{helper}"])
    total = await _definition(agent, agent.find(r"\.(\w+)\(\)", paying), files)
    adds = agent.find(r"sum\(\s+(\w+)\(", total)
    looks = agent.find(r"return .*?(\w+)\(category", await _definition(agent, adds, files))
    entries = await agent.call("search_handles", pattern=f'"{category}": .*{country}', handles=files)
    constant = agent.find(rf'"{category}": (\w+)', entries)
    value = await agent.call("search_handles", pattern=f"{constant} =", handles=files)
    agent.answer(adds, looks, constant, agent.find(rf"{constant} = (\S+)", value))


async def _definition(agent: Agent, name: str, files: list[str]) -> str:
    hits = await agent.call("search_handles", pattern=name, symbols=True, handles=files)
    return await agent.call("read_handle", handles=[agent.find(rf"(\S+#\S*{name}) ", hits)])


async def body(agent: Agent) -> None:
    found = await agent.call("read_handle", handles=["shop/pricing.py#instalments"])
    agent.answer(agent.find(r"(def .*)", found), agent.find(r"return (.*)", found))


async def sanitizer(agent: Agent) -> None:
    found = await digest(agent, "logs/th_asan_8904.log")
    place = agent.find(r"#!1 \S*(toolkit/components/\S+:\d+)", found)
    file, line = place.split(":")
    agent.answer(agent.find(r"ERROR: AddressSanitizer: (\S+)", found), file, line)


async def error_among_names(agent: Agent) -> None:
    found = await digest(agent, "logs/tp_django32_runner.log")
    error = agent.find(r"(#!\d+ .*ValueError: .*)", found)
    agent.answer(
        agent.find(r"#!\d+ (\w+)", error),
        agent.find(r":(\d+) L\d", error),
        agent.find(r"(ValueError: .*)", error),
    )


async def root_cause(agent: Agent) -> None:
    found = await digest(agent, "logs/pt_gha_error_log_4767.log")
    last = agent.find(r"#!\d+ .*?L\d+: (\w+: .*)", found)
    kind, message = last.split(": ", 1)
    agent.answer(kind, message.split(",")[0])


async def one_cause(agent: Agent) -> None:
    found = await digest(agent, "logs/tp_flask012_272_failures_one_cause.log")
    place = agent.find(r"(\S+:\d+) L\d+: AttributeError", found)
    file, line = place.split(":")
    agent.answer(agent.find(r"AttributeError: (.*?missing)", found), file, line)


async def build_errors(agent: Agent) -> None:
    found = await digest(agent, "logs/am_msbuild_11_errors.log")
    agent.answer(agent.find(r"error (MSB\d+)", found), agent.find(r"Microsoft.Common.targets:(\d+) ", found))


async def tree(agent: Agent) -> None:
    stored = await agent.call("directory_tree")
    handle = agent.find(r"(?m)^(\w+) directory_tree", stored)
    directory = await agent.call("read_handle", handles=[f"{handle}#?$..[?@.name=='geoip2']"])
    children = agent.find(r'"children":(.*)', directory)
    agent.answer(*agent.find_all(r'"name":"([^"]+)"', children)[1:])


async def commit(agent: Agent) -> None:
    stored = await agent.call("git_log")
    handle = agent.find(r"(?m)^(\w+) git_log", stored)
    hits = await agent.call(
        "search_handles", pattern="Message: Release v2.1.0", literal=True, handles=[handle]
    )
    line = agent.find(r"#L(\d+) Message", hits)
    found = await agent.call("read_handle", handles=[f"{handle}#L{agent.near(line, -3)}-{line}"])
    agent.answer(agent.find(r"Commit: (\w+)", found), agent.find(r"Date: (.*)", found))


async def method(agent: Agent) -> None:
    source = await agent.call("read_handle", handles=["pep701_test_fstring.py#assertAllRaise"])
    agent.answer(agent.find(r"(def .*)", source), source.rstrip().split("\n")[-1].strip())


async def cpp_method(agent: Agent) -> None:
    source = await agent.call("read_handle", handles=["cpp_nlohmann_json.hpp#basic_json.unflatten"])
    agent.answer(agent.find(r"(\w+ unflatten\(\) const)", source), agent.find(r"return (.*?);", source))


SCRIPTS: dict[str, Script] = {
    "failing test": failing_test,
    "compare two runs": compare,
    "field of a result": field,
    "through three files": three_files,
    "body of a function": body,
    "sanitizer": sanitizer,
    "error among names": error_among_names,
    "root cause": root_cause,
    "one cause of many": one_cause,
    "build errors": build_errors,
    "tree of a result": tree,
    "commit": commit,
    "method": method,
    "C++ method": cpp_method,
}
