"""What clients' hooks are set up with: a table, and the files and items it comes to.

Sources: what each client did with it when it ran, at the version in ``verified``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, cast

from mcp_offload.errors import RegistrationError
from mcp_offload.install.data import MISSING, get
from mcp_offload.install.document import read
from mcp_offload.install.entries import START
from mcp_offload.install.files import choose, read_file
from mcp_offload.install.model import Client, Element, Launch, Path, Places, Scope
from mcp_offload.install.places import fill
from mcp_offload.install.plugin import PLUGIN

MODULE: Final = START[:-1]
"""Arguments of the interpreter before the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """One row of the table.

    Attributes:
        files: by scope, the file that holds the hooks; templates as in the table of clients.
        way: what the client lets a hook do with a command that prints a log.
        items: by path in the file, what is put into the list there; ``$HOOK EVENT`` is filled in.
        allowed: where the client lists commands that it need not ask about, and what is listed there:
            ``$CAPTURE`` is filled in. It lists the end of the pipe alone, which stores what it reads.
        allowed_files: by scope, where that is another file.
        text: the file is ours alone and holds this; ``$LINE EVENT`` becomes a list in JSON.
        verified: the version with which it is tested.
        note: what a user should know, as one sentence.
    """

    files: Mapping[Scope, str]
    way: Literal["rewrite", "replace"]
    items: Mapping[tuple[str, ...], Mapping[str, object]] = field(
        default_factory=dict[tuple[str, ...], Mapping[str, object]]
    )
    allowed: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    text: str = ""
    verified: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file and what has to stand in it: items of lists, or all of its text."""

    path: str
    items: tuple[tuple[Path, object], ...] = ()
    text: str = ""


def _group(matcher: str, event: str) -> Mapping[str, object]:
    command = {"type": "command", "command": f"$HOOK {event}"}
    return MappingProxyType({"matcher": matcher, "hooks": [command]})


_STARTED_ANEW: Final = "clear|compact"

HOOKS: Final[Mapping[str, Hooks]] = MappingProxyType(
    {
        "claude-code": Hooks(
            files={
                "user": "{env:CLAUDE_CONFIG_DIR|{home}/.claude}/settings.json",
                "project": "{project}/.claude/settings.json",
                "local": "{project}/.claude/settings.local.json",
            },
            way="rewrite",
            items={
                ("hooks", "PreToolUse"): _group("Bash", "PreToolUse"),
                ("hooks", "SessionStart"): _group(_STARTED_ANEW, "SessionStart"),
            },
            allowed=(("permissions", "allow"), ("Bash(set -o pipefail)", "Bash($CAPTURE --name:*)")),
            verified="2.1.197",
        ),
        "codex": Hooks(
            files={
                "user": "{env:CODEX_HOME|{home}/.codex}/hooks.json",
                "project": "{project}/.codex/hooks.json",
            },
            way="rewrite",
            items={
                ("hooks", "PreToolUse"): _group("^Bash$", "PreToolUse"),
                ("hooks", "PostToolUse"): _group("^Bash$", "PostToolUse"),
                ("hooks", "SessionStart"): _group(_STARTED_ANEW, "SessionStart"),
            },
            verified="0.171.0",
            note="Codex runs hooks once they are trusted: start it and look through /hooks.",
        ),
        "gemini": Hooks(
            files={"user": "{home}/.gemini/settings.json", "project": "{project}/.gemini/settings.json"},
            way="rewrite",
            items={
                ("hooks", "BeforeTool"): _group("run_shell_command", "BeforeTool"),
                ("hooks", "SessionStart"): _group("clear", "SessionStart"),
            },
            allowed=(
                ("tools", "allowed"),
                ("run_shell_command(set)", "run_shell_command($CAPTURE --name)"),
            ),
            verified="0.61.0",
        ),
        "copilot": Hooks(
            files={
                "user": "{env:COPILOT_HOME|{home}/.copilot}/hooks/mcp-offload.json",
                "project": "{project}/.github/hooks/mcp-offload.json",
            },
            way="replace",
            text='{"version": 1, "hooks": {"postToolUse": [\n'
            '  {"type": "command", "bash": "$HOOK postToolUse"}\n]}}\n',
            verified="1.0.102",
        ),
        "opencode": Hooks(
            files={
                "user": "{config}/opencode/plugin/mcp-offload.js",
                "project": "{project}/.opencode/plugin/mcp-offload.js",
            },
            way="replace",
            text=PLUGIN,
            verified="1.18.33",
        ),
    }
)
"""Every client whose hooks can have output offloaded, by its name on the command line."""


def hook_files(client: Client, scope: Scope, places: Places, start: Launch) -> list[HookFile]:
    """What must stand in which file, for hooks that store where the server of ``start`` does."""
    hooks = HOOKS.get(client.id)
    if hooks is None or scope not in hooks.files:
        return []
    path = fill(hooks.files[scope], places)
    if hooks.text:
        return [HookFile(path, text=_text(hooks.text, client, start))]
    items: list[tuple[Path, object]] = [
        ((*where, Element(_mark(client, group), within=True)), _filled(group, client, start))
        for where, group in hooks.items.items()
    ]
    key, allowed = hooks.allowed
    capture = shlex.join([start.command, *MODULE, "capture", *start.args[len(START) :]])
    for text in allowed:
        item = text.replace("$CAPTURE", capture)
        ours = Element(f"{shlex.join(MODULE)} capture", within=True)
        items.append(((*key, ours if item != text else Element(item)), item))
    return [HookFile(path, tuple(items))]


def hooks_are_set_up(client: Client, scope: Scope, places: Places) -> bool:
    """Whether the client runs a hook of ours, of this installation or another."""
    return any(_stands(file) for file in hook_files(client, scope, places, Launch("", START)))


def _stands(file: HookFile) -> bool:
    try:
        found = read_file(choose([file.path]))
        if found.data is None:
            return False
        if file.text:
            return is_our_text(found.data)
        values = read("json", found.data)
    except RegistrationError:
        return False
    return any(get(values, path) is not MISSING for path, _ in file.items if path[0] == "hooks")


def hook_line(client: Client, event: str, start: Launch) -> list[str]:
    """The command line that answers an event."""
    return [start.command, *MODULE, "hook", client.id, event, *start.args[len(START) :]]


def is_our_text(data: bytes) -> bool:
    """Whether a file that should be ours alone is."""
    return b"mcp_offload" in data


def _mark(client: Client, group: Mapping[str, object]) -> str:
    """What a hook of ours holds, whichever interpreter it starts."""
    return f"{shlex.join(MODULE)} hook {client.id} {_event(group)}"


def _event(group: Mapping[str, object]) -> str:
    hooks = cast("list[dict[str, str]]", group["hooks"])
    return hooks[0]["command"].removeprefix("$HOOK ")


def _filled(group: Mapping[str, object], client: Client, start: Launch) -> dict[str, object]:
    command = shlex.join(hook_line(client, _event(group), start))
    return {**group, "hooks": [{"type": "command", "command": command}]}


def _text(template: str, client: Client, start: Launch) -> str:
    return "".join(_parts(template, client, start))


def _parts(template: str, client: Client, start: Launch) -> Iterator[str]:
    """The template with ``$HOOK EVENT`` as a shell's line in a string and ``$LINE EVENT`` as a list."""
    for word in template.split("$"):
        if word.startswith("HOOK "):
            event, quote, rest = word.removeprefix("HOOK ").partition('"')
            yield json.dumps(shlex.join(hook_line(client, event, start)))[1:-1] + quote + rest
        elif word.startswith("LINE "):
            event, end, rest = word.removeprefix("LINE ").partition(";")
            yield json.dumps(hook_line(client, event, start)) + end + rest
        else:
            yield word
