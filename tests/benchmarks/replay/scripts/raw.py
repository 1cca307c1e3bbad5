"""How an agent works that has nothing but the tools themselves: it reads all of it."""

from __future__ import annotations

from tests.benchmarks.replay.agent import Agent, Script


async def failing_test(agent: Agent) -> None:
    log = await agent.call("read_file", path="runs/after.log")
    test = agent.find(r"(?m)^(\S+) FAILED", log)
    file, name = test.split("::")
    agent.answer(name, file, agent.find(rf"{file}:(\d+):", log), agent.find(r"(?m)^E\s+(.+)", log))


async def compare(agent: Agent) -> None:
    before = await agent.call("read_file", path="runs/before.log")
    after = await agent.call("read_file", path="runs/after.log")
    agent.answer(agent.find(r"(?m)^(\S+) FAILED", after), agent.find(r"(?m)^(\S+) FAILED", before))


async def field(agent: Agent) -> None:
    jobs = await agent.call("list_jobs")
    job = agent.find(r'(?s)("name": "[^"]+",\s+"status": "failed".*?"exit_code": \d+)', jobs)
    names = agent.find_all(r'"name": "([^"]+)"', job)
    agent.answer(*names, agent.find(r'"exit_code": (\d+)', job))


async def three_files(agent: Agent) -> None:
    test = await agent.call("read_file", path="tests/test_checkout.py")
    country = agent.find(r'(?s)def test_reduced_rate_abroad.*?paid\("(\w+)"', test)
    category = agent.find(r'(?s)def test_reduced_rate_abroad.*?Line\("\w+", "(\w+)"', test)
    method = agent.find(r"(?s)def paid.*?\.(\w+)\(\)", test)
    checkout = await agent.call("read_file", path="shop/checkout.py")
    adds = agent.find(rf"(?s)def {method}\(self\).*?sum\(\s+(\w+)\(", checkout)
    pricing = await agent.call("read_file", path="shop/pricing.py")
    looks = agent.find(rf"(?s)def {adds}\(.*?return .*?(\w+)\(category", pricing)
    rates = await agent.call("read_file", path="shop/rates.py")
    constant = agent.find(rf'(?s)"{country}": .*?"{category}": (\w+)', rates)
    agent.answer(adds, looks, constant, agent.find(rf"{constant} = (\S+)", rates))


async def body(agent: Agent) -> None:
    source = await agent.call("read_file", path="shop/pricing.py")
    agent.answer(
        agent.find(r"(def instalments.*)", source),
        agent.find(r"(?s)def instalments.*?return (.*?)\n", source),
    )


async def sanitizer(agent: Agent) -> None:
    log = await agent.call("read_file", path="logs/th_asan_8904.log")
    place = agent.find(r"(toolkit/components/\S+?:\d+)", log)
    file, line = place.split(":")
    agent.answer(agent.find(r"ERROR: AddressSanitizer: (\S+)", log), file, line)


async def error_among_names(agent: Agent) -> None:
    log = await agent.call("read_file", path="logs/tp_django32_runner.log")
    name = agent.find(r"(?m)^ERROR: (\w+)", log)
    agent.answer(
        name,
        agent.find(rf"line (\d+), in {name}", log),
        agent.find(r"(?m)^(ValueError: .*)", log),
    )


async def root_cause(agent: Agent) -> None:
    log = await agent.call("read_file", path="logs/pt_gha_error_log_4767.log")
    last = agent.find_all(r"(?m)^\S+Z (\w*Error: .*)", log)[-1]
    kind, message = last.split(": ", 1)
    agent.answer(kind, message.split(",")[0])


async def one_cause(agent: Agent) -> None:
    log = await agent.call("read_file", path="logs/tp_flask012_272_failures_one_cause.log")
    place = agent.find(r"(?m)^(\S+:\d+): AttributeError", log)
    file, line = place.split(":")
    agent.answer(agent.find(r"AttributeError: (.*?missing)", log), file, line)


async def build_errors(agent: Agent) -> None:
    log = await agent.call("read_file", path="logs/am_msbuild_11_errors.log")
    agent.answer(
        agent.find(r"error (MSB\d+)", log), agent.find(r"Microsoft.Common.targets\((\d+),\d+\): error", log)
    )


async def tree(agent: Agent) -> None:
    text = await agent.call("directory_tree")
    directory = agent.find(r'(?s)"name": "geoip2"(.*?)\]', text)
    agent.answer(*agent.find_all(r'"name": "([^"]+)"', directory)[1:])


async def commit(agent: Agent) -> None:
    text = await agent.call("git_log")
    found = agent.find(r"(Commit: \w+\nAuthor: .*\nDate: .*)\nMessage: Release v2\.1\.0", text)
    agent.answer(agent.find(r"Commit: (\w+)", found), agent.find(r"Date: (.*)", found))


async def method(agent: Agent) -> None:
    source = await agent.call("read_file", path="pep701_test_fstring.py")
    lines = agent.find(r"(?s)(def assertAllRaise.*?)\n\n", source)
    agent.answer(agent.find(r"(def .*)", lines), lines.split("\n")[-1].strip())


async def cpp_method(agent: Agent) -> None:
    source = await agent.call("read_file", path="cpp_nlohmann_json.hpp")
    agent.answer(
        agent.find(r"(\w+ unflatten\(\) const)", source),
        agent.find(r"(?s)\w+ unflatten\(\) const\s*\{\s*return (.*?);", source),
    )


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
