"""Completion scripts for shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, cast

import shtab

from mcp_offload.cli.parser import build_parser

_FILES: Final = frozenset({"source", "path", "handle", "handles", "before", "after"})
_DIRECTORIES: Final = frozenset({"store", "state", "roots_before", "roots_after"})


def completion_script(shell: str) -> str:
    """A script that completes commands, options, and files where a path or handle may stand."""
    parser = build_parser()
    # shtab reads an attribute that argparse's own type does not declare.
    for action in _actions(parser):
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.dest in _DIRECTORIES:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every action of a parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if action.dest == "command":
            children = cast("dict[str, argparse.ArgumentParser]", action.choices)
            for child in children.values():
                yield from _actions(child)
