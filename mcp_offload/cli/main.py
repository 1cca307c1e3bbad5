"""One run of the command line, from its arguments to its exit status."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import NoReturn

from mcp_offload.cli.console import Console, OutputError
from mcp_offload.cli.parser import parse
from mcp_offload.cli.settings_from import build_settings
from mcp_offload.errors import OffloadError, UsageError
from mcp_offload.settings import Settings


class Exit(IntEnum):
    """What the process ends with. argparse ends it with 2 by itself where the line is wrong."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


def run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Carry out one command line; returns the exit status."""
    args = parse(argv)
    if args.command in ("hook", "capture"):
        from mcp_offload.cli.hook.front import run_front

        place = list(argv).index(args.command)  # global options may stand before it
        return run_front([args.command, *argv[place + 1 :], *argv[:place]], environ)
    console = Console(as_json=args.json)
    try:
        return _reported(args, environ, console)
    except BrokenPipeError:
        console.abandon()  # as in `mcp-offload read f1 | head`: not worth a word
        return Exit.DONE
    except OutputError as error:
        console.abandon()
        console.note(str(error))
        return Exit.FAILED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _reported(args: argparse.Namespace, environ: Mapping[str, str], console: Console) -> int:
    """Carry out a command and tell of its failure, if it fails on purpose."""
    try:
        status = _dispatch(args, environ, console)
    except OutputError:
        raise
    except OffloadError as error:
        console.fail(error, error_code(type(error)))
        status = Exit.USAGE if isinstance(error, UsageError) else Exit.FAILED
    console.flush()
    return status


def error_code(error: type[OffloadError]) -> str:
    """The stable name of an error in JSON: its class in snake case, as ``handle_not_found``."""
    name = error.__name__.removesuffix("Error")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _dispatch(args: argparse.Namespace, environ: Mapping[str, str], console: Console) -> int:
    if args.command == "completion":
        from mcp_offload.cli.completion import completion_script

        console.text(completion_script(args.shell))
        return Exit.DONE
    cwd = os.getcwd()
    settings = _with_options(build_settings(args, environ, cwd), args, environ, cwd)
    if args.verbose:
        _log_to_stderr()
    if args.command in ("serve", "wrap"):
        _serve(settings)
    if args.command in ("install", "uninstall", "status"):
        from mcp_offload.cli.registration import run_registration

        return Exit.DONE if run_registration(args, settings, environ, console) else Exit.FAILED
    if args.command == "lease":
        from mcp_offload.cli.lease import run_lease

        run_lease(args, settings, environ, console)
        return Exit.DONE
    if args.command in ("doctor", "demo"):
        return _examine(args.command, settings, console)
    if args.command == "run":
        from mcp_offload.cli.run import run_command

        return run_command(args, settings, console)
    from mcp_offload.cli.commands import carry_out

    carry_out(args, settings, console)
    return Exit.DONE


def _with_options(
    settings: Settings, args: argparse.Namespace, environ: Mapping[str, str], cwd: str
) -> Settings:
    """The settings with what a command has of its own; others' options are not even loaded."""
    if args.command == "serve":
        from mcp_offload.cli.serve_options import with_serve_options

        settings = with_serve_options(settings, args, cwd)
    if args.command in ("serve", "wrap"):
        from mcp_offload.cli.lease_options import with_lease

        settings = with_lease(settings, args, environ)
    if args.command in ("serve", "run"):
        from mcp_offload.cli.run_options import with_run_environment

        settings = with_run_environment(settings, args, environ)
    if args.command == "wrap":
        from mcp_offload.cli.wrap_options import with_wrap_options

        settings = with_wrap_options(settings, args, environ)
    return settings


def _serve(settings: Settings) -> NoReturn:
    """Serve, and end the process at once: clients kill a server that lingers, and the store is safe."""
    if settings.wrap is not None:
        from mcp_offload.wrap import serve_wrapped

        status = serve_wrapped(settings, settings.wrap)
    else:
        from mcp_offload.server import serve_http, serve_stdio

        status = serve_stdio(settings) if settings.http is None else serve_http(settings, settings.http)
    with suppress(AttributeError):  # None where the process was started without it
        sys.stderr.flush()
    os._exit(status)


def _examine(command: str, settings: Settings, console: Console) -> int:
    if command == "doctor":
        from mcp_offload.cli.doctor import run_doctor

        return Exit.DONE if run_doctor(settings, console) else Exit.FAILED
    from mcp_offload.cli.demo import run_demo

    def say(line: str) -> None:
        console.text(line)
        console.flush()  # it takes a minute, and somebody watches

    return Exit.DONE if run_demo(say) else Exit.FAILED


def _log_to_stderr() -> None:
    import logging

    logging.basicConfig(
        stream=sys.stderr, level=logging.DEBUG, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
