"""One run of the command line, from its arguments to its exit status."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from serving.cli.command import Context, Exit
from serving.cli.console import Console
from serving.cli.parser import COMMANDS, parse
from serving.errors import DoesNotFitError, ServingError, ServingUsageError


def run(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Carry out one command line; returns the exit status."""
    args = parse(argv)
    if args.verbose:
        _log_to_stderr()
    console = Console(as_json=args.json)
    command = next(command for command in COMMANDS if command.name == args.command)
    try:
        status = command.run(args, Context(console, environ, os.getcwd()))
        console.flush()
    except BrokenPipeError:
        console.abandon()  # as in `mcp-offload-serving plan ... | head`: not worth a word
        return Exit.DONE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except ServingError as error:
        report(error, console)
        return Exit.USAGE if isinstance(error, ServingUsageError) else Exit.FAILED
    return status


def report(error: ServingError, console: Console) -> None:
    """Tell why a request failed: on standard error, or for ``--json`` as an object on standard output."""
    alternatives = error.alternatives if isinstance(error, DoesNotFitError) else ()
    if console.as_json:
        told: dict[str, object] = {"type": error_code(type(error)), "message": str(error)}
        if alternatives:
            told["alternatives"] = list(alternatives)
        console.json({"error": told})
        console.flush()
        return
    console.note(str(error))
    for alternative in alternatives:
        console.note(f"would fit: {alternative}")


def error_code(error: type[ServingError]) -> str:
    """The stable name of an error in JSON: its class in snake case, as ``does_not_fit``."""
    name = error.__name__.removesuffix("Error")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _log_to_stderr() -> None:
    import logging

    logging.basicConfig(
        stream=sys.stderr, level=logging.DEBUG, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
