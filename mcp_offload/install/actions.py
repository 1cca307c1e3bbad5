"""Registering the server with a client, and taking it out again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from mcp_offload.errors import InvalidArgumentError
from mcp_offload.install.entries import own_command_line
from mcp_offload.install.files import choose, remove_empty, write_file
from mcp_offload.install.hooks import HOOKS
from mcp_offload.install.model import Client, Launch, OwnCommand, Places, Scope
from mcp_offload.install.places import candidates
from mcp_offload.install.plan import Change, plan_install, plan_uninstall
from mcp_offload.install.records import Record, Records, digest

Action = Literal["added", "updated", "unchanged", "removed", "absent"]
_COMMAND_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done for one client, or would be.

    Attributes:
        files: absolute paths of the files that were changed, or would be.
        backups: where their former bytes are kept.
        command: the client's own command that was used, or would be; empty where files were edited.
        diff: the change as a unified diff.
        notes: what a user should know.
    """

    client: str
    scope: Scope
    action: Action
    files: tuple[str, ...] = ()
    backups: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    diff: str = ""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Installer:
    """Registers with clients on one machine. Holds no state of its own.

    Attributes:
        dry_run: nothing is written and nothing is run.
    """

    places: Places
    records: Records
    dry_run: bool = False

    def install(
        self, client: Client, scope: Scope, start: Launch, *, approve: bool, hooks: bool = False
    ) -> Outcome:
        """Have the client start the server, and with ``hooks`` offload what its commands print.

        Where it does so already, nothing is written.

        Raises:
            RegistrationError: a file cannot be read, parsed or written; it was left as it is.
            InvalidArgumentError: the client has no such scope.
        """
        check_scope(client, scope)
        plan = partial(plan_install, client, scope, self.places, start, approve=approve, hooks=hooks)
        changes = plan()
        needed = [change for change in changes if change.needed]
        notes = list(_notes(client, scope, start, approve=approve, hooks=hooks))
        action: Action = "updated" if changes[0].had else "added"
        own = self._own_command(client, scope) if not changes[0].had else None
        line = own_command_line(client, own, own.add, scope, start) if own else []
        if not needed:
            return Outcome(client.id, scope, "unchanged", notes=tuple(notes))
        if not self.dry_run:
            if line and (failure := self._run(line)):
                line, notes = [], [*notes, failure]
            self._settle(_owner(client, scope), changes, plan())
        return self._outcome(client, scope, action, needed, command=line, notes=notes)

    def uninstall(self, client: Client, scope: Scope) -> Outcome:
        """Take the server's entry and our approvals out; files become what they were before, if they can.

        Raises:
            RegistrationError: a file cannot be read, parsed or written; it was left as it is.
            InvalidArgumentError: the client has no such scope.
        """
        check_scope(client, scope)
        needed = self._removals(client, scope)
        if not needed:
            return Outcome(client.id, scope, "absent")
        owner = _owner(client, scope)
        line = self._own_removal(client, scope, needed[0])
        if not self.dry_run:
            notes = [self._run(line)] if line else []
            for change in self._removals(client, scope) if line else needed:
                record = self.records.find(owner, change.found.path)
                write_file(change.found, change.after)
                if change.after is None and record:
                    remove_empty(record.directories)
            for change in needed:
                self.records.forget(owner, change.found.path)
            line = [] if any(notes) else line
        return self._outcome(client, scope, "removed", needed, command=line)

    def _removals(self, client: Client, scope: Scope) -> list[Change]:
        changes = plan_uninstall(client, scope, self.places, self.records)
        return [change for change in changes if change.had and change.needed]

    def _own_removal(self, client: Client, scope: Scope, change: Change) -> list[str]:
        """The client's command, unless the file can be restored or it does not hold the entry."""
        own = self._own_command(client, scope)
        holds = change.found.path == file_of(client, scope, self.places)
        record = self.records.find(_owner(client, scope), change.found.path)
        exact = record is not None and record.exact and record.written == digest(change.found.data or b"")
        if own is None or not holds or exact:
            return []
        return own_command_line(client, own, own.remove, scope, Launch("", ()))

    def _settle(self, owner: str, planned: Sequence[Change], now: Sequence[Change]) -> None:
        """Write what is still missing after a command may have run, and keep what was there before."""
        for before, change in zip(planned, now, strict=True):
            if not before.needed:
                continue
            known = self.records.find(owner, before.found.path)
            record = _record(before, change, known)
            keep = before.found.data if known is None or not record.exact else None
            self.records.save(owner, record, keep)
            made = write_file(change.found, change.after) if change.needed else ()
            if made:
                self.records.save(owner, _with_directories(record, made), None)

    def _own_command(self, client: Client, scope: Scope) -> OwnCommand | None:
        own = client.command
        if own is None or not own.careful or scope not in own.scopes:
            return None
        return own if shutil.which(own.program, path=self.places.search_path) else None

    def _run(self, line: Sequence[str]) -> str:
        """Run a client's command; returns what to tell where it failed, since files can be edited as well."""
        program = shutil.which(line[0], path=self.places.search_path) or line[0]
        try:
            done = subprocess.run(
                [program, *line[1:]],
                cwd=self.places.project,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            return f"{line[0]} could not be run ({type(exc).__name__}); its file was edited instead"
        if done.returncode == 0:
            return ""
        return f"{line[0]} ended with status {done.returncode}; its file was edited instead"

    def _outcome(
        self,
        client: Client,
        scope: Scope,
        action: Action,
        changes: Sequence[Change],
        *,
        command: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Outcome:
        owner = _owner(client, scope)
        names = [self.records.backup_path(owner, change.found.path) for change in changes]
        return Outcome(
            client.id,
            scope,
            action,
            files=tuple(change.found.path for change in changes),
            backups=tuple(name for name in names if os.path.exists(name)),
            command=tuple(command),
            diff="".join(change.diff() for change in changes),
            notes=tuple(notes),
        )


def check_scope(client: Client, scope: Scope) -> None:
    """Raises InvalidArgumentError where the client has no such scope."""
    if scope not in client.files:
        raise InvalidArgumentError(
            f"{client.name} has no {scope} scope; it has {' and '.join(client.scopes)}."
        )


def file_of(client: Client, scope: Scope, places: Places) -> str:
    """The absolute path of the client's file, whether it is there or not."""
    return choose(candidates(client, scope, places))


def _owner(client: Client, scope: Scope) -> str:
    return f"{client.id}-{scope}"


def _record(before: Change, change: Change, known: Record | None) -> Record:
    """What to remember of a change, seen before and after a command may have run.

    The bytes from before can be restored if no entry of ours was among them; on a second change, if
    nobody has changed the file since the first.
    """
    assert change.after is not None
    written = digest(change.after)
    if known is None:
        existed = before.found.data is not None
        return Record(before.found.path, existed, not before.had, written, before.created)
    unchanged = before.found.data is not None and digest(before.found.data) == known.written
    exact = known.exact and unchanged
    return Record(known.path, known.existed, exact, written, known.created, known.directories)


def _with_directories(record: Record, made: tuple[str, ...]) -> Record:
    return Record(record.path, record.existed, record.exact, record.written, record.created, made)


def _notes(client: Client, scope: Scope, start: Launch, *, approve: bool, hooks: bool) -> list[str]:
    notes: list[str] = []
    if client.starts_in == "unknown" and scope == "user" and "--root" not in start.args:
        notes.append(
            f"{client.name} does not say in which directory it starts servers; if the wrong project is"
            " served, install again with --root DIR"
        )
    if approve and client.approval is None:
        notes.append(f"{client.name} has no setting by which tools can be approved here")
    setup = HOOKS.get(client.id)
    if hooks and (setup is None or scope not in setup.files):
        notes.append(f"{client.name} has no hooks in {scope} scope by which output could be offloaded")
    elif hooks and setup and setup.note:
        notes.append(setup.note.removesuffix("."))
    if client.note:
        notes.append(client.note.removesuffix("."))
    return notes
