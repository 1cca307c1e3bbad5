"""What was in a file before it was edited: a backup, and what it takes to restore exactly that.

Records lie in the state directory, readable by the user alone, since configuration may hold secrets.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from mcp_offload.errors import RegistrationError


@dataclass(frozen=True, slots=True)
class Record:
    """One file that one registration has changed.

    Attributes:
        path: of the file.
        existed: there was a file before.
        exact: the backup is what to restore, as long as the file is still what was written.
        written: SHA-256 of what was written.
        created: how many parents of the entry were made for it.
        directories: those made for the file, outermost first.
    """

    path: str
    existed: bool
    exact: bool
    written: str
    created: int
    directories: tuple[str, ...] = ()


def digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes in hex."""
    return hashlib.sha256(data).hexdigest()


class Records:
    """The records under one directory, by client, scope and file."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._directory = os.path.join(state_dir, "registrations")

    def backup_path(self, owner: str, path: str) -> str:
        """Where the bytes from before are kept."""
        return self._name(owner, path) + ".before"

    def find(self, owner: str, path: str) -> Record | None:
        """The record of a file, or None; a damaged one counts as none."""
        try:
            with open(self._name(owner, path) + ".json", encoding="utf-8") as file:
                fields = cast("dict[str, Any]", json.load(file))
            record = Record(**fields)
        except (OSError, ValueError, TypeError):
            return None
        return replace(record, directories=tuple(record.directories))

    def before(self, owner: str, path: str) -> bytes | None:
        """The bytes from before, or None."""
        try:
            with open(self.backup_path(owner, path), "rb") as file:
                return file.read()
        except OSError:
            return None

    def save(self, owner: str, record: Record, before: bytes | None) -> None:
        """Keep a record; ``before`` of None leaves an older backup as it is.

        Raises:
            RegistrationError: the state directory cannot be written to.
        """
        name = self._name(owner, record.path)
        try:
            # One after the other: a mode is given to the last directory alone, and the store, which has
            # its own things there, refuses a state directory that others can open.
            for directory in (self._state_dir, self._directory):
                os.makedirs(directory, mode=0o700, exist_ok=True)
            if before is not None:
                _write(name + ".before", before)
            _write(name + ".json", json.dumps(asdict(record)).encode())
        except OSError as exc:
            raise RegistrationError(f"No backup can be kept in {self._directory}: {exc.strerror}.") from exc

    def forget(self, owner: str, path: str) -> None:
        """Remove the record and its backup."""
        for ending in (".json", ".before"):
            try:
                os.unlink(self._name(owner, path) + ending)
            except FileNotFoundError:
                continue

    def _name(self, owner: str, path: str) -> str:
        return os.path.join(self._directory, f"{owner}-{digest(os.fsencode(path))[:16]}")


def _write(path: str, data: bytes) -> None:
    temp = f"{path}.tmp"
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temp, path)
