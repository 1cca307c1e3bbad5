"""What can be typed: the commands, their arguments and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from serving import __version__
from serving.cli.audit import COMMAND as AUDIT
from serving.cli.bench import COMMAND as BENCH
from serving.cli.check import COMMAND as CHECK
from serving.cli.command import Command, add_globals
from serving.cli.connect import COMMAND as CONNECT
from serving.cli.forecast import COMMAND as FORECAST
from serving.cli.gate import COMMAND as GATE
from serving.cli.keys import COMMAND as KEYS
from serving.cli.metrics import COMMAND as METRICS
from serving.cli.modes import COMMAND as MODES
from serving.cli.plan import PLAN
from serving.cli.profile import PROFILE
from serving.cli.up import COMMAND as UP

COMMANDS: Final[tuple[Command, ...]] = (
    PLAN, PROFILE, UP, CHECK, GATE, KEYS, CONNECT, METRICS, MODES, BENCH, AUDIT, FORECAST,
)  # fmt: skip
"""Every subcommand, in the order of ``--help``. Their modules import what is heavy when they run."""

DESCRIPTION: Final = """Serve coding agents from one node with vLLM, bounded by what its KV cache holds.

Every figure that a command prints says whether it was computed, measured or assumed."""

EXAMPLES: Final = ("mcp-offload-serving plan qwen3.6-27b --gpu h100-sxm --gpus 2 --agents 50 --depth 18k",)

EXIT_STATUSES: Final = """exit status:
  0    done
  1    the request failed, or what was asked for does not fit or does not hold
  2    wrong usage, or a profile or model configuration that is not understood
  130  interrupted"""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; exits with status 2 where it is wrong and 0 for --help and --version.

    ``json`` and ``verbose`` are set in what is returned, wherever on the line they stood.
    """
    args = build_parser().parse_args(argv)
    for name in ("json", "verbose"):
        if not hasattr(args, name):
            setattr(args, name, False)
    return args


class _Parser(argparse.ArgumentParser):
    """An argument parser that keeps the line breaks of its texts and guesses no option names."""

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        # Options are passed through untouched; argparse itself refuses those it does not know.
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]


def build_parser() -> argparse.ArgumentParser:
    """The whole parser, also used to write the reference."""
    more = "mcp-offload-serving COMMAND --help tells more about each."
    parser = _Parser(
        prog="mcp-offload-serving",
        description=DESCRIPTION,
        epilog=f"{_shown(EXAMPLES)}\n\n{EXIT_STATUSES}\n\n{more}",
    )
    parser.add_argument("--version", action="version", version=f"mcp-offload-serving {__version__}")
    add_globals(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        added = commands.add_parser(
            command.name,
            help=command.help,
            description=command.description,
            epilog=_shown(command.examples),
        )
        command.add_arguments(added)
        add_globals(added)
    return parser


def _shown(examples: Sequence[str]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in examples)
