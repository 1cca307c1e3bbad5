"""Whose process it is, as far as the processes above it tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_offload.cli import identity

ROOT = Path(__file__).resolve().parents[3]
PRINT = "from mcp_offload.cli.identity import client_process; print(client_process())"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart on Linux"),
]


def named(*argv: str) -> str:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def test_children_of_one_process_name_it_alike_with_or_without_a_shell_between() -> None:
    plain = named(sys.executable, "-c", PRINT)
    wrapped = named("/bin/sh", "-c", f'"{sys.executable}" -c "{PRINT}"; true')
    assert plain == wrapped
    assert plain.startswith("process:")
    assert plain != identity.client_process()


def test_a_hook_finds_its_client_among_the_processes_above_it() -> None:
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PRINT!r}])"
    servers = named(sys.executable, "-c", PRINT)
    above = "from mcp_offload.cli.identity import client_processes as c; print('\\n'.join(c()))"
    hook = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {above!r}])"
    assert servers in named(sys.executable, "-c", hook).split("\n")
    assert named(sys.executable, "-c", script) != servers


@pytest.mark.parametrize(
    ("environ", "headless"),
    [({"CI": "1"}, True), ({"CI": "true", "DISPLAY": ":0"}, True), ({"CI": "false", "DISPLAY": ":0"}, False)],
)
def test_continuous_integration_has_nobody_in_front_of_it(environ: dict[str, str], headless: bool) -> None:
    assert identity.is_headless(environ) is headless
