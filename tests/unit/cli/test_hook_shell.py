"""Which command lines go through a pipe, and which are left alone."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_offload.cli.hook.commands import prints_logs
from mcp_offload.cli.hook.shell import last_command, name_of, noisy, piped

THROUGH = ["/opt/py", "-P", "-m", "mcp_offload", "capture"]
END = "| /opt/py -P -m mcp_offload capture --name"


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("pytest", f"set -o pipefail; pytest 2>&1 {END} pytest"),
        ("  pytest -q tests/ ", f"set -o pipefail; pytest -q tests/ 2>&1 {END} 'pytest -q tests/'"),
        ("cd web && npm test", f"set -o pipefail; cd web && npm test 2>&1 {END} 'npm test'"),
        ("pytest 2>&1", f"set -o pipefail; pytest 2>&1 {END} pytest"),
        ("echo 'a|b'; make", f"set -o pipefail; echo 'a|b'; make 2>&1 {END} make"),
        ("pytest -k 'a and b'", f"set -o pipefail; pytest -k 'a and b' 2>&1 {END} pytest"),
        ("KEY=hunter2 make all", f"set -o pipefail; KEY=hunter2 make all 2>&1 {END} 'make all'"),
    ],
)
def test_the_last_command_goes_through_a_pipe(line: str, rewritten: str) -> None:
    assert piped(line, THROUGH, merge_errors=True) == rewritten


def test_errors_are_merged_on_demand_alone() -> None:
    assert piped("make", THROUGH, merge_errors=False) == f"set -o pipefail; make {END} make"
    assert piped("make 2>&1", THROUGH, merge_errors=False) is None


@pytest.mark.parametrize(
    "line",
    [
        "pytest | tail -5",
        "pytest > log",
        "pytest < input",
        "pytest &",
        "pytest & wait",
        "(cd x && pytest)",
        "{ pytest; }",
        "if true; then make; fi",
        "for i in 1 2; do make; done",
        "make $(nproc)",
        "make `nproc`",
        "make <<EOF\nx\nEOF",
        "make\npytest",
        "make # all of it",
        "make 'unended",
        "make;",
        "make &&",
        "make \\",
        "exec make",
        "! make",
        "",
        "   ",
        ";",
        "cat shop.py",
        "git diff",
        "make && cat log",
        "pytest --version",
        "npm run dev",
        "npm start",
        "jest --watch",
        "python -m http.server",
        "cargo run",
        "echo pytest",
    ],
)
def test_everything_else_is_left_alone(line: str) -> None:
    assert piped(line, THROUGH, merge_errors=True) is None


@pytest.mark.parametrize(
    "line",
    [
        "python -m pytest -x",
        "python3.12 -m unittest discover",
        "uv run pytest -q",
        "poetry run pytest",
        "timeout 60 ./gradlew build",
        "env -i PATH=/bin make",
        "FOO=1 BAR=2 nice tox",
        "./configure --prefix=/usr",
        "/usr/bin/make",
        "npm run test:unit",
        "pnpm exec vitest run",
        "yarn build",
        "go test ./...",
        "cargo +nightly test",
        "docker build .",
        "pip3 install -r requirements.txt",
        "bundle exec rspec",
        "cmake --build build",
    ],
)
def test_builds_and_tests_are_known_behind_their_wrappers(line: str) -> None:
    assert prints_logs(shlex.split(line)), line


def test_a_name_holds_no_variable_and_no_odd_sign() -> None:
    assert name_of(["TOKEN=x", "uv", "run", "pytest", "-q"]) == "uv run pytest -q"
    assert name_of(["make", "CFLAGS='-O2 $X'"]) == "make"
    assert name_of(["pytest", "x" * 80]) == "pytest"


@given(st.text(alphabet="ab '\"\\;&|<>(){}$`#\n!*?~=-", max_size=30))
def test_no_line_makes_it_fail(line: str) -> None:
    piped(line + "make", THROUGH, merge_errors=True)
    noisy(line)
    last_command(line)


WORDS = st.sampled_from(["a", "b c", "x=1", "-n", "'", '"', "$HOME", "*", "\\", "~", "é"])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=3), st.sampled_from(["&&", ";", "||"]))
def test_a_shell_runs_the_rewritten_line_as_the_line(commands: list[list[str]], joined: str) -> None:
    """What is printed and the status stay what they are; the pipe's end is one that changes nothing."""
    line = f" {joined} ".join([*(shlex.join(["echo", *words]) for words in commands), "make a b"])
    rewritten = piped(line, ["cat", "/dev/stdin", "#"], merge_errors=True)
    assert rewritten is not None
    make = 'make() { echo made "$@"; echo bad >&2; return 3; }\n'
    rewritten = rewritten.replace("'#'", "#")
    results = [
        subprocess.run(
            ["bash", "-c", make + text],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": os.defpath, "HOME": "/nowhere"},
            timeout=20,
            check=False,
        )
        for text in (line, rewritten)
    ]
    assert results[0].stdout == results[1].stdout
    assert results[0].returncode == results[1].returncode
