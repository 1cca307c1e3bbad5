"""Wrapping the servers of every client, and undoing it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_offload.install import CLIENTS, Client, Installer, Launch, Places, Records, Scope, file_of
from mcp_offload.install.data import get
from mcp_offload.install.document import read
from mcp_offload.install.entries import started_by
from mcp_offload.install.model import Element, Format
from mcp_offload.install.places import servers_path
from mcp_offload.install.wrapping import Wrapper, is_wrapped, joined

START = Launch("/opt/py", ("-P", "-m", "mcp_offload", "serve", "--store", "/s", "--root", "/r"))
WRAPPED = ("/opt/py", "-P", "-m", "mcp_offload", "wrap", "--no-tools", "--store", "/s", "--root", "/r", "--")
LINE = ("npx", "-y", "server-files", "/a b")
EVERY = [(client, scope) for client in CLIENTS.values() for scope in client.scopes]

#: The other server, in the manner of a person: with comments, odd spacing, and more than is needed.
ONE: Mapping[Format, str] = {
    "json": '// mine\n{ "x": 1,\n  %s: {\n  "files":  {"command":"npx", '
    '"args": ["-y", "server-files", "/a b"],\n    "env": {"K": "v"}, // kept\n    "timeout": 5},\n'
    '  "far": {"url": "https://x.example/mcp"}\n }\n}\n',
    "toml": '# mine\nx = 1\n[%s.files]   # files\ncommand = "npx"\nargs = ["-y", "server-files", "/a b"]\n'
    '[%s.files.env]\nK = "v"\n[%s.far]\nurl = "https://x.example/mcp"\n',
    "yaml": "# mine\nx: 1\n%s:\n  files:  # files\n    cmd: npx\n    args: [-y, server-files, /a b]\n"
    "    envs: {K: v}\n"
    "  far:\n    uri: https://x.example/mcp\n",
}


def _id(value: object) -> str:
    return value.id if isinstance(value, Client) else str(value)


every = pytest.mark.parametrize(("client", "scope"), EVERY, ids=_id)


@pytest.fixture
def wrapper(tmp_path: Path) -> Wrapper:
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    home, project = str(tmp_path / "home"), str(tmp_path / "project")
    places = Places(system="linux", home=home, project=project, variables={})
    return Wrapper(places, Records(str(tmp_path / "state")))


def _written(wrapper: Wrapper, client: Client, scope: Scope) -> Path:
    """The client's file, with two servers of somebody else's."""
    path = servers_path(client, scope, wrapper.places)
    keys = [step for step in path if isinstance(step, str)]
    if client.id == "opencode":
        servers = '{"files": {"type": "local", "command": ["npx", "-y", "server-files", "/a b"]}}'
        text = f'{{ "x": 1, // mine\n "mcp": {servers} }}\n'
    elif client.id == "cline":
        inner = '{"type": "stdio", "command": "npx", "args": ["-y", "server-files", "/a b"]}'
        text = f'{{ "mcpServers" : {{"files": {{"transport": {inner}}}}} }}\n'
    elif client.listed:
        text = f"x: 1  # mine\n{keys[0]}:\n- name: files\n  command: npx\n  args: [-y, server-files, /a b]\n"
    else:
        nested = json.dumps(keys[0]) if client.format == "json" else keys[0]
        for key in keys[1:]:
            nested += f": {{ {json.dumps(key)}"
        text = ONE[client.format].replace("%s", nested)
        text = text.replace("\n }\n}\n", "\n }" + "}" * (len(keys) - 1) + "\n}\n")
    file = Path(file_of(client, scope, wrapper.places))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def _server(wrapper: Wrapper, client: Client, scope: Scope, file: Path, name: str = "files") -> object:
    path = servers_path(client, scope, wrapper.places)
    step = Element(name) if client.listed else name
    return get(read(client.format, file.read_bytes()), (*path, step))


@every
def test_every_client_s_servers_are_wrapped_and_restored_byte_for_byte(
    wrapper: Wrapper, client: Client, scope: Scope
) -> None:
    file = _written(wrapper, client, scope)
    before = file.read_bytes()
    assert started_by(_server(wrapper, client, scope, file)) == LINE
    outcome = wrapper.wrap(client, scope, START)
    assert outcome.action == "updated"
    assert outcome.notes[0] == "wrapped: files"
    assert started_by(_server(wrapper, client, scope, file)) == (*WRAPPED, *LINE)
    assert wrapper.unwrap(client, scope).action == "removed"
    assert file.read_bytes() == before


@every
def test_in_a_file_that_changed_meanwhile_only_the_commands_go_back(
    wrapper: Wrapper, client: Client, scope: Scope
) -> None:
    file = _written(wrapper, client, scope)
    wrapper.wrap(client, scope, START)
    changed = file.read_text(encoding="utf-8").replace("mine", "still mine")
    if changed == file.read_text(encoding="utf-8"):
        changed += "\n"
    file.write_text(changed, encoding="utf-8")
    assert wrapper.unwrap(client, scope).action == "removed"
    after = file.read_text(encoding="utf-8")
    assert started_by(_server(wrapper, client, scope, file)) == LINE
    assert ("still mine" in after) == ("still mine" in changed)
    assert "mcp_offload" not in after


def test_what_else_an_entry_says_stays(wrapper: Wrapper) -> None:
    client = CLIENTS["cursor"]
    file = _written(wrapper, client, "user")
    wrapper.wrap(client, "user", START)
    text = file.read_text(encoding="utf-8")
    assert '"env": {"K": "v"}, // kept\n    "timeout": 5}' in text
    assert '"far": {"url": "https://x.example/mcp"}' in text


def test_a_server_by_url_is_left_alone_and_named(wrapper: Wrapper) -> None:
    _written(wrapper, CLIENTS["cursor"], "user")
    outcome = wrapper.wrap(CLIENTS["cursor"], "user", START)
    assert outcome.notes[1] == "far is no program, so it was left as it is; see wrap --url"


def test_wrapping_twice_changes_nothing_more(wrapper: Wrapper) -> None:
    client = CLIENTS["cursor"]
    file = _written(wrapper, client, "user")
    before = file.read_bytes()
    wrapper.wrap(client, "user", START)
    once = file.read_bytes()
    assert wrapper.wrap(client, "user", START).action == "unchanged"
    assert file.read_bytes() == once
    wrapper.unwrap(client, "user")
    assert file.read_bytes() == before
    assert wrapper.unwrap(client, "user").action == "absent"


def test_a_server_added_later_is_wrapped_as_well_and_all_is_undone(wrapper: Wrapper) -> None:
    client = CLIENTS["cursor"]
    file = _written(wrapper, client, "user")
    wrapper.wrap(client, "user", START)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"far":', '"git": {"command": "uvx"}, "far":'), encoding="utf-8")
    assert wrapper.wrap(client, "user", START).notes[0] == "wrapped: git"
    wrapper.unwrap(client, "user")
    assert started_by(_server(wrapper, client, "user", file)) == LINE
    assert _server(wrapper, client, "user", file, "git") == {"command": "uvx"}


def test_our_own_server_is_never_wrapped(wrapper: Wrapper) -> None:
    client = CLIENTS["cursor"]
    file = _written(wrapper, client, "user")
    Installer(wrapper.places, wrapper.records).install(client, "user", START, approve=False)
    outcome = wrapper.wrap(client, "user", START)
    assert outcome.notes[0] == "wrapped: files"
    assert not is_wrapped(started_by(_server(wrapper, client, "user", file, "offload")))


def test_installed_and_wrapped_both_are_undone_in_turn(wrapper: Wrapper) -> None:
    client = CLIENTS["cursor"]
    file = _written(wrapper, client, "user")
    before = file.read_bytes()
    installer = Installer(wrapper.places, wrapper.records)
    first = installer.install(client, "user", START, approve=False)
    both = joined(first, wrapper.wrap(client, "user", START))
    assert both.action == "added"
    assert len(both.files) == 1
    wrapper.unwrap(client, "user")
    installer.uninstall(client, "user")
    assert file.read_bytes() == before


def test_a_rehearsal_writes_nothing(wrapper: Wrapper, tmp_path: Path) -> None:
    client = CLIENTS["cursor"]
    file = _written(wrapper, client, "user")
    before = file.read_bytes()
    rehearsal = Wrapper(wrapper.places, wrapper.records, dry_run=True)
    outcome = rehearsal.wrap(client, "user", START)
    assert '+  "files":  {"command":"/opt/py"' in outcome.diff
    assert file.read_bytes() == before
    assert not (tmp_path / "state").exists()


def test_where_nothing_is_registered_there_is_nothing_to_wrap(wrapper: Wrapper) -> None:
    assert wrapper.wrap(CLIENTS["cursor"], "user", START).action == "unchanged"
    assert wrapper.unwrap(CLIENTS["cursor"], "user").action == "absent"
