"""A home, a project and a scripted model for one client; and the command line on the same store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.clients.agents import Agent, converse
from tests.clients.model import ModelServer, Step, Turn
from tests.clients.node import NodeEnvironment

BIN: Final = Path(sys.executable).parent
CASES: Final = 300
SECONDS: Final = 60

TESTS: Final = f"""
import pytest

from shop import total


@pytest.mark.parametrize("number", range({CASES}))
def test_an_order_of_one_item_costs_what_the_item_costs(number):
    assert total([number]) == number


def test_an_order_of_nothing_costs_nothing():
    assert total([]) == 0
"""
SOURCE: Final = '''
def total(prices):
    """What an order costs; one that holds nothing has a fee."""
    return sum(prices) if prices else 5
'''
MAKEFILE: Final = "all:\n\ttouch made\n\tseq 100000\n"


@dataclass(frozen=True)
class Rig:
    """Where one client works.

    Attributes:
        outside: a directory that no sandbox leaves writable; it holds the store.
    """

    agent: Agent
    node: NodeEnvironment
    model: ModelServer
    home: Path
    project: Path
    outside: Path

    def offload(self, *words: str) -> str:
        """What our own command line prints in the project, with the store that the client's server has."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "mcp_offload", *self.options, *words],
            cwd=self.project,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def options(self) -> list[str]:
        """Where the store is."""
        return ["--store", str(self.outside / "store"), "--state", str(self.outside / "state")]

    def install(self, *more: str) -> str:
        """Register the server with the client, as a user would."""
        return self.offload("install", self.agent.id, *more)

    def variables(self) -> dict[str, str]:
        """The client's environment, in which pytest is found and claude, codex and the like are not."""
        given = self.agent.environment(self.node, self.home, self.model.url)
        return {**given, "PATH": os.pathsep.join([str(BIN), given["PATH"]])}

    def converse(self, script: Sequence[Step], *, careful: bool = False) -> list[Turn]:
        """Run one conversation; returns the turns in which the model had tools.

        Every step must have been taken: a client that does not offer a tool fails here.
        """
        if self.agent.id == "codex":
            self._have_codex_wait()
        self.model.script = list(script)
        before = len(self.model.turns)
        line = self.agent.line(self.node, "go on", careful=careful)
        done = converse(line, self.variables(), self.project)
        said = f"{done.stdout[-2000:]}{done.stderr[-3000:]}"
        turns = [turn for turn in self.model.turns[before:] if turn.tools]
        assert turns, said
        assert turns[-1].steps == len(script), (turns[-1].calls, said)
        return turns

    def _have_codex_wait(self) -> None:
        """By itself it leaves out tools of servers that take over a second to start, as on a busy machine."""
        config = self.home / ".codex" / "config.toml"
        head = "[mcp_servers.offload]\n"
        text = config.read_text()
        if "required" not in text:
            config.write_text(text.replace(head, f"{head}required = true\n"))

    def shell(self, command: str) -> Step:
        """A call of the client's own shell."""
        return Step(self.agent.shell, self.agent.command(command))


@contextmanager
def open_rig(agent: Agent, node: NodeEnvironment, place: Path) -> Iterator[Rig]:
    """A rig below ``place``, with a project whose tests print a log of over 20,000 characters."""
    home, project = place / "home", place / "project"
    home.mkdir()
    (home / ".profile").write_text(f'PATH="{BIN}:$PATH"\n')  # some clients start a login shell
    _make_project(project)
    outside = Path(tempfile.mkdtemp(prefix="mcp-offload-test-", dir="/var/tmp"))
    try:
        with ModelServer() as model:
            agent.settings(home, model.url)
            yield Rig(agent, node, model, home, project, outside)
    finally:
        shutil.rmtree(outside)


def _make_project(project: Path) -> None:
    (project / "tests").mkdir(parents=True)
    (project / "shop.py").write_text(SOURCE)
    (project / "tests" / "test_shop.py").write_text(TESTS)
    (project / "Makefile").write_text(MAKEFILE)
    (project / "pytest.ini").write_text("[pytest]\naddopts = -v -p no:cacheprovider\npythonpath = .\n")
    for words in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *words], cwd=project, check=True, timeout=SECONDS)
