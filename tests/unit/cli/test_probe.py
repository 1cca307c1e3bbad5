"""The probe against small servers that each do one thing wrong."""

from __future__ import annotations

import sys

import pytest

from mcp_offload.cli import probe
from mcp_offload.cli.probe import LEGACY, MODERN, ProbeError, converse, server_command
from mcp_offload.settings import Settings

pytestmark = pytest.mark.process

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    info = {"name": "tiny", "version": "3"}
    result = {
        "initialize": {"serverInfo": info},
        "server/discover": {"_meta": {"io.modelcontextprotocol/serverInfo": info}},
        "tools/list": {"tools": [{"name": "a"}, {"name": "b"}]},
    }.get(message["method"])
    if message["method"] == "tools/call":
        assert message["params"]["arguments"] == {}
        answer = {"error": {"code": -32602, "message": "arguments are missing"}}
    else:
        answer = {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}), flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_good_server_is_greeted_listed_called_and_ended(version: str) -> None:
    session = converse(_python(SERVER), version)
    assert (session.name, session.tools) == ("tiny 3", 2)
    assert 0 < session.greeting_seconds <= session.call_seconds
    assert session.end_seconds > 0


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("import sys; sys.exit('no store here')", "it said: no store here"),
        ("print('Welcome!', flush=True); input()", "something else than protocol.*Welcome"),
        ("input()", "it ended without answering initialize"),
        (SERVER.replace('"tools": [{"name": "a"}, {"name": "b"}]', '"tools": []'), "it listed no tools"),
        (
            SERVER.replace('"method"] == "tools/call"', '"method"] == "tools/list"').replace("assert", "#"),
            "error -32602: arguments are missing",
        ),
        (SERVER + "\nsys.exit(3)", "exit status 3"),
    ],
)
def test_a_bad_server_is_told_apart_by_what_it_did(code: str, complaint: str) -> None:
    with pytest.raises(ProbeError, match=complaint):
        converse(_python(code), LEGACY)


def test_a_server_that_never_answers_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_ANSWER_SECONDS", 0.2)
    with pytest.raises(ProbeError, match="did not answer initialize"):
        converse(_python("import sys; sys.stdin.read()"), LEGACY)


def test_a_server_that_outlives_its_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_END_SECONDS", 0.2)
    stubborn = SERVER + "\nimport time\ntime.sleep(60)"
    with pytest.raises(ProbeError, match="still ran"):
        converse(_python(stubborn), LEGACY)


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(ProbeError, match="could not be started"):
        converse(["/nonexistent/program"], LEGACY)


def test_the_server_is_started_with_these_settings() -> None:
    settings = Settings(
        store_dir="/s", state_dir="/t", roots=("/a", "/b"), base_dir="/a", workspace="w", tools="all"
    )
    command = server_command(settings)
    assert command[:5] == [sys.executable, "-P", "-m", "mcp_offload", "serve"]
    assert command[5:] == [
        *("--store", "/s", "--state", "/t", "--workspace", "w", "--tools", "all"),
        *("--root", "/a", "--root", "/b"),
    ]
