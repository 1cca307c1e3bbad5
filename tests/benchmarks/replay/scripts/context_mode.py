"""How an agent works with context-mode: it writes programs that print what it wants of a file.

Its documentation asks for exactly that ("think in code"), so results of other servers, which it does not
take out of the context, are given to it as files.
"""

from __future__ import annotations

from tests.benchmarks.replay.agent import Agent, Script

#: The Python that a model knows, and how much of a file it has printed at a time.
KNOWN = frozenset(
    {"10", "200", "300", "400", "600"}
    | {"for", "in", "if", "and", "print", "import", "json", "loads", "dumps", "enumerate", "split", "find"}
    | {"number", "line", "lines", "found", "start", "text", "item", "content"}
)
GREP = """lines = FILE_CONTENT.split("\\n")
found = [number for number, line in enumerate(lines) if {condition}]
for number in found[{which}]:
    print(number + 1, lines[number][:300])"""
FROM = """lines = FILE_CONTENT.split("\\n")
start = [number for number, line in enumerate(lines) if {condition}][0]
print("\\n".join(lines[start:start + {count}]))"""
#: How a result of MCP is laid out, every model knows.
RESULT = 'import json\ntext = json.loads(FILE_CONTENT)["response"]["content"][0]["text"]\n'


async def program(agent: Agent, path: str, code: str) -> str:
    """What a program prints about a file."""
    said = await agent.call("ctx_execute_file", path=path, language="python", code=code)
    # The program is repeated before what it printed.
    return said.split("```")[-1]


async def grep(agent: Agent, path: str, *words: str, which: str = ":10") -> str:
    """The first lines of a file that hold all of some words, with their numbers."""
    condition = " and ".join(f'"{word}" in line' for word in words)
    return await program(agent, path, GREP.format(condition=condition, which=which))


async def lines_from(agent: Agent, path: str, word: str, count: int) -> str:
    """Lines from the first on that holds a word."""
    return await program(agent, path, FROM.format(condition=f'"{word}" in line', count=count))


async def failing_test(agent: Agent) -> None:
    found = await grep(agent, "runs/after.log", "FAILED")
    file, name = agent.find(r"FAILED (\S+) - ", found).split("::")
    place = agent.find(rf"{file}:(\d+):", await grep(agent, "runs/after.log", f"{file}:"))
    agent.answer(name, file, place, agent.find(r"FAILED \S+ - (.*)", found))


async def compare(agent: Agent) -> None:
    failed: list[str] = []
    for path in ("runs/after.log", "runs/before.log"):
        failed.append(agent.find(r"FAILED (\S+) - ", await grep(agent, path, "FAILED")))
    agent.answer(*failed)


async def field(agent: Agent) -> None:
    path = "results/list_jobs.json"
    code = (
        RESULT
        + 'for item in json.loads(text)["jobs"]:\n    if item["status"] == "failed": print(json.dumps(item))'
    )
    job = await program(agent, path, code)
    names = agent.find_all(r'"name": "([^"]+)"', job)
    agent.answer(*names, agent.find(r'"exit_code": (\d+)', job))


async def three_files(agent: Agent) -> None:
    test = await lines_from(agent, "tests/test_checkout.py", "def test_reduced_rate_abroad", 4)
    country, category = agent.find(r'\("(\w+)", Line', test), agent.find(r'Line\("\w+", "(\w+)"', test)
    helper = agent.find(r"total = (\w+)\(", test)
    paying = await lines_from(agent, "tests/test_checkout.py", f"def {helper}", 4)
    method = agent.find(r"\.(\w+)\(\)", paying)
    total = await lines_from(agent, "shop/checkout.py", f"def {method}", 10)
    adds = agent.find(r"sum\(\s+(\w+)\(", total)
    tax = await lines_from(agent, "shop/pricing.py", f"def {adds}", 4)
    looks = agent.find(r"return .*?(\w+)\(category", tax)
    entries = await grep(agent, "shop/rates.py", f'\\"{category}\\"', country)
    constant = agent.find(r": (\w+)", entries)
    value = await grep(agent, "shop/rates.py", f"{constant} =")
    agent.answer(adds, looks, constant, agent.find(rf"{constant} = (\S+)", value))


async def body(agent: Agent) -> None:
    found = await lines_from(agent, "shop/pricing.py", "def instalments", 6)
    agent.answer(agent.find(r"(def .*)", found), agent.find(r"return (.*)", found))


async def sanitizer(agent: Agent) -> None:
    path = "logs/th_asan_8904.log"
    kind = agent.find(r"ERROR: AddressSanitizer: (\S+)", await grep(agent, path, "AddressSanitizer"))
    found = await grep(agent, path, "toolkit/components", which=":3")
    file, line = agent.find(r"(toolkit/components/[^:\s]+:\d+)", found).split(":")
    agent.answer(kind, file, line)


async def error_among_names(agent: Agent) -> None:
    path = "logs/tp_django32_runner.log"
    name = agent.find(r"(?m)^\d+ ERROR: (\w+)", await grep(agent, path, "ERROR:"))
    frame = await grep(agent, path, f"in {name}")
    message = await grep(agent, path, "ValueError:")
    agent.answer(name, agent.find(rf"line (\d+), in {name}", frame), agent.find(r"(ValueError: .*)", message))


async def root_cause(agent: Agent) -> None:
    found = await grep(agent, "logs/pt_gha_error_log_4767.log", "Error:", which="-10:")
    kind, message = agent.find_all(r"Z (\w*Error: .*)", found)[-1].split(": ", 1)
    agent.answer(kind, message.split(",")[0])


async def one_cause(agent: Agent) -> None:
    path = "logs/tp_flask012_272_failures_one_cause.log"
    found = await grep(agent, path, "AttributeError", which=":4")
    file, line = agent.find(r"\d+ (\S+:\d+): AttributeError", found).split(":")
    agent.answer(agent.find(r"AttributeError: (.*?missing)", found), file, line)


async def build_errors(agent: Agent) -> None:
    found = await grep(agent, "logs/am_msbuild_11_errors.log", "error MSB", which=":3")
    agent.answer(agent.find(r"error (MSB\d+)", found), agent.find(r"targets\((\d+),\d+\): error", found))


async def tree(agent: Agent) -> None:
    path = "results/directory_tree.json"
    code = RESULT + 'start = text.find("\\"geoip2\\"")\nprint(text[start:start + 600])'
    directory = agent.find(r'(?s)"geoip2"(.*?)\]', await program(agent, path, code))
    agent.answer(*agent.find_all(r'"name": "([^"]+)"', directory)[1:])


async def commit(agent: Agent) -> None:
    path = "results/git_log.json"
    code = RESULT + 'start = text.find("Message: Release v2.1.0")\nprint(text[start - 200:start])'
    found = await program(agent, path, code)
    agent.answer(agent.find_all(r"Commit: (\w+)", found)[-1], agent.find_all(r"Date: (.*)", found)[-1])


async def method(agent: Agent) -> None:
    source = await lines_from(agent, "pep701_test_fstring.py", "def assertAllRaise", 6)
    lines = agent.find(r"(?s)(def .*?)\n\n", source)
    agent.answer(agent.find(r"(def .*)", lines), lines.rstrip().split("\n")[-1].strip())


async def cpp_method(agent: Agent) -> None:
    source = await lines_from(agent, "cpp_nlohmann_json.hpp", "unflatten() const", 5)
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
