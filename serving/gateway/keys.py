"""Bearer keys: made once, shown once, kept as hashes."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from serving.errors import ServingUsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Key:
    """A key as kept: whose it is, and the SHA-256 of its text in hexadecimal digits."""

    name: str
    tenant: str
    sha256: str


class Keys:
    """The keys of one gate, in a file of one JSON object a line that only its owner can read.

    Args:
        keys: as loaded.
    """

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self.keys = tuple(keys)

    def __bool__(self) -> bool:
        return bool(self.keys)

    @staticmethod
    def load(path: Path) -> Keys:
        """Read a key file; one that is not there holds no keys.

        Raises:
            ServingUsageError: it is malformed, or others can read it.
        """
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            return Keys()
        if path.stat().st_mode & 0o077:
            raise ServingUsageError(f"{path} can be read by others; run: chmod 600 {path}")
        try:
            return Keys([Key(**json.loads(line)) for line in text.splitlines() if line.strip()])
        except (ValueError, TypeError) as error:
            raise ServingUsageError(f"{path} is no key file: {error}") from error

    def tenant_of(self, secret: str) -> str | None:
        """Whose key this is; None where it is nobody's."""
        found = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        tenant: str | None = None
        for key in self.keys:
            if hmac.compare_digest(key.sha256, found):
                tenant = key.tenant
        return tenant


def add(path: Path, name: str, tenant: str | None = None) -> str:
    """Make a key, keep its hash, and return its text, which nothing can show again.

    Raises:
        ServingUsageError: the name is malformed or taken, or the file is no key file.
    """
    for given in (name, tenant or name):
        if not _NAME.fullmatch(given):
            raise ServingUsageError(f"{given!r} is no name: use letters, digits, '.', '_' and '-'")
    kept = Keys.load(path).keys
    if any(key.name == name for key in kept):
        raise ServingUsageError(f"a key named {name} exists; remove it first or take another name")
    secret = f"mok-{secrets.token_urlsafe(32)}"
    digest = hashlib.sha256(secret.encode()).hexdigest()
    _write(path, [*kept, Key(name, tenant or name, digest)])
    return secret


def remove(path: Path, name: str) -> None:
    """Forget a key.

    Raises:
        ServingUsageError: there is none of that name.
    """
    kept = Keys.load(path).keys
    if all(key.name != name for key in kept):
        raise ServingUsageError(f"there is no key named {name}")
    _write(path, [key for key in kept if key.name != name])


def _write(path: Path, keys: Sequence[Key]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    text = "".join(json.dumps(asdict(key)) + "\n" for key in keys)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
