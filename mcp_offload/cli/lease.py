"""``mcp-offload lease``: tells what a session was sent, and takes reports of its context from hooks.

It opens the ledger alone, without the rest of the service, since a client's hook waits for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from mcp_offload.cli.console import Console
from mcp_offload.cli.identity import client_processes, named_session
from mcp_offload.errors import LeaseNotFoundError
from mcp_offload.lease import ContextEvent, Report
from mcp_offload.models import LeaseResult
from mcp_offload.service.jsonable import to_json
from mcp_offload.service.leases import Leases, SessionLease, lease_text
from mcp_offload.settings import Settings
from mcp_offload.store import Store, StoreConfig

_EVENTS: Final[Mapping[str, ContextEvent]] = {"compacted": "compacted", "cleared": "cleared"}


def run_lease(
    args: argparse.Namespace, settings: Settings, environ: Mapping[str, str], console: Console
) -> None:
    """Show a lease or report to it, and print it as it stands then.

    Raises:
        LeaseNotFoundError: nothing was delivered to that session, or none is named and none is found.
        InvalidArgumentError: a value is malformed.
        StoreError: the ledger cannot be read or written.
    """
    with Store.open(StoreConfig.from_settings(settings)) as store:
        lease = _lease(args, environ, Leases(store.ledger, settings))
        told = lease.show() if args.action == "show" else lease.report(_report(args))
    _print(told, console)


def _lease(args: argparse.Namespace, environ: Mapping[str, str], leases: Leases) -> SessionLease:
    named = named_session(args.session, environ)
    # A report may come before the first delivery: a named session is then begun by it.
    if named is not None and args.action == "report":
        return leases.known(named, args.agent) or leases.of(named, agent=args.agent)
    for session in (named,) if named is not None else client_processes():
        found = leases.known(session, args.agent)
        if found is not None:
            return found
    raise LeaseNotFoundError(
        f"Nothing was delivered to {args.session}."
        if args.session
        else "No client above this process was sent anything; name its session with --session."
    )


def _report(args: argparse.Namespace) -> Report:
    return Report(
        event=None if args.event is None else _EVENTS[args.event],
        context_tokens=args.context,
        source=args.source,
        gone=tuple(args.gone),
        holds=tuple(args.holds),
        agent_started=args.agent_start,
        share_tokens=args.share,
        agent_ended=args.agent_end,
    )


def _print(told: LeaseResult, console: Console) -> None:
    if console.as_json:
        console.json(to_json(told))
    else:
        console.text(lease_text(told))
