from __future__ import annotations

import argparse
import shlex

import pytest

from mcp_offload.cli.completion import completion_script
from mcp_offload.cli.examples import DESCRIPTIONS, EXAMPLES
from mcp_offload.cli.parser import SHELLS, build_parser, parse

COMMANDS = sorted(name for name in DESCRIPTIONS if name)


def _subparsers() -> dict[str, argparse.ArgumentParser]:
    found = [action for action in build_parser()._actions if action.dest == "command"]
    return dict(found[0].choices)  # type: ignore[arg-type]


def test_every_command_has_a_description_and_examples() -> None:
    assert sorted(_subparsers()) == COMMANDS
    assert sorted(name for name in EXAMPLES if name) == COMMANDS


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_shows_the_examples(command: str) -> None:
    text = _subparsers()[command].format_help() if command else build_parser().format_help()
    assert "examples:\n" in text
    assert all(example in text for example in EXAMPLES[command])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_parses(command: str) -> None:
    for example in EXAMPLES[command]:
        words = shlex.split(example.rpartition("| ")[2], comments=True)
        line = words[words.index("mcp-offload") + 1 :]
        for mark in (">", "<"):
            line = line[: line.index(mark)] if mark in line else line
        assert parse(line).command == command, example


def test_global_options_stand_before_and_after_the_command() -> None:
    before = parse(["--store", "/s", "--json", "-v", "--workspace", "w", "list"])
    after = parse(["list", "--store", "/s", "--json", "-v", "--workspace", "w"])
    for args in (before, after):
        assert (args.store, args.json, args.verbose, args.workspace) == ("/s", True, True, "w")
    unset = parse(["list"])
    assert (unset.store, unset.json, unset.verbose, unset.workspace) == (None, False, False, None)
    assert unset.root == []


def test_the_later_of_two_values_counts() -> None:
    assert parse(["--store", "/a", "list", "--store", "/b"]).store == "/b"


def test_edits_replace_unless_told_otherwise() -> None:
    assert parse(["edit", "f1#L1"]).op == "replace"
    assert parse(["edit", "f1#L1", "--before"]).op == "before"
    assert parse(["edit", "f1#L1", "--after"]).op == "after"


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["nonsense"],
        ["read"],
        ["edit", "f1", "--before", "--after"],
        ["read", "f1", "--max-tokens", "-1"],
        ["read", "f1", "--max-tokens", "many"],
        ["store", "x", "--kind", "picture"],
        ["list", "--stor", "/s"],
    ],
)
def test_a_wrong_line_ends_with_status_2(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(line)
    assert caught.value.code == 2
    assert "usage: mcp-offload" in capsys.readouterr().err


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command(shell: str) -> None:
    script = completion_script(shell)
    assert [command for command in COMMANDS if command not in script] == []
