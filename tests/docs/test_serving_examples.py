"""The deployment files start commands that exist, with profiles that are shipped."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.cli.parser import parse
from serving.profile.load import load_profile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "serving"
HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "serve.md"
PROGRAM = "mcp-offload-serving"


def _lines() -> Iterator[tuple[str, list[str]]]:
    unit = (EXAMPLES / f"{PROGRAM}@.service").read_text()
    started = re.search(rf"^ExecStart=\S*/{PROGRAM} (.*)$", unit, re.MULTILINE)
    assert started
    yield "systemd", shlex.split(started[1].replace("%i", "0"))
    image = (EXAMPLES / "Dockerfile").read_text()
    comment = re.sub(r"\\\n# +", "", image.partition("\nFROM")[0])
    yield "docker", shlex.split(comment.rpartition(f" {PROGRAM} ")[2])
    manifest = (EXAMPLES / "kubernetes.yaml").read_text()
    block = re.search(r"^ +args:\n((?: +- .*\n)+)", manifest, re.MULTILINE)
    assert block
    yield "kubernetes", re.findall(r"- (\S+)", block[1])
    page = HOW_TO.read_text().replace("\\\n", " ")
    for number, line in enumerate(re.findall(rf"^{PROGRAM} ((?:up|check|gate) .*)$", page, re.MULTILINE)):
        yield f"how-to {number}", shlex.split(line)


LINES = dict(_lines())


@pytest.mark.parametrize("name", LINES)
def test_a_command_is_understood(name: str) -> None:
    args = parse(LINES[name])
    if args.command in {"up", "check"}:
        assert load_profile(args.profile).name == args.profile


def test_every_file_starts_up() -> None:
    assert {"systemd", "docker", "kubernetes"} <= {name for name, words in LINES.items() if words[0] == "up"}
