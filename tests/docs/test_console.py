"""The console sessions of the documentation, run as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if _BLOCK.search(page.read_text("utf-8"))
]


def sessions(page: Path) -> list[tuple[str, str]]:
    """Pairs of command and expected output, in the order of the page; ``> `` continues a command."""
    steps: list[tuple[str, str]] = []
    for block in _BLOCK.findall(page.read_text("utf-8")):
        command: list[str] = []
        output: list[str] = []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    steps.append(("\n".join(command), "\n".join(output)))
                command, output = [line[2:]], []
            elif command and not output and re.match(r">( |$)", line):
                command.append(line[2:])
            else:
                output.append(line)
        steps.append(("\n".join(command), "\n".join(output)))
    return steps


def shown(expected: str) -> re.Pattern[str]:
    """The expected output as a pattern; ``...`` stands for any text in a line, alone on one for any lines."""
    parts = [
        ".*" if line == "..." else re.escape(line).replace(r"\.\.\.", "[^\n]*")
        for line in expected.split("\n")
    ]
    return re.compile("\n".join(parts), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "MCP_OFFLOAD_STORE": str(tmp_path / "store"),
        "MCP_OFFLOAD_STATE": str(tmp_path / "state"),
        "LC_ALL": "C.UTF-8",
    }
    for command, expected in sessions(page):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=50,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert shown(expected).fullmatch(done.stdout.rstrip("\n")), f"$ {command}\n{done.stdout}"
