"""The commands that work on the store: one call of the service and one rendering each."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mcp_offload.cli.console import Console
from mcp_offload.cli.progress import ConsoleMonitor
from mcp_offload.cli.query_options import query_text
from mcp_offload.cli.source import read_text
from mcp_offload.models import ListResult, Monitor
from mcp_offload.service import OffloadService, open_service, render
from mcp_offload.service.jsonable import Json, reads_json, to_json
from mcp_offload.settings import Settings
from mcp_offload.wire.scrub import scrub_text

_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Run:
    """What a command works with."""

    args: argparse.Namespace
    settings: Settings
    console: Console
    service: OffloadService
    monitor: Monitor


@dataclass(frozen=True, slots=True)
class Reply:
    """A result in both forms; ``text`` is what the MCP tool of the same name answers."""

    text: str
    json: Json


def carry_out(args: argparse.Namespace, settings: Settings, console: Console) -> None:
    """Run one command on the store and print its result.

    Raises:
        OffloadError: the request failed; nothing was printed.
    """
    if args.command == "purge" and not _confirmed(args, settings, console):
        console.note("nothing was removed")
        return
    with open_service(settings) as service, ConsoleMonitor(console) as monitor:
        run = Run(args, settings, console, service, monitor)
        if args.command == "read" and args.raw:
            _print_raw(run)
            return
        reply = _COMMANDS[args.command](run)
    if console.as_json:
        console.json(reply.json)
    else:
        console.text(scrub_text(reply.text))


def _confirmed(args: argparse.Namespace, settings: Settings, console: Console) -> bool:
    if args.yes or not console.asks:
        return True
    what = f"every workspace of {settings.store_dir}" if args.all else settings.workspace
    console.note(f"remove everything stored for {what}? Type yes to go on.")
    return console.answer() == "yes"


def _print_raw(run: Run) -> None:
    for handle in run.args.handles:
        for chunk in run.service.stream(handle, monitor=run.monitor):
            run.console.raw(chunk)


def _store(run: Run) -> Reply:
    args = run.args
    source = None if args.source == "-" else args.source
    result = run.service.store(
        source,
        content=run.console.chunks() if source is None else None,
        name=args.name,
        kind=args.kind,
        language=args.language,
        monitor=run.monitor,
    )
    return Reply(render.store_text(result), to_json(result))


def _outline(run: Run) -> Reply:
    result = run.service.outline(run.args.handle, max_tokens=run.args.max_tokens, monitor=run.monitor)
    return Reply(render.outline_text(result), to_json(result))


def _read(run: Run) -> Reply:
    results = run.service.read(run.args.handles, max_tokens=run.args.max_tokens, monitor=run.monitor)
    return Reply(render.read_text(results), reads_json(results))


def _query(run: Run) -> Reply:
    args = run.args
    handle = f"{args.handle}#?{query_text(args)}"
    results = run.service.read([handle], max_tokens=args.max_tokens, monitor=run.monitor)
    if results[0].note is not None and not run.console.as_json:
        run.console.note(results[0].note)
    return Reply(results[0].text, reads_json(results))


def _search(run: Run) -> Reply:
    args = run.args
    if args.symbols:
        found = run.service.find_symbols(
            args.pattern, args.handles, max_tokens=args.max_tokens, monitor=run.monitor
        )
        return Reply(render.symbols_text(found), to_json(found))
    result = run.service.search(
        args.pattern,
        args.handles,
        literal=args.literal,
        ignore_case=args.ignore_case,
        limit=args.limit or None,
        max_tokens=args.max_tokens,
        monitor=run.monitor,
    )
    return Reply(render.search_text(result), to_json(result))


def _diff(run: Run) -> Reply:
    args = run.args
    result = run.service.diff(args.before, args.after, max_tokens=args.max_tokens, monitor=run.monitor)
    return Reply(render.diff_text(result), to_json(result))


def _edit(run: Run) -> Reply:
    args = run.args
    text = read_text(args.source, run.settings, run.console)
    result = run.service.edit(args.handle, text, op=args.op, write=not args.no_write, monitor=run.monitor)
    return Reply(render.edit_text(result), to_json(result))


def _export(run: Run) -> Reply:
    args = run.args
    result = run.service.export(args.handle, args.path, overwrite=args.force, monitor=run.monitor)
    return Reply(render.export_text(result), to_json(result))


def _list(run: Run) -> Reply:
    args = run.args
    found: ListResult | None = None
    while found is None or len(found.artifacts) < (args.limit or found.total):
        have = len(found.artifacts) if found else 0
        limit = min(_PAGE, args.limit - have) if args.limit else _PAGE
        page = run.service.list_artifacts(name=args.name, kind=args.kind, limit=limit, offset=have)
        found = page if found is None else replace(page, artifacts=found.artifacts + page.artifacts)
        if not page.artifacts:
            break
    return Reply(render.list_text(found), to_json(found))


def _release(run: Run) -> Reply:
    result = run.service.release(run.args.handles)
    return Reply(render.release_text(result, "released"), to_json(result))


def _pin(run: Run) -> Reply:
    pinned = run.args.command == "pin"
    result = run.service.pin(run.args.handles, pinned=pinned)
    return Reply(render.release_text(result, "pinned" if pinned else "unpinned"), to_json(result))


def _purge(run: Run) -> Reply:
    result = run.service.purge(everything=run.args.all)
    return Reply(render.release_text(result, "purged"), to_json(result))


def _gc(run: Run) -> Reply:
    result = run.service.gc()
    return Reply(render.gc_text(result), to_json(result))


def _stats(run: Run) -> Reply:
    result = run.service.stats()
    return Reply(render.stats_text(result), to_json(result))


_COMMANDS: Final[Mapping[str, Callable[[Run], Reply]]] = {
    "store": _store,
    "outline": _outline,
    "read": _read,
    "query": _query,
    "search": _search,
    "diff": _diff,
    "edit": _edit,
    "export": _export,
    "list": _list,
    "release": _release,
    "pin": _pin,
    "unpin": _pin,
    "purge": _purge,
    "gc": _gc,
    "stats": _stats,
}
