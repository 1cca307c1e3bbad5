"""The options of run, and what a command may see of the environment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mcp_offload.errors import SettingsError
from mcp_offload.settings import Settings

VARIABLES_SEEN: Final = "MCP_OFFLOAD_RUN_ENV"
COMMANDS_ALLOWED: Final = "MCP_OFFLOAD_ALLOW_RUN"


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


def add_allow_run(parser: argparse.ArgumentParser) -> None:
    """Add to the parser of serve which commands clients may run."""
    parser.add_argument(
        "--allow-run",
        metavar="PATTERN",
        action="append",
        default=[],
        help="let clients run a command (pytest), those of a directory (bin/) or any (*); repeatable",
    )


def with_run_environment(
    settings: Settings, args: argparse.Namespace, environ: Mapping[str, str]
) -> Settings:
    """The settings with the variables that commands get, for what runs commands; and which a server runs.

    Raises:
        SettingsError: commands are allowed to everybody who reaches a port.
    """
    allow = ()
    if args.command == "serve":
        allow = (*args.allow_run, *_listed(environ.get(COMMANDS_ALLOWED)))
        if allow and settings.http is not None:
            raise SettingsError("Commands are run for the one client of a server on stdio, not over HTTP.")
    if args.command != "run" and not allow:
        return settings
    from mcp_offload.capture.environment import scrub

    seen = scrub(environ, [*getattr(args, "env", ()), *_listed(environ.get(VARIABLES_SEEN))])
    return replace(settings, run_allow=allow, run_environment=seen.variables, run_withheld=seen.withheld)


def _listed(variable: str | None) -> tuple[str, ...]:
    return tuple(part for part in (variable or "").split(",") if part)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"must be a positive number: {text}")
    return number
