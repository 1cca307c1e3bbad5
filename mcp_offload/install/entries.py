"""What a client's configuration must hold for one client and scope."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.install.data import Data
from mcp_offload.install.document import Put, edited
from mcp_offload.install.model import (
    READ_ONLY_TOOLS,
    SERVER_KEY,
    Client,
    Element,
    Launch,
    OwnCommand,
    Path,
    Places,
    Scope,
)
from mcp_offload.install.places import servers_path

START: Final = ("-P", "-m", "mcp_offload", "serve")
"""Arguments of the interpreter. -P: without it a module of the project's could stand for one of ours."""


def launch(
    client: Client,
    scope: Scope,
    places: Places,
    interpreter: str,
    options: Sequence[str],
    roots: Sequence[str],
) -> Launch:
    """The command line that serves the right workspace from where the client starts it.

    ``interpreter`` is the absolute path of the Python that has this package, ``options`` go to ``serve``,
    and ``roots`` are absolute directories that the user named.

    Raises:
        InvalidArgumentError: the client knows no projects and no root was named.
    """
    named = list(roots)
    if not named and client.starts_in == "nowhere":
        raise InvalidArgumentError(
            f"{client.name} knows no projects: name the directory to work in with --root DIR."
        )
    if not named and client.starts_in == "unknown" and scope != "user":
        named = [places.project]
    flags = [part for root in named for part in ("--root", root)]
    return Launch(interpreter, (*START, *options, *flags))


def is_ours(line: Sequence[str]) -> bool:
    """True where a command line starts this package's server, with whatever interpreter."""
    return tuple(line[1 : 1 + len(START)]) == START


def entry_path(client: Client, scope: Scope, places: Places) -> Path:
    """Where the server's entry stands."""
    step = Element(SERVER_KEY) if client.listed else SERVER_KEY
    return (*servers_path(client, scope, places), step)


def entry(client: Client, scope: Scope, start: Launch, *, approve: bool) -> Data:
    """The server's entry; with ``approve`` the tools that only read are allowed in it where that works."""
    filled = _filled(client.entries.get(scope, client.entry), start)
    if approve and client.approval and client.approval.entry:
        filled[client.approval.entry] = list(READ_ONLY_TOOLS)
    if approve and client.approval and client.approval.table:
        key, table = client.approval.table
        filled[key] = {tool: dict(table) for tool in READ_ONLY_TOOLS}
    return filled


def approval_paths(client: Client) -> list[Path]:
    """The items by which another file of the client's approves of the tools that only read."""
    approval = client.approval
    if approval is None or not approval.files:
        return []
    items = [approval.item.replace("$TOOL", tool) for tool in READ_ONLY_TOOLS]
    return [(*approval.key, Element(item)) for item in items]


def snippet(client: Client, scope: Scope, places: Places, start: Launch, *, approve: bool) -> str:
    """The entry as it would stand alone in the client's file."""
    put = Put(entry_path(client, scope, places), entry(client, scope, start, approve=approve))
    return edited(client.format, b"", [put]).decode("utf-8")


def started_by(found: object) -> tuple[str, ...]:
    """The command line that an entry starts; empty where none is told."""
    if not isinstance(found, dict):
        return ()
    values = cast("Data", found)
    if isinstance(values.get("transport"), dict):
        return started_by(values["transport"])
    command = values.get("command", values.get("cmd"))
    arguments = values.get("args", [])
    parts = cast("list[object]", command) if isinstance(command, list) else [command]
    if isinstance(arguments, list):
        parts = [*parts, *cast("list[object]", arguments)]
    return tuple(part for part in parts if isinstance(part, str))


def own_command_line(
    client: Client, command: OwnCommand, words: Sequence[str], scope: Scope, start: Launch
) -> list[str]:
    """The line by which the client's own command does it; ``words`` are its arguments from the table."""
    line = [command.program]
    for word in words:
        if word == "$ARGS":
            line += start.args
        elif word == "$JSON":
            line.append(json.dumps(entry(client, scope, start, approve=False)))
        else:
            line.append({"$SCOPE": scope, "$KEY": SERVER_KEY, "$COMMAND": start.command}.get(word, word))
    return line


def _filled(template: Mapping[str, object], start: Launch) -> Data:
    result: Data = {}
    for key, value in template.items():
        result[key] = _value(value, start)
    return result


def _value(value: object, start: Launch) -> Any:
    if isinstance(value, Mapping):
        return _filled(cast("Mapping[str, object]", value), start)
    if isinstance(value, str):
        fillings: dict[str, object] = {
            "$COMMAND": start.command,
            "$ARGS": list(start.args),
            "$LINE": list(start.line),
        }
        return fillings.get(value, value)
    return list(cast("list[object]", value)) if isinstance(value, list) else value
