"""The options of wrap, and what the wrapped server sees of the environment."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from mcp_offload.errors import SettingsError
from mcp_offload.settings import Settings, WrapSettings

HEADERS: Final = "MCP_OFFLOAD_WRAP_HEADERS"
LEAST_TOKENS: Final = 100
_HEADER: Final = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*(.*)\Z")
"""Source: RFC 9110, section 5.6.2, a token."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def add_wrap_options(parser: argparse.ArgumentParser) -> None:
    """Add them to the parser of wrap."""
    defaults = WrapSettings()
    parser.add_argument("argv", metavar="SERVER", nargs="*", help="the server and its arguments, after --")
    parser.add_argument("--url", metavar="URL", help="instead: a server that speaks streamable HTTP")
    parser.add_argument(
        "--header",
        metavar="'NAME: VALUE'",
        action="append",
        default=[],
        help="with --url: a header of each request; ${NAME} in it is a variable; repeatable",
    )
    _add_rules(parser, defaults)
    parser.add_argument(
        "--no-tools",
        action="store_true",
        help="add no tools to read what was stored: the client has mcp-offload serve as well",
    )
    parser.add_argument(
        "--silence",
        type=float,
        metavar="SECONDS",
        default=defaults.silence_seconds,
        help=f"give up a call without a sign of life for so long; default {defaults.silence_seconds:g}",
    )


def _add_rules(parser: argparse.ArgumentParser, defaults: WrapSettings) -> None:
    """What is replaced, resolved and kept."""
    parser.add_argument(
        "--threshold-tokens",
        type=int,
        metavar="N",
        default=defaults.threshold_tokens,
        help=f"store and replace results above it; default {defaults.threshold_tokens}",
    )
    parser.add_argument(
        "--tool",
        metavar="NAME=RULE",
        action="append",
        default=[],
        help="for one tool: never, always, or its own threshold in tokens; repeatable",
    )
    parser.add_argument(
        "--resolve",
        metavar="TOOL",
        action="append",
        default=[],
        help="let arguments of TOOL be handle:H, for the text that H names; repeatable",
    )
    parser.add_argument(
        "--keep-all", action="store_true", help="store results that pass, too, so that searches find them"
    )


def with_wrap_options(settings: Settings, args: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """The settings with the options of wrap.

    Raises:
        SettingsError: not exactly one server is named, or an option is malformed.
    """
    if args.command != "wrap":
        return settings
    if bool(args.argv) == (args.url is not None):
        raise SettingsError("Name the server to wrap: its command line after --, or its address with --url.")
    if args.url is not None and not args.url.startswith(("http://", "https://")):
        raise SettingsError("--url takes an address that starts with http:// or https://.")
    if args.header and args.url is None:
        raise SettingsError("--header belongs to --url.")
    if args.threshold_tokens < LEAST_TOKENS:
        raise SettingsError(f"--threshold-tokens must be at least {LEAST_TOKENS}; see --tool NAME=always.")
    if not 0 < args.silence < 1e9:
        raise SettingsError("--silence takes a positive number of seconds.")
    wrap = WrapSettings(
        command=tuple(args.argv),
        url=args.url,
        headers=_headers([*environ.get(HEADERS, "").split("\n"), *args.header], environ),
        environment=dict(environ),
        threshold_tokens=args.threshold_tokens,
        tools=dict(map(_rule, args.tool)),
        resolve=frozenset(args.resolve),
        with_tools=not args.no_tools,
        keep_all=args.keep_all,
        silence_seconds=args.silence,
    )
    return replace(settings, wrap=wrap)


def _rule(text: str) -> tuple[str, int | None]:
    """One ``NAME=RULE``; a tool's name may hold ``=`` itself."""
    name, _, rule = text.rpartition("=")
    if name and rule == "never":
        return name, None
    if name and rule == "always":
        return name, 0
    if name and rule.isascii() and rule.isdecimal():
        return name, int(rule)
    raise SettingsError(f"--tool takes NAME=never, NAME=always or NAME=TOKENS, not {text[:60]!r}.")


def _headers(lines: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            continue
        match = _HEADER.match(line.strip())
        if match is None:
            # Not quoted: what is meant to be one may hold a secret.
            raise SettingsError("A header is written 'NAME: VALUE'.")
        headers[match[1]] = _VARIABLE.sub(lambda found: _variable(found[1], environ), match[2])
    return headers


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise SettingsError(f"The variable {name}, which a header refers to, is not set.")
    return environ[name]
