"""What would have to change in which file, before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import MISSING, depth, get, merged
from mcp_offload.install.document import Drop, Put, edited, read
from mcp_offload.install.entries import approval_paths, entry, entry_path
from mcp_offload.install.files import Found, choose, read_file
from mcp_offload.install.model import Client, Element, Format, Launch, Path, Places, Scope
from mcp_offload.install.places import candidates, fill
from mcp_offload.install.records import Records, digest


@dataclass(frozen=True, slots=True)
class Change:
    """A file, what it holds, and what it should hold; None for no file.

    Attributes:
        created: how many parents of what is put into it have to be made.
        had: it holds an entry of ours already, or one of the same name.
    """

    found: Found
    after: bytes | None
    created: int
    had: bool

    @property
    def needed(self) -> bool:
        """True where the file is not yet as it should be."""
        return self.found.data != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = _lines(self.found.data), _lines(self.after)
        old = "/dev/null" if self.found.data is None else self.found.path
        new = "/dev/null" if self.after is None else self.found.path
        parts = difflib.unified_diff(before, after, old, new)
        return "".join(
            part if part.endswith("\n") else part + "\n\\ No newline at end of file\n" for part in parts
        )


def plan_install(
    client: Client, scope: Scope, places: Places, start: Launch, *, approve: bool
) -> list[Change]:
    """The client's file first; then the one that holds its approvals, if it is another.

    Raises:
        RegistrationError: a file cannot be read, parsed or edited; the message names it.
    """
    path = entry_path(client, scope, places)
    found = read_file(choose(candidates(client, scope, places)))
    values = _values(client.format, found)
    old = get(values, path)
    wanted = entry(client, scope, start, approve=approve)
    edits = [Put(path, merged(old, wanted))]
    if found.data is None:
        edits = [*(Put((key,), value) for key, value in client.new_file.items()), *edits]
    changes = [_change(client.format, found, edits, _missing(values, path), had=old is not MISSING)]
    return [*changes, *_plan_approvals(client, scope, places)] if approve else changes


def plan_uninstall(client: Client, scope: Scope, places: Places, records: Records) -> list[Change]:
    """The files that hold an entry or approvals of ours, in the same order.

    A file that is still what was written becomes what it was before; else the entry alone goes.

    Raises:
        RegistrationError: a file cannot be read, parsed or edited; the message names it.
    """
    owner = f"{client.id}-{scope}"
    found = read_file(choose(candidates(client, scope, places)))
    changes = [_removal(client, found, [entry_path(client, scope, places)], records, owner)]
    if paths := approval_paths(client):
        other = _approvals_file(client, scope, places)
        changes.append(_removal(client, other, paths, records, owner))
    return changes


def _lines(data: bytes | None) -> list[str]:
    """The lines of a file, which end at LF only."""
    text = (data or b"").decode("utf-8", "replace")
    parts = [line + "\n" for line in text.split("\n")]
    last = parts.pop().removesuffix("\n")
    return [*parts, last] if last else parts


def _plan_approvals(client: Client, scope: Scope, places: Places) -> list[Change]:
    paths = approval_paths(client)
    if not paths:
        return []
    found = _approvals_file(client, scope, places)
    values = _values(client.format, found)
    edits = [Put(path, path[-1].label) for path in paths if isinstance(path[-1], Element)]
    had = get(values, paths[0]) is not MISSING
    return [_change(client.format, found, edits, _missing(values, paths[0]), had=had)]


def _approvals_file(client: Client, scope: Scope, places: Places) -> Found:
    assert client.approval is not None
    return read_file(choose([fill(client.approval.files[scope], places)]))


def _removal(client: Client, found: Found, paths: Sequence[Path], records: Records, owner: str) -> Change:
    if found.data is None:
        return Change(found, None, 0, had=False)
    record = records.find(owner, found.path)
    if record and record.exact and record.written == digest(found.data):
        before = records.before(owner, found.path) if record.existed else None
        if before is not None or not record.existed:
            return Change(found, before, record.created, had=True)
    values = _values(client.format, found)
    had = any(get(values, path) is not MISSING for path in paths)
    created = record.created if record else 0
    change = _change(client.format, found, [Drop(path, created) for path in paths], created, had=had)
    if had and record and not record.existed and change.after is not None:
        left = read(client.format, change.after)
        if not left or left == dict(client.new_file):
            return Change(found, None, created, had=True)
    return change


def _values(form: Format, found: Found) -> object:
    try:
        return {} if found.data is None else read(form, found.data)
    except RegistrationError as exc:
        raise _unusable(found, exc) from exc


def _change(form: Format, found: Found, edits: Sequence[Put | Drop], created: int, *, had: bool) -> Change:
    try:
        return Change(found, edited(form, found.data or b"", edits), created, had)
    except RegistrationError as exc:
        raise _unusable(found, exc) from exc


def _missing(values: object, path: Path) -> int:
    """How many parents of ``path`` are not there yet."""
    return max(0, len(path) - 1 - depth(values, path))


def _unusable(found: Found, exc: RegistrationError) -> RegistrationError:
    return RegistrationError(f"{found.path} was left as it is: {str(exc).removesuffix('.')}.")
