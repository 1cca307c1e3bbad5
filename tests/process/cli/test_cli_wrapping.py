"""Wrapping a client's servers from a shell."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.process

ENTRY = '{"command": "npx", "args": ["-y", "files"], "env": {"A": "b"}}'
BEFORE = f'{{"mcpServers": {{\n  "fs": {ENTRY} // mine\n}}}}\n'


def test_servers_are_wrapped_with_the_installation_and_unwrapped_with_its_end(shell: Any) -> None:
    file = shell.home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(BEFORE)
    assert "wrapped: fs" in shell.text("install", "cursor", "--wrap", "--dry-run")
    assert file.read_text() == BEFORE
    assert "note: wrapped: fs" in shell.text("install", "cursor", "--wrap")
    servers = json.loads(file.read_text().replace("// mine", ""))["mcpServers"]
    wrap = ["-P", "-m", "mcp_offload", "wrap", "--no-tools"]
    assert servers["fs"]["command"] == sys.executable
    assert servers["fs"]["args"][:5] == wrap
    assert servers["fs"]["args"][-4:] == ["--", "npx", "-y", "files"]
    assert list(servers) == ["fs", "offload"]
    shell.text("uninstall", "cursor", "--wrap")
    assert list(json.loads(file.read_text().replace("// mine", ""))["mcpServers"]) == ["fs", "offload"]
    assert "npx" in file.read_text()
    assert '"wrap"' not in file.read_text()
    shell.text("install", "cursor", "--wrap")
    shell.text("uninstall", "cursor")
    assert file.read_text() == BEFORE


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "Name the server to wrap: its command line after --, or its address with --url."),
        (["--url", "http://x", "--", "y"], "Name the server to wrap"),
        (["--url", "ftp://x"], "--url takes an address that starts with http:// or https://."),
        (["--header", "A: b", "--", "x"], "--header belongs to --url."),
        (["--url", "http://x", "--header", "secret"], "A header is written 'NAME: VALUE'."),
        (["--url", "http://x", "--header", "A: ${NO_SUCH_1}"], "The variable NO_SUCH_1, which a header"),
        (["--tool", "x", "--", "y"], "--tool takes NAME=never, NAME=always or NAME=TOKENS, not 'x'."),
        (["--tool", "x=-1", "--", "y"], "--tool takes NAME=never"),
        (["--threshold-tokens", "3", "--", "y"], "--threshold-tokens must be at least 100"),
        (["--silence", "0", "--", "y"], "--silence takes a positive number of seconds."),
    ],
)
def test_what_cannot_be_wrapped_is_said(shell: Any, options: list[str], complaint: str) -> None:
    done = shell.run("wrap", *options)
    assert done.returncode == 2
    assert complaint in done.stderr.decode()
    assert b"secret" not in done.stderr
