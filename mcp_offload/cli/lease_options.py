"""The lease's options and variables, and what they come to."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mcp_offload.errors import SettingsError
from mcp_offload.settings import LeaseMode, LeaseSettings, Settings

LEAST_LEASE_TOKENS: Final = 2_500
"""What the tools' definitions and a few replies take; a lease below that could deliver nothing else."""

_MODES: Final = ("off", "advisory", "hard")
_COUNTING: Final = ("serve", "wrap")


def add_lease_options(parser: argparse.ArgumentParser) -> None:
    """Add them to the parser of what delivers to an agent."""
    group = parser.add_argument_group("context lease")
    group.add_argument("--lease", choices=_MODES, help="default: advisory; hard where nobody is present")
    group.add_argument("--lease-limit", metavar="N", help="tokens of the model's context; default 18000")
    group.add_argument("--lease-reserve", metavar="N", help="of them for what is not seen; default 6000")
    group.add_argument(
        "--tokenizer-factor", metavar="X", help="tokens of the model for one of o200k; default 1"
    )
    group.add_argument(
        "--lease-for",
        metavar="NAME:KEY=VALUE,...",
        action="append",
        default=[],
        help="for one client, principal or sub-agent: mode, limit, reserve, factor; repeatable",
    )


def add_lease(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lease``."""
    parser.add_argument("action", choices=("show", "report"), nargs="?", default="show")
    parser.add_argument(
        "--session", metavar="ID", help="default: what the client names, else the client above this process"
    )
    parser.add_argument("--agent", metavar="NAME", help="a sub-agent of the session")
    group = parser.add_argument_group("report")
    event = group.add_mutually_exclusive_group()
    for name in ("compacted", "cleared"):
        event.add_argument(
            f"--{name}", dest="event", action="store_const", const=name, help=f"the context was {name}"
        )
    group.add_argument("--context", type=_tokens, metavar="N", help="the whole context holds N tokens now")
    group.add_argument("--source", choices=("client", "gateway"), default="client", help="who tells")
    group.add_argument("--gone", action="append", default=[], metavar="H", help="H's text is gone from it")
    group.add_argument("--holds", action="append", default=[], metavar="H", help="H's text is still in it")
    group.add_argument("--agent-start", metavar="NAME", help="a sub-agent starts")
    group.add_argument("--share", type=_tokens, metavar="N", help="tokens it gets; default: half of the rest")
    group.add_argument("--agent-end", metavar="NAME", help="a sub-agent ended")


def with_lease(settings: Settings, args: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """The settings with the lease, for what delivers to an agent and what tells of that.

    Raises:
        SettingsError: a value is malformed, or leaves too little to deliver anything.
    """
    if args.command not in _COUNTING:
        return settings
    from mcp_offload.cli.identity import client_process, named_session

    lease = _lease(settings, args, environ)
    http = settings.http is not None
    named = None if http else named_session(getattr(args, "session", None), environ)
    rules = [*environ.get("MCP_OFFLOAD_LEASE_FOR", "").split(";"), *getattr(args, "lease_for", ())]
    return replace(
        settings,
        lease=lease,
        leases=dict(_rule(rule, lease) for rule in rules if rule.strip()),
        identity="" if http else named or client_process(),
    )


def _lease(settings: Settings, args: argparse.Namespace, environ: Mapping[str, str]) -> LeaseSettings:
    given = {
        "mode": getattr(args, "lease", None) or environ.get("MCP_OFFLOAD_LEASE", ""),
        "limit": getattr(args, "lease_limit", None) or environ.get("MCP_OFFLOAD_LEASE_LIMIT", ""),
        "reserve": getattr(args, "lease_reserve", None) or environ.get("MCP_OFFLOAD_LEASE_RESERVE", ""),
        "factor": getattr(args, "tokenizer_factor", None) or environ.get("MCP_OFFLOAD_TOKENIZER_FACTOR", ""),
    }
    return _changed(LeaseSettings(mode=_default_mode(settings, environ)), given, "The lease")


def _default_mode(settings: Settings, environ: Mapping[str, str]) -> LeaseMode:
    """Over HTTP nothing tells whether a person is there, nor where a session ends without a name for it."""
    if settings.http is not None:
        return "advisory"
    from mcp_offload.cli.identity import is_headless

    return "hard" if is_headless(environ) else "advisory"


def _rule(text: str, default: LeaseSettings) -> tuple[str, LeaseSettings]:
    name, _, values = text.strip().rpartition(":")
    given: dict[str, str] = {}
    for part in values.split(","):
        key, equals, value = part.strip().partition("=")
        if not name or not equals or key not in ("mode", "limit", "reserve", "factor"):
            raise SettingsError(
                f"A lease for one client is NAME:KEY=VALUE,... of mode, limit, reserve, factor, not {text!r}."
            )
        given[key] = value
    return name, _changed(default, given, f"The lease for {name}")


def _changed(lease: LeaseSettings, given: Mapping[str, str], what: str) -> LeaseSettings:
    mode = given.get("mode") or lease.mode
    if mode not in _MODES:
        raise SettingsError(f"{what} is off, advisory or hard, not {mode!r}.")
    changed = LeaseSettings(
        mode=mode,
        limit_tokens=_whole(given.get("limit"), lease.limit_tokens, what),
        reserve_tokens=_whole(given.get("reserve"), lease.reserve_tokens, what),
        tokenizer_factor=_factor(given.get("factor"), lease.tokenizer_factor, what),
    )
    grants = (changed.limit_tokens - changed.reserve_tokens) / changed.tokenizer_factor
    if changed.mode != "off" and grants < LEAST_LEASE_TOKENS:
        raise SettingsError(
            f"{what} grants {int(grants)} tokens; the limit less the reserve must leave {LEAST_LEASE_TOKENS}."
        )
    return changed


def _whole(text: str | None, default: int, what: str) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()):
        raise SettingsError(f"{what} takes whole numbers of tokens, not {text!r}.")
    return int(text)


def _factor(text: str | None, default: float, what: str) -> float:
    if not text:
        return default
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0.1 <= factor <= 10:
        raise SettingsError(f"{what} takes a tokenizer factor from 0.1 to 10, not {text!r}.")
    return factor


def _tokens(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative: {text}")
    return number
