"""``mcp-offload install``, ``uninstall`` and ``status``: the server in the configuration of agent clients."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final

from mcp_offload.cli.console import Console
from mcp_offload.errors import OffloadError
from mcp_offload.install import (
    CLIENTS,
    VARIABLES,
    Client,
    ClientStatus,
    Installer,
    Launch,
    Outcome,
    Places,
    Records,
    Registration,
    Scope,
    check_scope,
    client_named,
    launch,
    snippet,
    status,
)
from mcp_offload.install.model import System
from mcp_offload.install.wrapping import Wrapper, joined
from mcp_offload.paths.workspace import resolve_workspace
from mcp_offload.settings import Settings

_SYSTEMS: Final[Mapping[str, System]] = {"darwin": "macos", "win32": "windows"}
_DONE: Final[Mapping[str, tuple[str, str]]] = {
    "added": ("added to", "would be added to"),
    "updated": ("updated in", "would be updated in"),
    "removed": ("removed from", "would be removed from"),
    "unchanged": ("registered already", "registered already"),
    "absent": ("not registered", "not registered"),
}


def run_registration(
    args: argparse.Namespace, settings: Settings, environ: Mapping[str, str], console: Console
) -> bool:
    """Carry out one of the three commands; returns True where all of it could be done.

    Raises:
        OffloadError: an unknown client, or the one that was named cannot be configured.
    """
    places = places_of(environ, settings.base_dir)
    named = list(dict.fromkeys(args.clients)) or list(CLIENTS)
    clients = [client_named(name) for name in named]
    if args.command == "status":
        _show_status([status(client, places, sys.executable) for client in clients], console)
        return True
    if args.command == "install" and args.snippet:
        _show_snippets(args, settings, places, clients, console)
        return True
    records = Records(settings.state_dir)
    installer = Installer(places, records, dry_run=args.dry_run)
    wrapper = Wrapper(places, records, dry_run=args.dry_run)

    def one(client: Client) -> Outcome:
        scope: Scope = args.scope or client.scopes[0]
        if args.command == "uninstall":
            # What was done last is undone first; without our server nobody could read what wrap stores.
            unwrapped = wrapper.unwrap(client, scope)
            return unwrapped if args.wrap else joined(installer.uninstall(client, scope), unwrapped)
        start = _launch(args, settings, places, client, scope)
        outcome = installer.install(client, scope, start, approve=args.approve_reads, hooks=args.hooks)
        return joined(outcome, wrapper.wrap(client, scope, start)) if args.wrap else outcome

    return _report(clients, one, args, console)


def places_of(environ: Mapping[str, str], cwd: str) -> Places:
    """This machine and user, as far as the clients' files depend on them."""
    return Places(
        system=_SYSTEMS.get(sys.platform, "linux"),
        home=os.path.expanduser("~"),
        project=resolve_workspace(cwd),
        variables={name: environ[name] for name in VARIABLES if environ.get(name)},
        search_path=environ.get("PATH", ""),
    )


def _launch(
    args: argparse.Namespace, settings: Settings, places: Places, client: Client, scope: Scope
) -> Launch:
    """What was typed is passed on; what only the environment says is not, since it would go stale."""
    check_scope(client, scope)
    typed = (("--store", args.store, settings.store_dir), ("--state", args.state, settings.state_dir))
    options = [part for name, given, value in typed if given for part in (name, value)]
    if args.workspace:
        options += ["--workspace", args.workspace]
    return launch(client, scope, places, sys.executable, options, settings.roots if args.root else ())


def _report(
    clients: list[Client], one: Callable[[Client], Outcome], args: argparse.Namespace, console: Console
) -> bool:
    """Do one client after the other; where several are named, one that fails does not stop the rest."""
    outcomes: list[dict[str, object]] = []
    sound = True
    for client in clients:
        try:
            outcome = one(client)
        except OffloadError as exc:
            if len(clients) == 1:
                raise
            sound = False
            outcomes.append({"client": client.id, "error": str(exc)})
            if not console.as_json:
                console.note(f"{client.id}: {exc}")
            continue
        outcomes.append({**asdict(outcome), "verified": client.verified})
        if not console.as_json:
            console.text(_told(client, outcome, dry_run=args.dry_run))
    if console.as_json:
        console.json({"dry_run": args.dry_run, "clients": outcomes})
    return sound


def _told(client: Client, outcome: Outcome, *, dry_run: bool) -> str:
    phrase = _DONE[outcome.action][dry_run]
    lines = [f"{client.id} ({outcome.scope}): {phrase} {', '.join(outcome.files)}".rstrip()]
    if outcome.command:
        lines.append(f"  {'to be run' if dry_run else 'by'}: {' '.join(outcome.command)}")
    if not dry_run:
        lines += [f"  backup: {backup}" for backup in outcome.backups]
    if client.verified is None and outcome.action in {"added", "updated"}:
        lines.append(f"  unverified: this entry follows {client.name}'s documentation and was not tried")
    lines += [f"  note: {note}" for note in outcome.notes]
    return "\n".join(lines) + (f"\n{outcome.diff}" if dry_run else "")


def _show_snippets(
    args: argparse.Namespace,
    settings: Settings,
    places: Places,
    clients: list[Client],
    console: Console,
) -> None:
    texts: dict[str, str] = {}
    for client in clients:
        scope: Scope = args.scope or client.scopes[0]
        start = _launch(args, settings, places, client, scope)
        texts[client.id] = snippet(client, scope, places, start, approve=args.approve_reads)
    if console.as_json:
        console.json({"snippets": texts})
    else:
        console.text("\n".join(texts.values()))


def _show_status(found: list[ClientStatus], console: Console) -> None:
    if console.as_json:
        console.json({"clients": [asdict(client) for client in found]})
        return
    for client in found:
        tried = f"verified with {client.verified}" if client.verified else "unverified"
        head = f"{client.client}: {'found' if client.found else 'not found'}; {tried}"
        lines = [_line(entry) for entry in client.registrations if entry.state != "absent"]
        console.text("\n".join([head, *lines]))


def _line(entry: Registration) -> str:
    meaning = {
        "registered": "registered",
        "elsewhere": f"registered with another installation, {' '.join(entry.command[:1])}",
        "broken": f"broken: {' '.join(entry.command[:1])} is not there; install again",
        "foreign": "something else has the name offload",
        "unreadable": f"unreadable: {entry.problem}",
    }[entry.state]
    return f"  {entry.scope}: {meaning}{' with hooks' * entry.hooks}; {entry.path}"
