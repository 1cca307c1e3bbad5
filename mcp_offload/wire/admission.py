"""Who may use the server over HTTP, under which names it is reached, and how often. No sockets here.

Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from mcp_offload.errors import SettingsError

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "::1"})
#: Names that mean every address of the machine, under none of which a client reaches it.
WILDCARD_HOSTS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to
LEAST_TOKEN_CHARS: Final = 16
#: Who everybody is where there are no tokens.
ANONYMOUS: Final = ""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


class Principals:
    """Names by token. Tokens are kept as hashes, so that a lookup tells nothing by its duration.

    ``open`` is true where nobody needs a token.
    """

    def __init__(self, names: Mapping[bytes, str], *, open: bool = False) -> None:
        self._names = names
        self.open = open

    def named(self, authorization: str | None) -> str | None:
        """The principal of an ``Authorization`` header, or None where it is nobody's.

        Source: RFC 6750, section 2.1.
        """
        if self.open:
            return ANONYMOUS
        scheme, _, token = (authorization or "").partition(" ")
        return self._names.get(_hashed(token.strip())) if scheme.lower() == "bearer" else None


def load_principals(path: str | None) -> Principals:
    """Read a token file: a line ``NAME TOKEN`` for each token; ``#`` starts a comment.

    Raises:
        SettingsError: it cannot be read, is open to others, or a line is malformed.
    """
    if path is None:
        return Principals({}, open=True)
    try:
        with open(path, encoding="utf-8") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise SettingsError(f"The token file {path} is open to others; set its mode to 0600.")
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"The token file {path} cannot be read: {exc}.") from None
    names: dict[bytes, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 2 or not _NAME.match(words[0]) or len(words[1]) < LEAST_TOKEN_CHARS:
            raise SettingsError(
                f"Line {number} of the token file is not NAME TOKEN, with a token of at least "
                f"{LEAST_TOKEN_CHARS} characters."
            )
        names[_hashed(words[1])] = words[0]
    if not names:
        raise SettingsError(f"The token file {path} holds no token.")
    return Principals(names)


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class Names:
    """The names under which the server may be reached; None = any, since a token is asked for anyway.

    It keeps web pages out: one whose name was made to lead here sends its own name as the host.
    """

    allowed: frozenset[str] | None

    def admits_host(self, header: str | None) -> bool:
        """Whether a ``Host`` header names this server."""
        host = host_name(header or "")
        return host != "" and (self.allowed is None or host in self.allowed)

    def admits_origin(self, origin: str | None, host_header: str | None) -> bool:
        """Whether a request with this ``Origin`` may come: none, or this server itself."""
        if origin is None:
            return True
        try:
            parts = urlsplit(origin)
            host = parts.hostname or ""
        except ValueError:
            return False
        if parts.scheme not in ("http", "https"):
            return False
        if self.allowed is None:
            return host == host_name(host_header or "")
        return host in self.allowed


def names_of(host: str, more: Sequence[str], *, open_to_all: bool) -> Names:
    """The names for a server that listens on ``host``.

    Raises:
        SettingsError: others than this machine could reach it, and nobody needs a token.
    """
    named = frozenset(name.lower() for name in more)
    if host in LOOPBACK_HOSTS:
        return Names(LOOPBACK_HOSTS | named)
    if open_to_all:
        raise SettingsError(
            f"Listening on {host} needs --token-file or --oauth-issuer, since others can reach it."
        )
    if host in WILDCARD_HOSTS:
        return Names(LOOPBACK_HOSTS | named if named else None)
    return Names(named | {host.lower()})


def host_name(header: str) -> str:
    """The name in a ``Host`` header, lower case, without port and brackets; empty where it is malformed."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def is_secure(url: str) -> bool:
    """Whether nobody on the way can change what a URL gives: https, or this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK_HOSTS))


class TokenBucket:
    """Admits ``rate`` requests a second on average, and ``burst`` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._held = self._burst
        self._at = 0.0

    def take(self, now: float) -> float:
        """Admit one request at ``now`` (seconds of any clock): 0, or the seconds until one would be."""
        if self._at:
            self._held = min(self._burst, self._held + (now - self._at) * self._rate)
        self._at = now
        if self._held >= 1:
            self._held -= 1
            return 0.0
        return (1 - self._held) / self._rate
