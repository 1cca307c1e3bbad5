"""What would have to change in which file, before anything is written."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import MISSING, depth, get, merged
from mcp_offload.install.document import Drop, Put, edited, read
from mcp_offload.install.entries import START, approval_paths, entry, entry_path
from mcp_offload.install.files import Found, choose, read_file
from mcp_offload.install.hooks import HookFile, hook_files, is_our_text
from mcp_offload.install.model import Client, Element, Format, Launch, Path, Places, Scope
from mcp_offload.install.places import candidates, fill
from mcp_offload.install.records import Records, digest

_NO_LAUNCH: Final = Launch("", START)
"""What is taken out is found whichever command line it starts."""


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
    client: Client, scope: Scope, places: Places, start: Launch, *, approve: bool, hooks: bool = False
) -> list[Change]:
    """The client's file first; then those that hold its approvals and its hooks, if they are others.

    Raises:
        RegistrationError: a file cannot be read, parsed or edited; the message names it.
    """
    more = [
        *(_approvals(client, scope, places) if approve else []),
        *(hook_files(client, scope, places, start) if hooks else []),
    ]
    main = choose(candidates(client, scope, places))
    path = entry_path(client, scope, places)
    found = read_file(main)
    values = _values(client.format, found)
    old = get(values, path)
    wanted = entry(client, scope, start, approve=approve)
    edits = [Put(path, merged(old, wanted)), *_puts(more, main)]
    if found.data is None:
        edits = [*(Put((key,), value) for key, value in client.new_file.items()), *edits]
    changes = [_change(client.format, found, edits, _missing(values, edits), had=old is not MISSING)]
    others = dict.fromkeys(choose([file.path]) for file in more)
    return [*changes, *(_addition(name, more) for name in others if name != main)]


def _puts(files: Sequence[HookFile], path: str) -> list[Put]:
    """What the files ask to stand at ``path``."""
    return [Put(*item) for file in files if choose([file.path]) == path for item in file.items]


def _addition(path: str, files: Sequence[HookFile]) -> Change:
    """The change of a file beside the client's own."""
    found = read_file(path)
    text = "".join(file.text for file in files if choose([file.path]) == path)
    if text:
        return Change(found, text.encode(), 0, had=found.data is not None)
    values = _values("json", found)
    edits = _puts(files, path)
    had = any(get(values, edit.path) is not MISSING for edit in edits)
    return _change("json", found, edits, _missing(values, edits), had=had)


def plan_uninstall(client: Client, scope: Scope, places: Places, records: Records) -> list[Change]:
    """The files that hold an entry or approvals of ours, in the same order.

    A file that is still what was written becomes what it was before; else the entry alone goes.

    Raises:
        RegistrationError: a file cannot be read, parsed or edited; the message names it.
    """
    owner = f"{client.id}-{scope}"
    more = [*_approvals(client, scope, places), *hook_files(client, scope, places, _NO_LAUNCH)]
    main = choose(candidates(client, scope, places))
    paths = [entry_path(client, scope, places), *(put.path for put in _puts(more, main))]
    changes = [_removal(client.format, client, read_file(main), paths, records, owner)]
    for name in dict.fromkeys(choose([file.path]) for file in more):
        if name == main:
            continue
        found = read_file(name)
        if any(file.text for file in more if choose([file.path]) == name):
            changes.append(_removal_of_ours(found, records, owner))
        else:
            paths = [put.path for put in _puts(more, name)]
            changes.append(_removal("json", client, found, paths, records, owner))
    return changes


def _lines(data: bytes | None) -> list[str]:
    """The lines of a file, which end at LF only."""
    text = (data or b"").decode("utf-8", "replace")
    parts = [line + "\n" for line in text.split("\n")]
    last = parts.pop().removesuffix("\n")
    return [*parts, last] if last else parts


def _approvals(client: Client, scope: Scope, places: Places) -> list[HookFile]:
    """The file that approves of the tools that only read, if it is another than the client's own."""
    paths = approval_paths(client)
    if not paths:
        return []
    assert client.approval is not None
    items = tuple((path, path[-1].label) for path in paths if isinstance(path[-1], Element))
    return [HookFile(fill(client.approval.files[scope], places), items)]


def _removal_of_ours(found: Found, records: Records, owner: str) -> Change:
    """A file that is ours alone goes; what stood there before comes back."""
    if found.data is None or not is_our_text(found.data):
        return Change(found, found.data, 0, had=False)
    record = records.find(owner, found.path)
    before = records.before(owner, found.path) if record and record.existed else None
    return Change(found, before, 0, had=True)


def _removal(
    form: Format, client: Client, found: Found, paths: Sequence[Path], records: Records, owner: str
) -> Change:
    if found.data is None:
        return Change(found, None, 0, had=False)
    record = records.find(owner, found.path)
    if record and record.exact and record.written == digest(found.data):
        before = records.before(owner, found.path) if record.existed else None
        if before is not None or not record.existed:
            return Change(found, before, record.created, had=True)
    values = _values(form, found)
    had = any(get(values, path) is not MISSING for path in paths)
    created = record.created if record else 0
    change = _change(form, found, [Drop(path, created) for path in paths], created, had=had)
    if had and record and not record.existed and change.after is not None:
        left = read(form, change.after)
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


def _missing(values: object, edits: Sequence[Put]) -> int:
    """How many parents of what is put are not there yet, at most."""
    return max(max(0, len(edit.path) - 1 - depth(values, edit.path)) for edit in edits)


def _unusable(found: Found, exc: RegistrationError) -> RegistrationError:
    return RegistrationError(f"{found.path} was left as it is: {str(exc).removesuffix('.')}.")
