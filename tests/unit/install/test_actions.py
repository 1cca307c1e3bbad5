"""Installing into every client, and taking it out again."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_offload.errors import InvalidArgumentError, RegistrationError
from mcp_offload.install import CLIENTS, Client, Installer, Launch, Places, Records, Scope, file_of, status
from mcp_offload.install.data import get
from mcp_offload.install.document import read
from mcp_offload.install.entries import entry_path, started_by
from mcp_offload.install.model import Format

START = Launch("/opt/py", ("-P", "-m", "mcp_offload", "serve"))
EVERY = [(client, scope) for client in CLIENTS.values() for scope in client.scopes]

KEPT: Mapping[Format, str] = {
    "json": '// mine\n{\n    "theme": "dark", // like this\n    %s,\n}\n',
    "toml": '# mine\nmodel = "x"   # like this\n\n%s\n\n# the last\n[tui]\nx = 1\n',
    "yaml": "# mine\ntheme:   dark  # like this\n%s\n\n# the last\nx: 1\n",
}
OTHER: Mapping[Format, str] = {
    "json": '"%s": {\n        // other\n        "other": {"command": "other"}\n    }',
    "toml": '[%s.other]\ncommand = "other"  # other',
    "yaml": "%s:\n    other:  # other\n        cmd: other",
}
BROKEN: Mapping[Format, str] = {"json": '{"mcpServers": {', "toml": "a = \n", "yaml": "a: [\n"}


def _id(value: object) -> str:
    return value.id if isinstance(value, Client) else str(value)


every = pytest.mark.parametrize(("client", "scope"), EVERY, ids=_id)


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    places = Places(system="linux", home=str(home), project=str(project), variables={})
    return Installer(places, Records(str(tmp_path / "state")))


def _file(installer: Installer, client: Client, scope: Scope) -> Path:
    return Path(file_of(client, scope, installer.places))


def _entry(installer: Installer, client: Client, scope: Scope) -> object:
    data = _file(installer, client, scope).read_bytes()
    return get(read(client.format, data), entry_path(client, scope, installer.places))


def _with_others(client: Client) -> str:
    if client.listed:
        return KEPT["yaml"] % f"{client.key[0]}:\n- name: other  # other\n  command: other"
    return KEPT[client.format] % (OTHER[client.format] % client.key[0])


def _everything(tmp_path: Path) -> dict[str, bytes]:
    """Every file below the home and the project, and every directory."""
    found: dict[str, bytes] = {}
    for top in ("home", "project"):
        for path in (tmp_path / top).rglob("*"):
            found[str(path)] = path.read_bytes() if path.is_file() else b"directory"
    return found


@every
def test_where_there_is_no_file_one_is_made_and_taken_away_again(
    installer: Installer, client: Client, scope: Scope, tmp_path: Path
) -> None:
    outcome = installer.install(client, scope, START, approve=True)
    assert outcome.action == "added"
    assert outcome.files[0] == str(_file(installer, client, scope))
    assert started_by(_entry(installer, client, scope)) == START.line
    made = _everything(tmp_path)
    assert installer.install(client, scope, START, approve=True).action == "unchanged"
    assert _everything(tmp_path) == made
    assert installer.uninstall(client, scope).action == "removed"
    assert _everything(tmp_path) == {}
    assert installer.uninstall(client, scope).action == "absent"


@every
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_what_else_stands_in_a_file_stays_as_it_is(
    installer: Installer, client: Client, scope: Scope, newline: str
) -> None:
    file = _file(installer, client, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = b"\xef\xbb\xbf" + _with_others(client).replace("\n", newline).encode()
    file.write_bytes(before)
    file.chmod(0o600)
    assert installer.install(client, scope, START, approve=False).action == "added"
    after = file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    rest = iter(after)
    assert all(byte in rest for byte in before)
    assert after.count(b"\n") == after.count(newline.encode())
    assert started_by(_entry(installer, client, scope)) == START.line
    installer.uninstall(client, scope)
    assert file.read_bytes() == before


@every
def test_a_file_that_changed_since_loses_our_entry_alone(
    installer: Installer, client: Client, scope: Scope
) -> None:
    file = _file(installer, client, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_with_others(client))
    installer.install(client, scope, START, approve=False)
    changed = file.read_text().replace("like this", "like that")
    file.write_text(changed)
    installer.uninstall(client, scope)
    assert file.read_text() == _with_others(client).replace("like this", "like that")


@every
def test_a_dry_run_writes_nothing_and_tells_all(
    installer: Installer, client: Client, scope: Scope, tmp_path: Path
) -> None:
    file = _file(installer, client, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_with_others(client))
    dry = replace(installer, dry_run=True)
    before = _everything(tmp_path)
    would = dry.install(client, scope, START, approve=True)
    assert _everything(tmp_path) == before
    assert not (tmp_path / "state").exists()
    added = [
        line[1:] for line in would.diff.split("\n") if line.startswith("+") and not line.startswith("+++")
    ]
    installer.install(client, scope, START, approve=True)
    assert would.action == "added"
    assert "/opt/py" in "".join(added)
    assert set(added) <= set("\n".join(path.read_text() for path in map(Path, would.files)).split("\n"))
    assert dry.uninstall(client, scope).action == "removed"
    assert started_by(_entry(installer, client, scope)) == START.line


@every
def test_a_file_that_cannot_be_read_is_left_alone(installer: Installer, client: Client, scope: Scope) -> None:
    file = _file(installer, client, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    for content in (
        BROKEN[client.format].encode(),
        b'"\xff\xfe"',
        b"1\n" if client.format != "toml" else b"=",
    ):
        file.write_bytes(content)
        with pytest.raises(RegistrationError, match="was left as it is") as caught:
            installer.install(client, scope, START, approve=False)
        assert str(file) in str(caught.value)
        with pytest.raises(RegistrationError, match="was left as it is"):
            installer.uninstall(client, scope)
        assert file.read_bytes() == content


def test_a_broken_file_of_approvals_stops_the_whole(installer: Installer, tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{")
    with pytest.raises(RegistrationError, match=r"settings\.json was left"):
        installer.install(CLIENTS["claude-code"], "user", START, approve=True)
    assert not (tmp_path / "home" / ".claude.json").exists()


def test_approvals_join_those_of_the_user(installer: Installer, tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = '{"permissions": {"allow": ["Bash(ls)"], "deny": []}}'
    settings.write_text(before)
    claude = CLIENTS["claude-code"]
    installer.install(claude, "user", START, approve=True)
    allowed = read("json", settings.read_bytes())["permissions"]["allow"]
    assert allowed[0] == "Bash(ls)"
    assert "mcp__offload__read_handle" in allowed
    settings.write_text(settings.read_text().replace("Bash(ls)", "Bash(cat)"))
    installer.uninstall(claude, "user")
    assert settings.read_text() == before.replace("Bash(ls)", "Bash(cat)")


def test_a_comment_that_joined_our_entry_outlives_it(installer: Installer) -> None:
    cursor = CLIENTS["cursor"]
    installer.install(cursor, "user", START, approve=False)
    file = _file(installer, cursor, "user")
    file.write_text(file.read_text().replace('    "offload"', '    // mine\n    "offload"'))
    installer.uninstall(cursor, "user")
    assert file.read_text() == '{\n  "mcpServers": {\n    // mine\n  }\n}\n'


def test_an_update_keeps_what_the_user_added(installer: Installer, tmp_path: Path) -> None:
    roo = CLIENTS["roo"]
    installer.install(roo, "project", START, approve=True)
    file = _file(installer, roo, "project")
    file.write_text(file.read_text().replace('"command"', '"timeout": 99,\n      "command"'))
    moved = Launch("/new/py", START.args)
    assert installer.install(roo, "project", moved, approve=False).action == "updated"
    entry = read("json", file.read_bytes())["mcpServers"]["offload"]
    assert (entry["command"], entry["timeout"]) == ("/new/py", 99)
    assert "read_handle" in entry["alwaysAllow"]
    installer.uninstall(roo, "project")
    assert not file.exists()


def test_an_update_of_an_unchanged_file_still_restores_what_was_first(installer: Installer) -> None:
    zed = CLIENTS["zed"]
    file = _file(installer, zed, "user")
    file.parent.mkdir(parents=True)
    before = _with_others(zed)
    file.write_text(before)
    installer.install(zed, "user", START, approve=False)
    outcome = installer.install(zed, "user", Launch("/new/py", START.args), approve=False)
    assert outcome.action == "updated"
    assert [Path(backup).read_text() for backup in outcome.backups] == [before]
    installer.uninstall(zed, "user")
    assert file.read_text() == before


def test_an_update_of_a_changed_file_restores_no_older_one(installer: Installer) -> None:
    zed = CLIENTS["zed"]
    file = _file(installer, zed, "user")
    file.parent.mkdir(parents=True)
    file.write_text('{\n  "theme": "dark"\n}\n')
    installer.install(zed, "user", START, approve=False)
    file.write_text(file.read_text().replace("dark", "light"))
    installer.install(zed, "user", Launch("/new/py", START.args), approve=False)
    installer.uninstall(zed, "user")
    assert file.read_text() == '{\n  "theme": "light"\n}\n'


def test_a_file_of_ours_goes_though_its_entry_was_changed(installer: Installer) -> None:
    client = CLIENTS["continue"]
    installer.install(client, "user", START, approve=False)
    file = _file(installer, client, "user")
    file.write_text(file.read_text().replace("/opt/py", "/other/py"))
    installer.uninstall(client, "user")
    assert not file.exists()
    installer.install(client, "user", START, approve=False)
    file.write_text(file.read_text() + "models: []\n")
    installer.uninstall(client, "user")
    assert read("yaml", file.read_bytes()) == {**client.new_file, "models": []}


def test_an_entry_from_before_is_not_brought_back(installer: Installer) -> None:
    cursor = CLIENTS["cursor"]
    file = _file(installer, cursor, "user")
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"offload": {"command": "old"}, "x": {}}}')
    assert installer.install(cursor, "user", START, approve=False).action == "updated"
    installer.uninstall(cursor, "user")
    assert read("json", file.read_bytes()) == {"mcpServers": {"x": {}}}


def test_uninstalling_without_a_record_takes_the_entry_out(installer: Installer, tmp_path: Path) -> None:
    cursor = CLIENTS["cursor"]
    installer.install(cursor, "user", START, approve=False)
    elsewhere = Installer(installer.places, Records(str(tmp_path / "other-state")))
    assert elsewhere.uninstall(cursor, "user").action == "removed"
    assert read("json", _file(installer, cursor, "user").read_bytes()) == {"mcpServers": {}}


def test_two_scopes_of_one_file_come_out_in_any_order(installer: Installer, tmp_path: Path) -> None:
    claude = CLIENTS["claude-code"]
    for order in (("user", "local"), ("local", "user")):
        file = tmp_path / "home" / ".claude.json"
        file.write_text('{"numStartups": 3}')
        installer.install(claude, "user", START, approve=False)
        installer.install(claude, "local", START, approve=False)
        for scope in order:
            installer.uninstall(claude, scope)
        assert file.read_text() == '{"numStartups": 3}'


def test_a_link_is_followed_and_stays_a_link(installer: Installer, tmp_path: Path) -> None:
    zed = CLIENTS["zed"]
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_text("{}")
    link = tmp_path / "home" / ".config" / "zed" / "settings.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(dotfiles)
    installer.install(zed, "user", START, approve=False)
    assert link.is_symlink()
    assert "offload" in dotfiles.read_text()


def test_of_two_names_the_one_that_exists_is_edited(installer: Installer) -> None:
    opencode = CLIENTS["opencode"]
    named = Path(installer.places.project) / "opencode.jsonc"
    named.write_text("{\n  // mine\n}\n")
    assert installer.install(opencode, "project", START, approve=False).files == (str(named),)
    assert not named.with_name("opencode.json").exists()


def test_backups_are_private(installer: Installer, tmp_path: Path) -> None:
    cursor = CLIENTS["cursor"]
    file = _file(installer, cursor, "user")
    file.parent.mkdir(parents=True)
    file.write_text('{"token": "secret"}')
    (backup,) = installer.install(cursor, "user", START, approve=False).backups
    assert Path(backup).read_text() == '{"token": "secret"}'
    assert stat.S_IMODE(Path(backup).stat().st_mode) == 0o600
    for directory in (Path(backup).parent, tmp_path / "state"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_without_a_backup_nothing_is_written(installer: Installer, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the directory should be")
    with pytest.raises(RegistrationError, match="No backup"):
        installer.install(CLIENTS["cursor"], "user", START, approve=False)
    assert not _file(installer, CLIENTS["cursor"], "user").exists()


def test_a_directory_in_the_place_of_a_file_is_told(installer: Installer) -> None:
    _file(installer, CLIENTS["cursor"], "user").mkdir(parents=True)
    with pytest.raises(RegistrationError, match="cannot be read"):
        installer.install(CLIENTS["cursor"], "user", START, approve=False)


def test_a_scope_that_a_client_lacks_is_told(installer: Installer) -> None:
    with pytest.raises(InvalidArgumentError, match="Windsurf has no project scope; it has user"):
        installer.install(CLIENTS["windsurf"], "project", START, approve=False)


def _program(installer: Installer, tmp_path: Path, name: str, script: str) -> Installer:
    """An installer that finds a program of that name on its path."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return replace(installer, places=replace(installer.places, search_path=str(directory)))


def test_a_careful_command_of_the_client_is_used(installer: Installer, tmp_path: Path) -> None:
    home = installer.places.home
    entry = '{"type":"stdio","command":"/opt/py","args":["-P","-m","mcp_offload","serve"],"alwaysLoad":true}'
    written = f'{{"startups":1,"mcpServers":{{"offload":{entry}}}}}'
    script = f"echo \"$*\" >> '{tmp_path}/calls'\necho '{written}' > '{home}/.claude.json'"
    own = _program(installer, tmp_path, "claude", script)
    claude = CLIENTS["claude-code"]
    outcome = own.install(claude, "user", START, approve=False)
    line = "mcp add-json offload " + json.dumps(json.loads(entry)) + " -s user"
    assert (tmp_path / "calls").read_text() == f"{line}\n"
    assert outcome.command[:4] == ("claude", "mcp", "add-json", "offload")
    assert Path(home, ".claude.json").read_text() == f"{written}\n"
    assert own.install(claude, "user", START, approve=False).action == "unchanged"
    assert (tmp_path / "calls").read_text() == f"{line}\n"
    assert own.uninstall(claude, "user").action == "removed"
    assert not Path(home, ".claude.json").exists()


def test_a_careful_command_takes_the_entry_out_of_a_file_that_has_changed(
    installer: Installer, tmp_path: Path
) -> None:
    claude = CLIENTS["claude-code"]
    installer.install(claude, "user", START, approve=False)
    file = _file(installer, claude, "user")
    file.write_text(file.read_text().replace("{", '{"startups": 2,', 1))
    left = '{"startups":3,"mcpServers":{}}'
    script = f"echo \"$*\" >> '{tmp_path}/calls'\necho '{left}' > '{file}'"
    own = _program(installer, tmp_path, "claude", script)
    assert own.uninstall(claude, "user").action == "removed"
    assert (tmp_path / "calls").read_text() == "mcp remove offload -s user\n"
    assert file.read_text() == f"{left}\n"


def test_a_command_that_fails_is_made_up_for(installer: Installer, tmp_path: Path) -> None:
    own = _program(installer, tmp_path, "claude", "exit 3")
    claude = CLIENTS["claude-code"]
    outcome = own.install(claude, "user", START, approve=False)
    assert outcome.command == ()
    assert "status 3" in outcome.notes[-1]
    assert started_by(_entry(own, claude, "user")) == START.line


def test_a_command_that_would_lose_comments_is_not_run(installer: Installer, tmp_path: Path) -> None:
    own = _program(installer, tmp_path, "codex", f"touch '{tmp_path}/called'")
    assert own.install(CLIENTS["codex"], "user", START, approve=False).command == ()
    assert not (tmp_path / "called").exists()


def test_the_state_of_a_client_is_told(installer: Installer, tmp_path: Path) -> None:
    cursor = CLIENTS["cursor"]
    assert status(cursor, installer.places, "/opt/py").found is False

    def state(interpreter: str) -> str:
        return status(cursor, installer.places, interpreter).registrations[0].state

    assert state("/opt/py") == "absent"
    installer.install(cursor, "user", START, approve=False)
    assert state("/opt/py") == "registered"
    assert state("/new/py") == "broken"
    installer.install(cursor, "user", Launch("/bin/sh", START.args), approve=False)
    assert state("/new/py") == "elsewhere"
    file = _file(installer, cursor, "user")
    file.write_text('{"mcpServers": {"offload": {"url": "https://example.org"}}}')
    assert state("/opt/py") == "foreign"
    file.write_text("{")
    found = status(cursor, installer.places, "/opt/py")
    assert found.registrations[0].state == "unreadable"
    assert "line 1" in found.registrations[0].problem
    assert found.found is True
    program = _program(installer, tmp_path, "codex", "")
    assert status(CLIENTS["codex"], program.places, "/opt/py").found is True
