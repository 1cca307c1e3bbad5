"""Which clients are on this machine, and which of them start the server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import MISSING, get
from mcp_offload.install.document import read
from mcp_offload.install.entries import entry_path, is_ours, started_by
from mcp_offload.install.files import choose, read_file
from mcp_offload.install.hooks import hooks_are_set_up
from mcp_offload.install.model import Client, Places, Scope
from mcp_offload.install.places import candidates

State = Literal["registered", "elsewhere", "broken", "foreign", "absent", "unreadable"]


@dataclass(frozen=True, slots=True)
class Registration:
    """One client's file of one scope.

    Attributes:
        path: absolute, whether the file is there or not.
        state: ``registered`` with this installation; ``elsewhere``: with another one; ``broken``: the
            program that would be started is not there; ``foreign``: something else has our name;
            ``absent``; ``unreadable``: the file cannot be parsed.
        command: what the client would start.
        problem: why the file is unreadable.
        hooks: the client has output offloaded by hooks of ours.
    """

    scope: Scope
    path: str
    state: State
    command: tuple[str, ...] = ()
    problem: str = ""
    hooks: bool = False


@dataclass(frozen=True, slots=True)
class ClientStatus:
    """A client and its registrations, by scope.

    Attributes:
        verified: the version with which our entry was tried, or None.
        found: the client seems to be installed.
    """

    client: str
    name: str
    verified: str | None
    found: bool
    registrations: tuple[Registration, ...]


def status(client: Client, places: Places, interpreter: str) -> ClientStatus:
    """How the client stands; ``interpreter`` is the absolute path that an entry of ours would start."""
    registrations = tuple(_registration(client, scope, places, interpreter) for scope in client.scopes)
    return ClientStatus(client.id, client.name, client.verified, _is_there(client, places), registrations)


def _registration(client: Client, scope: Scope, places: Places, interpreter: str) -> Registration:
    path = choose(candidates(client, scope, places))
    hooks = hooks_are_set_up(client, scope, places)
    try:
        found = read_file(path)
        values = {} if found.data is None else read(client.format, found.data)
    except RegistrationError as exc:
        return Registration(scope, path, "unreadable", problem=str(exc), hooks=hooks)
    entry = get(values, entry_path(client, scope, places))
    if entry is MISSING:
        return Registration(scope, path, "absent", hooks=hooks)
    line = started_by(entry)
    return Registration(scope, path, _state(line, interpreter), line, hooks=hooks)


def _state(line: tuple[str, ...], interpreter: str) -> State:
    if not line or not is_ours(line):
        return "foreign"
    if line[0] == interpreter:
        return "registered"
    return "elsewhere" if os.access(line[0], os.X_OK) else "broken"


def _is_there(client: Client, places: Places) -> bool:
    """True where its program is on PATH, or its file or its own directory exists."""
    if client.command and shutil.which(client.command.program, path=places.search_path):
        return True
    names = candidates(client, "user", places)
    return any(map(os.path.exists, names)) or any(map(os.path.isdir, _own_directories(names, places)))


def _own_directories(names: Sequence[str], places: Places) -> Iterator[str]:
    shared = {places.home, places.project}
    for name in names:
        directory = os.path.dirname(name)
        if directory not in shared:
            yield directory
