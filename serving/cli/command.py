"""What one subcommand is made of."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from serving.cli.console import Console


class Exit(IntEnum):
    """What the process ends with. argparse ends it with 2 by itself where the line is wrong."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


@dataclass(frozen=True)
class Context:
    """What a command may use beside its arguments.

    Attributes:
        console: where results and notes go.
        environ: the environment of the process.
        cwd: the current directory.
    """

    console: Console
    environ: Mapping[str, str]
    cwd: str


@dataclass(frozen=True)
class Command:
    """One subcommand, told by the module that carries it out and listed in :mod:`serving.cli.parser`.

    Attributes:
        name: as typed.
        help: one line for the list of commands; lower case, no full stop.
        description: what it does, for ``--help`` and the reference; the first line is a sentence.
        examples: whole command lines.
        add_arguments: adds the arguments; ``--json`` and ``--verbose`` are there already.
        run: carries it out; returns the exit status; raises :class:`serving.ServingError`.
    """

    name: str
    help: str
    description: str
    examples: tuple[str, ...]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Context], int]


def add_globals(parser: argparse.ArgumentParser) -> None:
    """The options of every command, which stand before or after it."""
    group = parser.add_argument_group("before or after the command")
    unset = argparse.SUPPRESS  # what stands before the command must not be reset by its default after it
    group.add_argument("--json", action="store_true", default=unset, help="print one JSON object")
    group.add_argument("-v", "--verbose", action="store_true", default=unset, help="log to standard error")
