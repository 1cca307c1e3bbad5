"""Has the other servers of a client go through ``mcp-offload wrap``, and undoes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install.actions import Outcome, check_scope
from mcp_offload.install.data import MISSING, Data, get
from mcp_offload.install.document import Drop, Put, edited, read
from mcp_offload.install.entries import START, started_by
from mcp_offload.install.files import Found, choose, read_file, write_file
from mcp_offload.install.model import SERVER_KEY, Client, Element, Format, Launch, Path, Places, Scope
from mcp_offload.install.places import candidates, servers_path
from mcp_offload.install.plan import Change
from mcp_offload.install.records import Record, Records, digest

WRAP: Final = (*START[:-1], "wrap")
"""Arguments of the interpreter, as for the server's own start."""

_PROGRAM_KEYS: Final = ("command", "cmd")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """Wraps on one machine. Holds no state of its own.

    Attributes:
        dry_run: nothing is written.
    """

    places: Places
    records: Records
    dry_run: bool = False

    def wrap(self, client: Client, scope: Scope, start: Launch) -> Outcome:
        """Have every server that is a program start through us; ``start`` starts our own server.

        The added tools are left out of it: the client has our server, which reads every handle.

        Raises:
            RegistrationError: the file cannot be read, parsed or written; it was left as it is.
            InvalidArgumentError: the client has no such scope.
        """
        check_scope(client, scope)
        found, values = self._read(client, scope)
        edits: list[Put | Drop] = []
        wrapped: list[str] = []
        notes: list[str] = []
        for name, path, server in _servers(client, scope, self.places, values):
            line = started_by(server)
            if _is_ours(line):
                continue
            if not line:
                notes.append(f"{name} is no program, so it was left as it is; see wrap --url")
                continue
            edits += _restarted(client.format, path, server, (start.command, *_wrapping(start), "--", *line))
            wrapped.append(name)
        if wrapped:
            notes.insert(0, f"wrapped: {', '.join(wrapped)}")
        return self._settle(client, scope, found, edits, notes)

    def unwrap(self, client: Client, scope: Scope) -> Outcome:
        """Have every server that was wrapped start as before.

        A file that is still what was written becomes what it was before, byte for byte.

        Raises:
            RegistrationError: the file cannot be read, parsed or written; it was left as it is.
        """
        check_scope(client, scope)
        owner = _owner(client, scope)
        found, values = self._read(client, scope)
        if found.data is None:
            return Outcome(client.id, scope, "absent")
        record = self.records.find(owner, found.path)
        before = self.records.before(owner, found.path)
        if record and record.exact and before is not None and record.written == digest(found.data):
            after: bytes | None = before
        else:
            after = _edited(client, found, _unwrapping(client, scope, self.places, values))
        change = Change(found, after, 0, had=True)
        if not change.needed:
            return Outcome(client.id, scope, "absent")
        if not self.dry_run:
            write_file(found, after)
            self.records.forget(owner, found.path)
        return Outcome(client.id, scope, "removed", (found.path,), diff=change.diff())

    def _read(self, client: Client, scope: Scope) -> tuple[Found, Data]:
        found = read_file(choose(candidates(client, scope, self.places)))
        try:
            return found, {} if found.data is None else read(client.format, found.data)
        except RegistrationError as exc:
            raise _left(found, exc) from exc

    def _settle(
        self, client: Client, scope: Scope, found: Found, edits: Sequence[Put | Drop], notes: Sequence[str]
    ) -> Outcome:
        if found.data is None or not edits:
            return Outcome(client.id, scope, "unchanged", notes=tuple(notes))
        change = Change(found, _edited(client, found, edits), 0, had=False)
        owner = _owner(client, scope)
        if not self.dry_run:
            assert change.after is not None
            known = self.records.find(owner, found.path)
            unchanged = known is None or known.written == digest(found.data)
            record = Record(found.path, True, unchanged and (known is None or known.exact), "", 0)
            record = replace(record, written=digest(change.after))
            keep = found.data if known is None or not record.exact else None
            self.records.save(owner, record, keep)
            write_file(found, change.after)
        backup = self.records.backup_path(owner, found.path)
        backups = (backup,) if os.path.exists(backup) else ()
        return Outcome(
            client.id, scope, "updated", (found.path,), backups, diff=change.diff(), notes=tuple(notes)
        )


def joined(first: Outcome, second: Outcome) -> Outcome:
    """Two things that were done for one client, as one."""
    quiet = ("unchanged", "absent")
    return replace(
        first,
        action=second.action if first.action in quiet and second.action not in quiet else first.action,
        files=tuple(dict.fromkeys((*first.files, *second.files))),
        backups=tuple(dict.fromkeys((*first.backups, *second.backups))),
        diff=first.diff + second.diff,
        notes=(*first.notes, *second.notes),
    )


def is_wrapped(line: Sequence[str]) -> bool:
    """True where a command line starts a server through us."""
    return tuple(line[1 : 1 + len(WRAP)]) == WRAP


def _is_ours(line: Sequence[str]) -> bool:
    return is_wrapped(line) or tuple(line[1 : 1 + len(START)]) == START


def _wrapping(start: Launch) -> tuple[str, ...]:
    """The arguments that wrap, with the places that our own server was given."""
    return (*WRAP, "--no-tools", *start.args[len(START) :])


def _servers(
    client: Client, scope: Scope, places: Places, values: Data
) -> Iterator[tuple[str, Path, Mapping[str, object]]]:
    """The servers in a file but our own: name, place and entry."""
    path = servers_path(client, scope, places)
    found = get(values, path)
    entries: list[tuple[str, str | Element, Data]]
    if client.listed:
        items = cast("list[object]", found) if isinstance(found, list) else []
        entries = [(name := str(item.get("name")), Element(name), item) for item in _objects(items)]
    else:
        members = cast("Data", found) if isinstance(found, dict) else {}
        entries = [
            (name, name, cast("Data", item)) for name, item in members.items() if isinstance(item, dict)
        ]
    for name, step, entry in entries:
        if name != SERVER_KEY:
            yield name, (*path, step), entry


def _objects(items: Sequence[object]) -> Iterator[Data]:
    for item in items:
        if isinstance(item, dict):
            yield cast("Data", item)


def _restarted(
    form: Format, path: Path, server: Mapping[str, object], line: Sequence[str]
) -> list[Put | Drop]:
    """What makes an entry start ``line`` and leaves all else in it alone.

    In JSON the rest of the entry stays as it is written, too; the other formats' entries are written anew.
    """
    inner = server.get("transport")
    if isinstance(inner, dict):
        return _restarted(form, (*path, "transport"), cast("Data", inner), line)
    key = next((one for one in _PROGRAM_KEYS if one in server), _PROGRAM_KEYS[0])
    if isinstance(server.get(key), list):
        wanted: Data = {key: list(line)}
    else:
        wanted = {key: line[0], "args": list(line[1:])}
    if form != "json":
        return [Put(path, {**server, **wanted})]
    puts: list[Put | Drop] = [Put((*path, name), value) for name, value in wanted.items() if value]
    return puts if wanted.get("args", True) else [*puts, Drop((*path, "args"))]


def _unwrapping(client: Client, scope: Scope, places: Places, values: Data) -> list[Put | Drop]:
    edits: list[Put | Drop] = []
    for _, path, server in _servers(client, scope, places, values):
        line = started_by(server)
        if is_wrapped(line) and "--" in line and get(values, path) is not MISSING:
            edits += _restarted(client.format, path, server, line[line.index("--") + 1 :])
    return edits


def _edited(client: Client, found: Found, edits: Sequence[Put | Drop]) -> bytes:
    try:
        return edited(client.format, found.data or b"", edits)
    except RegistrationError as exc:
        raise _left(found, exc) from exc


def _left(found: Found, exc: RegistrationError) -> RegistrationError:
    return RegistrationError(f"{found.path} was left as it is: {str(exc).removesuffix('.')}.")


def _owner(client: Client, scope: Scope) -> str:
    return f"{client.id}-{scope}-wrap"
