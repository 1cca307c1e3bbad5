"""A shell in a small git project, with a store of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SOURCE = '''"""Invoices."""


class Invoice:
    """What a customer owes."""

    def __init__(self, lines):
        self.lines = lines

    def total(self):
        """The sum of all lines."""
        return sum(line.amount for line in self.lines)


def parse(text):
    return Invoice(text.split())
'''


@dataclass
class Shell:
    """Runs the command line as its own process.

    Attributes:
        project: the git root that is the workspace.
        env: variables beside those of a bare environment.
    """

    project: Path
    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "mcp_offload", *args]

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        # Nothing of the tester's own settings may leak in.
        kept = {n: v for n, v in os.environ.items() if n in ("PATH", "LANG") or n.startswith("COVERAGE_")}
        own = {
            "HOME": str(self.home),
            "MCP_OFFLOAD_STORE": str(self.home / "store"),
            "MCP_OFFLOAD_STATE": str(self.home / "state"),
        }
        return {**kept, **own, **self.env, **(extra or {})}

    def run(
        self, *args: str, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*args),
            input=stdin,
            capture_output=True,
            cwd=cwd or self.project,
            env=self.environment(env),
            check=False,
            timeout=50,
        )

    def text(self, *args: str, stdin: bytes = b"", cwd: Path | None = None) -> str:
        """What a command that must succeed prints."""
        done = self.run(*args, stdin=stdin, cwd=cwd)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        return done.stdout.decode()

    def json(self, *args: str, stdin: bytes = b"", cwd: Path | None = None) -> dict[str, Any]:
        """The object that a command that must succeed prints."""
        output = self.text("--json", *args, stdin=stdin, cwd=cwd)
        assert output.count("\n") == 1
        value = json.loads(output)
        assert isinstance(value, dict)
        return value

    def fails(self, status: int, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """What a command that must fail with ``status`` says on standard error."""
        done = self.run(*args, stdin=stdin, env=env)
        assert done.returncode == status, (done.stdout, done.stderr)
        assert done.stdout == b""
        return done.stderr.decode()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    (project / "src" / "invoice.py").write_text(SOURCE)
    home.mkdir()
    return Shell(project, home)
