"""The examples, each run by the real framework in an environment of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest
from uv import find_uv_bin

from tests.clients.conftest import Record
from tests.clients.environments import EXAMPLES, ROOT, Environment, example

LOG = Path(__file__).parent / "data" / "receipt.log"
TOOLS = {
    "store_artifact",
    "outline_handle",
    "read_handle",
    "search_handles",
    "edit_handle",
    "diff_handles",
    "export_handle",
}
WRONG = "No t999 in this workspace. Use a path, or the handle that storing it printed."
CALLS = 4
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOBODY = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Framework:
    """What is particular about one.

    Attributes:
        title: the name that users know.
        package: the distribution whose version counts.
        per_call: it starts a server to list the tools and one for each call.
        frame: what stands around a result in what a model is shown; ``{}`` is the text.
        error_frame: likewise of an error.
    """

    title: str
    package: str
    per_call: bool = False
    frame: str = "{}"
    error_frame: str = "{}"


FRAMEWORKS = {
    "mcp-sdk": Framework("MCP Python SDK", "mcp"),
    "openai-agents": Framework("OpenAI Agents SDK", "openai-agents"),
    "pydantic-ai": Framework("Pydantic AI", "pydantic-ai-slim", error_frame='{{"error":"{}"}}'),
    "langchain": Framework("LangChain", "langchain"),
    "langchain-mcp-adapters": Framework("langchain-mcp-adapters", "langchain-mcp-adapters", per_call=True),
    "google-adk": Framework("Google ADK", "google-adk"),
    "llama-index": Framework("LlamaIndex", "llama-index-tools-mcp", per_call=True),
    "crewai": Framework("CrewAI", "crewai"),
    "autogen": Framework("AutoGen", "autogen-ext"),
    "agent-framework": Framework(
        "Microsoft Agent Framework",
        "agent-framework-core",
        error_frame="Error: Function failed. Exception: {}",
    ),
    "strands": Framework("Strands Agents", "strands-agents"),
    "smolagents": Framework(
        "smolagents", "smolagents", frame="Observation:\n{}", error_frame="Observation:\n{}"
    ),
}
CASES = [
    pytest.param(name, marks=pytest.mark.process if name == "mcp-sdk" else pytest.mark.clients)
    for name in FRAMEWORKS
]


@dataclass(frozen=True)
class Place:
    """A project with a log, and a server that tells what becomes of it.

    Attributes:
        folder: holds all of it.
    """

    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "project" / LOG.name

    @property
    def options(self) -> list[str]:
        return ["--store", str(self.folder / "store"), "--state", str(self.folder / "state")]

    def build(self) -> None:
        """Put the log into a project, and ``mcp-offload`` on a path of its own.

        It is a script that notes its process and what it is sent; the server itself runs unchanged.
        """
        for name in ("project", "project/.git", "bin", "home", "pids", "wire"):
            (self.folder / name).mkdir()
        shutil.copyfile(LOG, self.log)
        program = self.folder / "bin" / "mcp-offload"
        server = shlex.join([sys.executable, "-m", "mcp_offload"])
        note = f'echo >{shlex.quote(str(self.folder / "pids"))}/$$; exec "$@"'
        program.write_text(
            f"#!/bin/sh\ntee {shlex.quote(str(self.folder / 'wire'))}/$$ |\n"
            f'sh -c {shlex.quote(note)} - {server} "$@" {shlex.join(self.options)}\n'
        )
        program.chmod(0o755)

    def run(self, python: Path, program: Path) -> subprocess.CompletedProcess[str]:
        """Run a program on the log, with nothing of the caller's environment and no network."""
        return subprocess.run(
            [str(python), "-X", "utf8", str(program), str(self.log)],
            cwd=self.folder,
            env={
                "PATH": os.pathsep.join([str(self.folder / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
                "HOME": str(self.folder / "home"),
                "PYTHONPATH": str(EXAMPLES),
                "PYTHONDONTWRITEBYTECODE": "1",
                "LC_ALL": "C.UTF-8",
                "NO_COLOR": "1",
                "http_proxy": NOBODY,
                "https_proxy": NOBODY,
                "CREWAI_DISABLE_TELEMETRY": "true",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=500,
            check=False,
        )

    def servers(self) -> list[int]:
        """The process of each server that was started."""
        return [int(path.name) for path in (self.folder / "pids").iterdir()]

    def alive(self) -> list[psutil.Process]:
        """The servers that do not end although nobody talks to them any more."""
        found: list[psutil.Process] = []
        for pid in self.servers():
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
        return psutil.wait_procs(found, timeout=30)[1]

    def wire(self) -> list[dict[str, object]]:
        """Every message that any server was sent."""
        files = (self.folder / "wire").iterdir()
        return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]

    def command(self, *arguments: str) -> str:
        """What the command line says of the same store."""
        done = subprocess.run(
            [sys.executable, "-m", "mcp_offload", *arguments, *self.options],
            cwd=self.log.parent,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=True,
        )
        return done.stdout


def tools(output: str) -> list[str]:
    """The tools that a model was offered."""
    (line,) = re.findall(r"^tools: (.*)$", output, re.MULTILINE)
    return line.split()


def results(output: str) -> list[str]:
    """What a model was shown after each call."""
    _, *parts = re.split(r"^call .*\n", output, flags=re.MULTILINE)
    answer = "The first failure is the one above."
    assert parts and parts[-1].rstrip().endswith(answer), output
    parts[-1] = parts[-1].rstrip().removesuffix(answer)
    return [part.removesuffix("\n") for part in parts]


def revision(wire: list[dict[str, object]]) -> str:
    """The revision of the protocol that tool calls were made in."""
    asked = set()
    for message in wire:
        params = message.get("params")
        if not isinstance(params, dict):
            continue
        if message.get("method") == "initialize":
            asked.add(params["protocolVersion"])
        elif message.get("method") == "tools/call" and "_meta" in params:
            asked.add(params["_meta"].get("io.modelcontextprotocol/protocolVersion"))
    (found,) = asked - {None}
    return str(found)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CASES)
def test_a_framework_stores_a_log_and_reads_a_failure(
    name: str, tmp_path: Path, environments: dict[str, Future[Environment]], record: Record
) -> None:
    framework = FRAMEWORKS[name]
    if name in environments:
        environment = environments[name].result()
        python, told = environment.python, environment.version(framework.package)
    else:
        python, told = Path(sys.executable), version(framework.package)
    place = Place(tmp_path)
    place.build()

    done = place.run(python, example(name))

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert set(tools(done.stdout)) == TOOLS
    stored, outline, error, block = results(done.stdout)
    lines = LOG.read_text(encoding="utf-8").split("\n")
    assert "t1 receipt.log 242L 9.6 kB 4,219t\nfailed | pytest 9.2.0 | 1 passed, 2 failed" in stored
    assert "\nt1#!1 test_receipt.py::test_long test_receipt.py failed L10-230\n" in outline
    assert error == framework.error_frame.format(WRONG)
    expected = "\n".join(["t1#!1 L10-230 4039t receipt.log", *lines[9:230]])
    assert block == framework.frame.format(expected.rstrip("\n"))

    place.command("export", "t1", "again.log")
    assert (place.log.parent / "again.log").read_bytes() == LOG.read_bytes()

    assert len(place.servers()) == (1 + CALLS if framework.per_call else 1)
    assert not place.alive()

    what = "listed the tools, stored a log, was told of a wrong handle, read a failure"
    record(framework.title, told, what, kind="framework", protocol=revision(place.wire()))


def repr_of_a_result(text: str) -> str:
    """What LlamaIndex makes of a result by itself."""
    return f"meta=None content=[TextContent(type='text', text={text!r}, annotations=None, meta=None)]"


@pytest.mark.clients
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "servers", "frame"),
    [
        ("langchain-mcp-adapters", 1, str),
        ("llama-index", 1, repr_of_a_result),
        ("crewai", 1 + CALLS, str),
        ("smolagents", 1, "Observation:\nExecution logs:\n{}".format),
    ],
)
def test_the_other_way_that_a_page_shows_works(
    name: str,
    servers: int,
    frame: Callable[[str], str],
    tmp_path: Path,
    environments: dict[str, Future[Environment]],
) -> None:
    page = (ROOT / "docs" / "how-to" / "frameworks" / f"{name}.md").read_text(encoding="utf-8")
    _, other = _BLOCK.findall(page)
    program = tmp_path / "other.py"
    program.write_text(other, encoding="utf-8")
    place = Place(tmp_path)
    place.build()

    done = place.run(environments[name].result().python, program)

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    _, _, error, block = results(done.stdout)
    assert error.startswith(frame(WRONG))
    lines = LOG.read_text(encoding="utf-8").split("\n")
    expected = "\n".join(["t1#!1 L10-230 4039t receipt.log", *lines[9:230]])
    assert block.startswith(frame(expected.rstrip("\n")))
    assert len(place.servers()) == servers
    assert not place.alive()


@pytest.mark.clients
@pytest.mark.timeout(600)
def test_an_example_says_itself_what_it_needs(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.build()
    command = [find_uv_bin(), "run", "--no-project", "--python", sys.executable, str(example("mcp-sdk"))]
    done = subprocess.run(
        [*command, str(place.log)],
        cwd=tmp_path,
        env={**os.environ, "PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "test_receipt.py::test_long" in results(done.stdout)[0]
