"""The commands that work on the store: one call of the service and one rendering each."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_offload.cli.console import Console
from mcp_offload.cli.progress import ConsoleMonitor
from mcp_offload.errors import InvalidArgumentError
from mcp_offload.models import Kind, Monitor
from mcp_offload.paths import Roots
from mcp_offload.service import OffloadService, Result, open_service
from mcp_offload.service.jsonable import jsonable
from mcp_offload.service.render import render
from mcp_offload.settings import Settings

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Run:
    """What a command works with."""

    args: argparse.Namespace
    settings: Settings
    console: Console
    service: OffloadService
    monitor: Monitor


def carry_out(args: argparse.Namespace, settings: Settings, console: Console) -> None:
    """Run one command on the store and print its result.

    Raises:
        OffloadError: the request failed; nothing was printed.
    """
    if args.command == "purge" and not _confirmed(args, settings, console):
        raise InvalidArgumentError("Nothing was removed.")
    with open_service(settings) as service, ConsoleMonitor(console) as monitor:
        run = Run(args, settings, console, service, monitor)
        if args.command == "read" and args.raw:
            for chunk in _raw(run):
                console.raw(chunk)
            return
        result = _result(run)
    if console.as_json:
        console.json(jsonable(result))
    else:
        console.text(render(result))


def _result(run: Run) -> Result:
    match run.args.command:
        case "store":
            return _store(run)
        case "outline" | "read" | "search" | "diff":
            return _reading(run)
        case "edit" | "export":
            return _changing(run)
        case _:
            return _keeping(run)
