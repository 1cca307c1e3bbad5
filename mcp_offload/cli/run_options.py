"""The options of run, and what a command may see of the environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mcp_offload.settings import Settings

ALLOWED_VARIABLE: Final = "MCP_OFFLOAD_RUN_ENV"


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add them to the parser of run."""
    parser.add_argument("argv", metavar="CMD", nargs="+", help="the command and its arguments, after --")
    parser.add_argument("--name", help="display name; default: the command line")
    parser.add_argument(
        "--timeout", type=_positive, metavar="SECONDS", help="end it after so long; default: never"
    )
    parser.add_argument(
        "--max-output", type=int, metavar="BYTES", help="end it at so much output; default: 1 GiB"
    )
    parser.add_argument(
        "--max-memory", type=int, metavar="BYTES", help="end it at so much memory (Linux); default: never"
    )
    parser.add_argument("--shell", action="store_true", help="CMD is one line for /bin/sh")
    parser.add_argument(
        "--env",
        metavar="NAME",
        action="append",
        default=[],
        help="a variable it gets although it looks like a secret; repeatable, AWS_* for many",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def with_run_environment(
    settings: Settings, args: argparse.Namespace, environ: Mapping[str, str]
) -> Settings:
    """The settings with the variables that commands get, for what runs commands."""
    if args.command != "run":
        return settings
    from mcp_offload.capture.environment import scrub

    allowed = [*args.env, *filter(None, environ.get(ALLOWED_VARIABLE, "").split(","))]
    seen = scrub(environ, allowed)
    return replace(settings, run_environment=seen.variables, run_withheld=seen.withheld)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"must be a positive number: {text}")
    return number
