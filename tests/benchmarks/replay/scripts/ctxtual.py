"""How an agent works with ctxtual: results come whole, or as a notice whose result_id it searches."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.replay.agent import Agent, Script
from tests.benchmarks.replay.scripts import raw


async def stored(agent: Agent, tool: str, **arguments: Any) -> str:
    """The id of a result that was too large to be shown."""
    return agent.find(r'"result_id": "(\w+)"', await agent.call(tool, **arguments))


async def passages(agent: Agent, result: str, query: str, most: int = 3) -> str:
    """Where the words of a query are."""
    return await agent.call("result_search", result_id=result, query=query, max_results=most)


async def failing_test(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="runs/after.log")
    found = await passages(agent, result, "FAILED")
    test = agent.find(r"FAILED (\S+) - ", found)
    file, name = test.split("::")
    agent.answer(
        name, file, agent.find(rf"{file}:(\d+):", found), agent.find(r"FAILED \S+ - (.*?)\\n", found)
    )


async def compare(agent: Agent) -> None:
    failed: list[str] = []
    for path in ("runs/after.log", "runs/before.log"):
        found = await passages(agent, await stored(agent, "read_file", path=path), "FAILED")
        failed.append(agent.find(r"FAILED (\S+) - ", found))
    agent.answer(*failed)


async def field(agent: Agent) -> None:
    result = await stored(agent, "list_jobs")
    rows = await agent.call("result_query", result_id=result, steps=[{"filter": {"status": "failed"}}])
    names = agent.find_all(r'"name": "([^"]+)"', rows)
    agent.answer(*names, agent.find(r'"exit_code": (\d+)', rows))


async def sanitizer(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="logs/th_asan_8904.log")
    kind = agent.find(r"AddressSanitizer: (\S+)", await passages(agent, result, "ERROR: AddressSanitizer"))
    found = await passages(agent, result, "toolkit/components")
    file, line = agent.find(r"(toolkit/components/[^:\s]+:\d+)", found).split(":")
    agent.answer(kind, file, line)


async def error_among_names(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="logs/tp_django32_runner.log")
    name = agent.find(r"\\nERROR: (\w+)", await passages(agent, result, "ERROR:"))
    frame = await passages(agent, result, f"in {name}")
    message = await passages(agent, result, "ValueError:")
    agent.answer(
        name, agent.find(rf"line (\d+), in {name}", frame), agent.find(r"\\n(ValueError: .*?)\\n", message)
    )


async def root_cause(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="logs/pt_gha_error_log_4767.log")
    found = await passages(agent, result, "Error:", 20)
    last = agent.find_all(r"Z (\w*Error: .*?)(?:\\n|\")", found)[-1]
    kind, message = last.split(": ", 1)
    agent.answer(kind, message.split(",")[0])


async def one_cause(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="logs/tp_flask012_272_failures_one_cause.log")
    found = await passages(agent, result, "AttributeError:")
    message = agent.find(r"AttributeError: (.*?missing)", found)
    place = await passages(agent, result, "py AttributeError")
    file, line = agent.find(r"\\n([^\\\s]+:\d+): AttributeError", place).split(":")
    agent.answer(message, file, line)


async def build_errors(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="logs/am_msbuild_11_errors.log")
    found = await passages(agent, result, "error MSB")
    code, line = agent.find(r"error (MSB\d+)", found), agent.find(r"targets\((\d+),\d+\): error", found)
    agent.answer(code, line)


async def tree(agent: Agent) -> None:
    result = await stored(agent, "directory_tree")
    page = agent.find(r'"page": (\d+)', await passages(agent, result, "geoip2"))
    text = await agent.call("result_read", result_id=result, page=int(page))
    directory = agent.find(r"(?s)geoip2(.*?)\]", text)
    agent.answer(*agent.find_all(r'name\\": \\"([^"\\]+)\\"', directory)[1:])


async def cpp_method(agent: Agent) -> None:
    result = await stored(agent, "read_file", path="cpp_nlohmann_json.hpp")
    found = await passages(agent, result, "unflatten() const")
    agent.answer(
        agent.find(r"(\w+ unflatten\(\) const)", found),
        agent.find(r"unflatten\(\) const.*?return (.*?);", found),
    )


SCRIPTS: dict[str, Script] = {
    **raw.SCRIPTS,  # What stays below ctxtual's threshold is read as it comes.
    "failing test": failing_test,
    "compare two runs": compare,
    "field of a result": field,
    "sanitizer": sanitizer,
    "error among names": error_among_names,
    "root cause": root_cause,
    "one cause of many": one_cause,
    "build errors": build_errors,
    "tree of a result": tree,
    "C++ method": cpp_method,
}
