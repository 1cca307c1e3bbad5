"""What a command may see of the environment: everything but what looks like a secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

SECRET_WORDS: Final = (
    *("TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PAT"),
    *("KEY", "KEYS", "APIKEY", "CREDENTIAL", "CREDENTIALS", "COOKIE", "DSN", "JWT"),
)
"""A name with one of these between underscores is withheld."""

SECRET_ENDINGS: Final = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "ACCESSKEY", "_AUTH")
"""So is a name that ends like this."""

_OURS: Final = "MCP_OFFLOAD_"
# https://user:password@host and its like, whatever the variable is called.
_LOGIN_IN_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables for a command, and the names of those it does not get."""

    variables: Mapping[str, str]
    withheld: tuple[str, ...]


def scrub(environ: Mapping[str, str], allowed: Sequence[str] = ()) -> Environment:
    """The variables without secrets; ``allowed`` names some that stay, or patterns such as ``AWS_*``."""
    withheld = sorted(name for name, value in environ.items() if _withheld(name, value, allowed))
    hidden = frozenset(withheld)
    return Environment({n: v for n, v in environ.items() if n not in hidden}, tuple(withheld))


def _withheld(name: str, value: str, allowed: Iterable[str]) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in allowed):
        return False
    return is_secret_name(name) or bool(_LOGIN_IN_URL.search(value))


def is_secret_name(name: str) -> bool:
    """True where a variable of this name most likely holds a secret."""
    upper = name.upper()
    if upper.startswith(_OURS):
        return False
    return upper.endswith(SECRET_ENDINGS) or not set(upper.split("_")).isdisjoint(SECRET_WORDS)
