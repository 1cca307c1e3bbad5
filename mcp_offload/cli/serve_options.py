"""The options of serve alone: structured results, a named session, HTTP."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from mcp_offload.errors import SettingsError
from mcp_offload.settings import HttpSettings, OAuthSettings, Settings

MOST_SESSION_CHARS = 200
DEFAULT_HOST = "127.0.0.1"


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Add them to the parser of serve."""
    parser.add_argument(
        "--structured", action="store_true", help="answer in JSON with a schema, for programs"
    )
    parser.add_argument(
        "--session", metavar="ID", help="go on with what ID was shown, in whichever process that was"
    )
    parser.add_argument(
        "--resource-links", action="store_true", help="add links to what was stored or edited"
    )
    parser.add_argument(
        "--http", metavar="[HOST:]PORT", help="serve over HTTP instead; HOST is 127.0.0.1 by default"
    )
    parser.add_argument("--token-file", metavar="FILE", help="with --http: a line NAME TOKEN for each client")
    parser.add_argument(
        "--oauth-issuer", metavar="URL", help="with --http: take tokens of this authorization server"
    )
    parser.add_argument(
        "--oauth-resource", metavar="URL", help="where clients reach /mcp; default: the address listened on"
    )
    parser.add_argument(
        "--oauth-audience", metavar="NAME", help="whom its tokens must be for; default: --oauth-resource"
    )
    parser.add_argument(
        "--oauth-scope", metavar="NAME", action="append", default=[], help="what its tokens must allow"
    )
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="with --http: a name of this host"
    )
    parser.add_argument(
        "--rate", type=_positive, metavar="N", help="with --http: requests a second of one client; default 50"
    )
    parser.add_argument(
        "--client-quota", type=_positive, metavar="BYTES", help="with --http: what one named client may store"
    )


def with_serve_options(settings: Settings, args: argparse.Namespace, cwd: str) -> Settings:
    """The settings with the options of serve.

    Raises:
        SettingsError: a session's name or an address is malformed, or options contradict each other.
    """
    if args.command != "serve":
        return settings
    session = args.session
    if session is not None and not (0 < len(session) <= MOST_SESSION_CHARS and session.isprintable()):
        raise SettingsError(f"--session takes 1 to {MOST_SESSION_CHARS} printable characters.")
    over_http = (args.token_file, args.allow_host, args.rate, args.client_quota, args.oauth_issuer)
    if args.http is None and any(over_http):
        raise SettingsError(
            "--token-file, --oauth-issuer, --allow-host, --rate and --client-quota belong to --http."
        )
    if args.http is not None and session is not None:
        raise SettingsError("--session names the one client of a server on stdio; leave it out with --http.")
    return replace(
        settings,
        structured=args.structured,
        resource_links=args.resource_links,
        session=session,
        http=None if args.http is None else _http(args, cwd),
    )


def _http(args: argparse.Namespace, cwd: str) -> HttpSettings:
    host, _, port = args.http.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or DEFAULT_HOST
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise SettingsError(f"--http takes a port or HOST:PORT, not {args.http[:60]!r}.")
    token_file = args.token_file and os.path.join(cwd, os.path.expanduser(args.token_file))
    defaults = HttpSettings(host=host, port=int(port))
    rate = args.rate or defaults.requests_per_second
    return replace(
        defaults,
        token_file=token_file,
        oauth=_oauth(args, host, int(port)),
        allowed_hosts=tuple(args.allow_host),
        requests_per_second=rate,
        burst=max(1, 4 * int(rate)),
        principal_bytes=args.client_quota or defaults.principal_bytes,
    )


def _oauth(args: argparse.Namespace, host: str, port: int) -> OAuthSettings | None:
    if args.oauth_issuer is None:
        if args.oauth_resource or args.oauth_audience or args.oauth_scope:
            raise SettingsError("--oauth-resource, --oauth-audience and --oauth-scope need --oauth-issuer.")
        return None
    from urllib.parse import urlsplit

    from mcp_offload.wire.admission import WILDCARD_HOSTS, is_secure

    if args.oauth_resource is None and (port == 0 or host in WILDCARD_HOSTS):
        raise SettingsError(
            "With this address --oauth-issuer needs --oauth-resource: the URL that clients use."
        )
    shown = f"[{host}]" if ":" in host else host
    resource = args.oauth_resource or f"http://{shown}:{port}/mcp"
    if not is_secure(args.oauth_issuer):
        raise SettingsError("--oauth-issuer takes an https URL, or an http URL of this machine.")
    # A resource's own URL is checked by clients, which may come through a proxy.
    if urlsplit(resource).scheme not in ("http", "https") or not urlsplit(resource).hostname:
        raise SettingsError("--oauth-resource takes an http or https URL, such as https://box.example/mcp.")
    return OAuthSettings(
        issuer=args.oauth_issuer,
        resource=resource,
        audience=args.oauth_audience,
        scopes=tuple(args.oauth_scope),
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1: {text}")
    return number
