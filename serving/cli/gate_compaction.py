"""What every command that starts a gate takes for compaction, and how that is put together."""

from __future__ import annotations

import argparse
import os
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from serving.cli.command import Context
from serving.errors import CompactionError, ServingUsageError

if TYPE_CHECKING:
    from mcp_offload import OffloadService, Settings
    from serving.compaction.compactor import Compactor
    from serving.compaction.settings import CompactionSettings


def add_compaction_options(parser: argparse.ArgumentParser) -> None:
    """How prompts are kept under the context lease."""
    parser.add_argument(
        "--compaction",
        choices=("off", "shadow", "on"),
        default="off",
        help="replace what histories hold by handles, count what that would do, or leave them (off)",
    )
    parser.add_argument(
        "--context-lease-tokens",
        type=int,
        default=18_000,
        metavar="N",
        help="what a prompt may come to under --compaction, as the engine counts (18000)",
    )
    parser.add_argument(
        "--compaction-threshold-tokens",
        type=int,
        default=256,
        metavar="N",
        help="texts of fewer o200k tokens are replaced last (256)",
    )
    parser.add_argument(
        "--retrieval",
        choices=("auto", "gate", "client"),
        default="auto",
        help="who reads back what was replaced: the client's tools where it has them, or the gate (auto)",
    )
    parser.add_argument(
        "--workspace",
        metavar="NAME",
        help="where replaced texts are stored: a git root as clients have it, or a name (of this folder)",
    )


def add_store_option(parser: argparse.ArgumentParser) -> None:
    """Where the store is."""
    parser.add_argument(
        "--store", metavar="DIR", help="where replaced texts are stored; also MCP_OFFLOAD_STORE"
    )


def compaction_settings(args: argparse.Namespace) -> CompactionSettings:
    """Compaction as the command line says it."""
    from serving.compaction.settings import CompactionMode, CompactionSettings, Retrieval

    if args.context_lease_tokens < 1000 or args.compaction_threshold_tokens < 64:
        raise ServingUsageError(
            "--context-lease-tokens must be 1000 at least, and --compaction-threshold-tokens 64"
        )
    return CompactionSettings(
        mode=CompactionMode(args.compaction),
        lease_tokens=args.context_lease_tokens,
        threshold_tokens=args.compaction_threshold_tokens,
        retrieval=Retrieval(args.retrieval),
    )


@contextmanager
def open_compactor(
    args: argparse.Namespace, context: Context, service: OffloadService | None = None
) -> Generator[Compactor | None]:
    """What replaces texts while the gate runs; None where compaction is off.

    In mode shadow nothing is kept: the store is a folder that goes with the gate.

    Args:
        args: the command line.
        context: of the command.
        service: a store that is open already.

    Raises:
        CompactionError: the store cannot be opened.
    """
    from mcp_offload import StoreError
    from serving.compaction.settings import CompactionMode

    settings = compaction_settings(args)
    if settings.mode is CompactionMode.OFF:
        yield None
        return
    try:
        with ExitStack() as opened:
            yield _opened(opened, args, context, settings, service)
    except StoreError as error:
        raise CompactionError(f"Texts cannot be stored: {error} Name a place with --store.") from error


def _opened(
    opened: ExitStack,
    args: argparse.Namespace,
    context: Context,
    settings: CompactionSettings,
    service: OffloadService | None,
) -> Compactor:
    from mcp_offload import open_service
    from serving.compaction.compactor import Compactor
    from serving.compaction.decisions import Decisions
    from serving.compaction.settings import CompactionMode

    if settings.mode is CompactionMode.SHADOW:
        place = opened.enter_context(TemporaryDirectory(prefix="mcp-offload-shadow-"))
        own = opened.enter_context(open_service(store_settings(args, context, place)))
        return Compactor(own, Decisions(None), settings)
    stored = store_settings(args, context)
    used = service or opened.enter_context(open_service(stored))
    decisions = opened.enter_context(closing(Decisions(Path(stored.state_dir) / "compaction.sqlite3")))
    return Compactor(used, decisions, settings)


def store_settings(args: argparse.Namespace, context: Context, place: str | None = None) -> Settings:
    """The store that the line or the environment names, or one at ``place``."""
    from mcp_offload import LeaseSettings, Settings, resolve_workspace

    environ, cwd = context.environ, context.cwd
    base = environ.get("XDG_STATE_HOME", "")
    state = os.path.join(
        base if base.startswith("/") else os.path.expanduser("~/.local/state"), "mcp-offload"
    )
    parent = "/var/tmp" if os.access("/var/tmp", os.W_OK | os.X_OK) else "/tmp"  # noqa: S108  (ours, mode 0700)
    store = args.store or environ.get("MCP_OFFLOAD_STORE") or f"{parent}/mcp-offload-{os.getuid()}"
    state = environ.get("MCP_OFFLOAD_STATE") or state
    if place is not None:
        store, state = os.path.join(place, "store"), os.path.join(place, "state")
    named = getattr(args, "workspace", None) or environ.get("MCP_OFFLOAD_WORKSPACE")
    return Settings(
        store_dir=os.path.join(cwd, os.path.expanduser(store)),
        state_dir=os.path.join(cwd, os.path.expanduser(state)),
        roots=(cwd,),
        base_dir=cwd,
        workspace=named or resolve_workspace(cwd, None),
        # What is reported of a session that no server has counted for yet is measured against this.
        lease=LeaseSettings(limit_tokens=args.context_lease_tokens),
    )
