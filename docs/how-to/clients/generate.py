"""Writes the pages of this directory from the table of clients.

Run by ``make docs``; a test holds the pages equal to what this writes.
"""

from __future__ import annotations

import base64
import json
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

from mcp_offload.install import CLIENTS, Client, Launch, Places, Scope, launch, snippet
from mcp_offload.install.document import Put, edited
from mcp_offload.install.entries import own_command_line
from mcp_offload.install.hooks import HOOKS, hook_files
from mcp_offload.install.model import READ_ONLY_TOOLS
from mcp_offload.install.places import fill

HERE = Path(__file__).resolve().parent
NOTICE = "<!-- Written by `make docs`; edit the code instead. -->\n\n"

INTERPRETER = "/home/you/.local/share/uv/tools/mcp-offload/bin/python"
LINUX = Places(system="linux", home="~", project=".", variables={})
MACOS = Places(system="macos", home="~", project=".", variables={})
LANGUAGES = {"json": "json", "toml": "toml", "yaml": "yaml"}

WORKSPACE = {
    "project": "It starts servers in the project, so the workspace is right in every scope.",
    "unknown": "It does not document where it starts servers. In project scope the project is named in the\n"
    "entry; in user scope, install with `--root DIR` if `mcp-offload` serves the wrong directory.",
    "nowhere": "It knows no projects: name the directory to work in with `--root DIR`, once or more often.",
}

LIMITS = {
    "claude-code": "It puts replies over 50,000 characters into a file. Ours have at most 10,000 bytes.",
    "codex": "It cuts replies at about 12,000 characters. Ours have at most 10,000 bytes, so nothing is cut.",
    "gemini": "It cuts replies at 40,000 characters. Ours have at most 10,000 bytes, so nothing is cut.",
}


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    return {"README.md": NOTICE + index(), **{f"{c.id}.md": NOTICE + page(c) for c in CLIENTS.values()}}


def index() -> str:
    rows = [
        f"| [{one.name}]({one.id}.md) | {', '.join(one.scopes)} | {one.verified or 'unverified'} |"
        for one in CLIENTS.values()
    ]
    table = "\n".join(["| client | scopes | verified with |", "|---|---|---|", *rows])
    return f"""# Clients

    uv tool install mcp-offload        # or: pipx install mcp-offload
    mcp-offload install claude-code    # or any other name below
    mcp-offload status

`--dry-run` shows the difference and writes nothing, `--print` prints the entry alone, `--scope` chooses where
it goes, `--approve-reads` lets the tools that only read run without asking, where the client has a setting
for that, `--hooks` has long output of its commands offloaded ([how](../../explanation/hooks.md)).
`mcp-offload uninstall CLIENT` undoes it: a file that was not changed since becomes what it was,
byte for byte, otherwise the entry alone is taken out. A file that cannot be read is never written to.

{table}

*Unverified* means that the entry follows the client's documentation and that nobody has tried it here;
[compatibility](../../compatibility.md) tells how the others were tried.

## One click

These need `mcp-offload` on the PATH of the editor.

- [Add to Cursor]({cursor_link()})
- [Add to VS Code]({vscode_link()})
"""


def page(client: Client) -> str:
    start = _launch(client, client.scopes[0])
    command = f"mcp-offload install {client.id}" + (" --root DIR" if client.starts_in == "nowhere" else "")
    tried = (
        f"Verified with {client.verified}" if client.verified else "Unverified: it follows the documentation"
    )
    parts = [f"# {client.name}", f"    {command}", f"{tried}.{_note(client)}", "## What it writes"]
    parts.append(_files(client))
    text = snippet(client, client.scopes[0], LINUX, start, approve=False)
    parts.append(f"```{LANGUAGES[client.format]}\n{text}```")
    if "user" in client.scopes and "local" in client.scopes:
        parts.append("In local scope the same stands under `projects`, below the path of the project.")
    parts += ["## Workspace", WORKSPACE[client.starts_in]]
    if client.id in LIMITS:
        parts += ["## Long replies", LIMITS[client.id]]
    parts += ["## Approval", _approval(client)]
    if client.id in HOOKS:
        parts += ["## Hooks", _hooks(client, start)]
    if client.command:
        parts += ["## By its own command", _own(client, start)]
    return "\n\n".join(parts) + "\n"


def _launch(client: Client, scope: Scope) -> Launch:
    roots = ["/home/you/project"] if client.starts_in == "nowhere" else []
    return launch(client, scope, LINUX, INTERPRETER, (), roots)


def _note(client: Client) -> str:
    return f" {client.note}" if client.note else ""


def _files(client: Client) -> str:
    rows = ["| scope | file |", "|---|---|"]
    for scope in client.scopes:
        linux, macos = _path(client, scope, LINUX), _path(client, scope, MACOS)
        told = f"`{linux}`" if linux == macos else f"`{linux}`; on macOS `{macos}`"
        rows.append(f"| {scope} | {told} |")
    return "\n".join(rows)


def _path(client: Client, scope: Scope, places: Places) -> str:
    return fill(client.files[scope][0], places)


def _approval(client: Client) -> str:
    approval = client.approval
    tools = ", ".join(f"`{tool}`" for tool in READ_ONLY_TOOLS)
    if approval is None:
        return "`--approve-reads` changes nothing here: approve the tools in the client, when it asks."
    if approval.files:
        names = " or ".join(f"`{fill(name, LINUX)}`" for name in approval.files.values())
        where = f"in `{'.'.join(approval.key)}` of {names}, by scope"
    else:
        where = "in the entry"
    return f"`--approve-reads` allows {tools} {where}."


def _hooks(client: Client, start: Launch) -> str:
    hooks = HOOKS[client.id]
    how = (
        "sends the output of builds and tests through `mcp-offload capture`, whatever the model runs"
        if hooks.way == "rewrite"
        else "replaces the long output of builds and tests by its digest, whatever the model runs"
    )
    (file, *_) = hook_files(client, client.scopes[0], LINUX, start)
    shown = file.text if file.path.endswith(".js") else ""
    text = shown or edited("json", file.text.encode(), [Put(*item) for item in file.items]).decode()
    note = f" {hooks.note}" if hooks.note else ""
    if shown:
        return (
            f"`mcp-offload install {client.id} --hooks` {how}: it puts a plugin into `{file.path}`.{note}\n\n"
            "[Hooks](../../explanation/hooks.md) tells what is offloaded and what stays as it is."
        )
    return (
        f"`mcp-offload install {client.id} --hooks` {how}. In `{file.path}` stands then:{note}\n\n"
        f"```json\n{text}```\n\n"
        "[Hooks](../../explanation/hooks.md) tells what is offloaded and what stays as it is."
    )


def _own(client: Client, start: Launch) -> str:
    assert client.command is not None
    line = shlex.join(own_command_line(client, client.command, client.command.add, "user", start))
    if client.command.careful:
        return f"    {line}\n\n`mcp-offload install` runs this where it can; else it edits the file."
    return (
        f"    {line}\n\nThis works as well. `mcp-offload install` edits the file instead, since the command\n"
        "changes more than it adds: see [compatibility](../../compatibility.md)."
    )


def cursor_link() -> str:
    """Source: Cursor's documentation of install links: the entry as JSON in base64."""
    config = base64.b64encode(json.dumps({"command": "mcp-offload", "args": ["serve"]}).encode()).decode()
    return f"https://cursor.com/install-mcp?name=offload&config={quote(config, safe='')}"


def vscode_link() -> str:
    """Source: VS Code's documentation of its URL handler: the entry as JSON, behind a redirect."""
    config = json.dumps(
        {"name": "offload", "command": "mcp-offload", "args": ["serve"]}, separators=(",", ":")
    )
    return "https://insiders.vscode.dev/redirect?url=" + quote(f"vscode:mcp/install?{quote(config)}", safe="")


def main() -> int:
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
        print(HERE / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
