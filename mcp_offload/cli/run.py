"""``mcp-offload run``: stands in front of a command in any shell."""

from __future__ import annotations

import argparse
import os
import signal
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from mcp_offload.cli.console import Console
from mcp_offload.cli.progress import ConsoleMonitor
from mcp_offload.errors import OffloadError
from mcp_offload.models import Monitor, RunResult, SilentMonitor
from mcp_offload.service import OffloadService, open_service
from mcp_offload.service.jobs import Request
from mcp_offload.service.jsonable import to_json
from mcp_offload.service.render_run import notes_of, run_line, run_text
from mcp_offload.settings import Settings
from mcp_offload.wire.scrub import scrub_text

OWN_FAILURE: Final = 125
"""Source: timeout(1) and env(1) of GNU coreutils end with it where they fail and not the command."""

_STDIN: Final = 0


def run_command(args: argparse.Namespace, settings: Settings, console: Console) -> int:
    """Run a command, print its digest, and return its exit status as a shell tells it."""
    from mcp_offload.cli.main import error_code

    try:
        with open_service(settings) as service, ConsoleMonitor(console) as monitor:
            result = _run(args, service, SilentMonitor() if args.quiet else monitor)
            _show(result, service, console)
    except OffloadError as error:
        console.fail(error, error_code(type(error)))
        return OWN_FAILURE
    return OWN_FAILURE if result.exit_status is None else result.exit_status


def _run(args: argparse.Namespace, service: OffloadService, monitor: Monitor) -> RunResult:
    request = Request(
        argv=args.argv,
        shell=args.shell,
        name=args.name,
        timeout_seconds=args.timeout,
        max_output_bytes=args.max_output,
        max_memory_bytes=args.max_memory,
        stdin_fd=_readable_input(),
    )
    handle = service.runs.start(request)
    threading.Thread(target=service.runs.warm_up, name="warm-up", daemon=True).start()
    with _signals_passed_on(service, handle):
        service.runs.wait(handle, None, monitor)
    return service.runs.result(handle, SilentMonitor())


def _readable_input() -> int | None:
    """Standard input where something was piped or redirected into it; a terminal stays ours."""
    try:
        mode = os.fstat(_STDIN).st_mode
    except OSError:
        return None
    return None if stat.S_ISCHR(mode) and os.isatty(_STDIN) else _STDIN


@contextmanager
def _signals_passed_on(service: OffloadService, handle: str) -> Generator[None]:
    """Ctrl-C interrupts the command, then ends it; what ends us ends it first, and its output is kept."""
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        if interrupted:
            service.runs.cancel(handle)
        else:
            interrupted = True
            service.runs.interrupt(handle)

    def end(*_: object) -> None:
        service.runs.cancel(handle)

    handlers = {signal.SIGINT: interrupt, signal.SIGTERM: end, signal.SIGHUP: end}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(result: RunResult, service: OffloadService, console: Console) -> None:
    if console.as_json:
        console.json(to_json(result))
    elif result.output is None:
        console.text(scrub_text(run_text(result)))
    else:
        for is_stderr, data in service.runs.output(result.handle):
            console.flush()
            (console.raw_error if is_stderr else console.raw)(data)
        told = [run_line(result)] if result.ended_by else []
        for line in [*told, *notes_of(result)]:
            console.note(scrub_text(line))
