"""What is known about a client, and about the machine on which it is configured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

Scope = Literal["user", "project", "local"]
System = Literal["linux", "macos", "windows"]
Format = Literal["json", "toml", "yaml"]
StartsIn = Literal["project", "unknown", "nowhere"]

SERVER_KEY: Final = "offload"
"""The name under which clients know the server; no underscore, because some build tool names with one."""

READ_ONLY_TOOLS: Final = ("outline_handle", "read_handle", "search_handles", "diff_handles", "list_artifacts")
"""The tools annotated as changing nothing; only these are ever offered for approval in advance."""


@dataclass(frozen=True, slots=True)
class Element:
    """A step of a path into an array: the element that equals ``label``, or is an object of that name.

    With ``within`` it is the element that has ``label`` anywhere in it, as JSON.
    """

    label: str
    within: bool = False

    def fits(self, value: object) -> bool:
        """True where ``value`` is the element meant."""
        if self.within:
            return self.label in json.dumps(value, ensure_ascii=False)
        name: object = cast("dict[str, object]", value).get("name") if isinstance(value, dict) else value
        return name == self.label


Path: TypeAlias = tuple["str | Element", ...]


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A client's own way to register a server.

    Attributes:
        program: its name on PATH.
        add, remove: its arguments; ``$SCOPE``, ``$KEY``, ``$COMMAND``, ``$ARGS`` (several) are filled in.
        scopes: the scopes it can serve.
        careful: it leaves everything else in its file as it was. Where it does not, it is told in the
            documentation and never run: some drop comments, and one replaces a file that it cannot read by
            one that holds the new server alone.
    """

    program: str
    add: tuple[str, ...]
    remove: tuple[str, ...]
    scopes: tuple[Scope, ...]
    careful: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """How a client is told in advance that a tool may be called.

    Attributes:
        entry: a key of the server's entry that lists tool names, or None.
        table: a key of the server's entry with one table per tool, and what the table holds, or None.
        files: by scope, another file that holds a list, or nothing.
        key: where in that file the list stands.
        item: the item of the list, with ``$TOOL``.
    """

    entry: str | None = None
    table: tuple[str, Mapping[str, object]] | None = None
    files: Mapping[Scope, str] = field(default_factory=dict[Scope, str])
    key: tuple[str, ...] = ()
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One row of the table.

    Attributes:
        files: by scope, the names its file may have; the first that exists is used, else the first.
            Templates: ``{home} {config} {support} {appdata} {project}`` and ``{env:NAME|default}``.
        windows_files: as ``files``, where Windows differs.
        key: where in the file servers stand; ``{project}`` is filled in.
        listed: servers are items of a list with a ``name``, not members of an object.
        keys: by scope, where ``key`` differs.
        entry: the server's entry; ``$COMMAND``, ``$ARGS`` and ``$LINE`` (a list of both) are filled in.
        entries: by scope, where ``entry`` differs.
        new_file: what a new file holds beside the server.
        starts_in: where the client starts its servers: ``project``, ``unknown`` (not documented) or
            ``nowhere`` (the client knows no projects).
        verified: name and version of what was run by hand, or None.
        note: what a user should know, as one sentence.
    """

    id: str
    name: str
    format: Format
    files: Mapping[Scope, tuple[str, ...]]
    key: tuple[str, ...]
    entry: Mapping[str, object]
    starts_in: StartsIn
    windows_files: Mapping[Scope, tuple[str, ...]] = field(default_factory=dict[Scope, tuple[str, ...]])
    keys: Mapping[Scope, tuple[str, ...]] = field(default_factory=dict[Scope, tuple[str, ...]])
    entries: Mapping[Scope, Mapping[str, object]] = field(default_factory=dict[Scope, Mapping[str, object]])
    listed: bool = False
    new_file: Mapping[str, object] = field(default_factory=dict[str, object])
    command: OwnCommand | None = None
    approval: Approval | None = None
    verified: str | None = None
    note: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes it has, its default first."""
        return tuple(self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The machine and its user, as far as configuration files depend on them.

    Attributes:
        home: absolute.
        project: absolute; the git root or directory that project scopes belong to.
        variables: of the environment, by name; only those that move configuration files are read.
        search_path: directories in which programs are looked for, separated as in PATH.
    """

    system: System
    home: str
    project: str
    variables: Mapping[str, str]
    search_path: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """The command line that starts the server."""

    command: str
    args: tuple[str, ...]

    @property
    def line(self) -> tuple[str, ...]:
        """Program and arguments."""
        return (self.command, *self.args)
