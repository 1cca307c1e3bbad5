"""A real process that serves over HTTP: what it says, how it ends, what it refuses."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interaction.requirements import covers
from tests.process.stdio.rig import ENVELOPE, PATIENCE_SECONDS, server_command

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
)
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

# The server with one tool made endless, which says so when it is stopped.
SLOW = """
import itertools, sys, threading
from mcp_offload.service.facade import OffloadService
def read(self, handles, *, max_tokens=None, session=None, monitor):
    pause = threading.Event()
    try:
        for step in itertools.count(1):
            monitor.advance(step, None)
            pause.wait(0.01)
    except BaseException as error:
        print("stopped by", type(error).__name__, file=sys.stderr, flush=True)
        raise
OffloadService.read = read
from mcp_offload.__main__ import main
sys.exit(main())
"""


class Served:
    """A running server and its port."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        self.connections: list[http.client.HTTPConnection] = []

    def connection(self) -> http.client.HTTPConnection:
        """A fresh connection, closed after the test."""
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        self.connections.append(made)
        return made


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    command = server_command(tmp_path, "--http", "0")
    if hasattr(request, "param"):
        command[1:3] = ["-c", request.param]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        told = process.stderr.readline().decode()
        found = re.fullmatch(r"mcp-offload serves MCP on http://127\.0\.0\.1:(\d+)/mcp\n", told)
        assert found, told
        server = Served(process, int(found[1]))
        yield server
        for connection in server.connections:
            connection.close()
    finally:
        process.kill()
        process.communicate()


@covers("http-end")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_running_upload_ends_before_the_server_does(served: Served, number: signal.Signals) -> None:
    connection = served.connection()
    connection.putrequest("PUT", "/artifacts?name=a.txt")
    connection.putheader("Content-Length", "3000000")
    connection.endheaders(b"x" * 1_500_000)
    health = served.connection()
    health.request("GET", "/healthz")
    assert health.getresponse().read().startswith(b'{"status":"ok"')
    served.process.send_signal(number)
    connection.send(b"x" * 1_500_000)
    assert connection.getresponse().status == 201
    assert served.process.wait(PATIENCE_SECONDS) == 0
    assert served.process.stdout is not None
    assert served.process.stdout.read() == b""


@covers("http-end")
def test_an_open_stream_of_events_does_not_keep_it(served: Served) -> None:
    opening = served.connection()
    opening.request("POST", "/mcp", HELLO, ACCEPT)
    answer = opening.getresponse()
    answer.read()
    session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
    listening = served.connection()
    listening.request("GET", "/mcp", headers={**ACCEPT, **session})
    events = listening.getresponse()
    assert events.status == 200
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(PATIENCE_SECONDS) == 0
    events.close()


@covers("http-end")
@pytest.mark.parametrize("served", [SLOW], indirect=True)
def test_a_call_that_does_not_end_is_stopped_with_the_server(served: Served) -> None:
    params = {
        "name": "read_handle",
        "arguments": {"handles": ["x"]},
        "_meta": {**ENVELOPE, "progressToken": "t"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read_handle"}
    calling = served.connection()
    calling.request("POST", "/mcp", json.dumps(body), {**ACCEPT, **headers})
    stream = calling.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")
    while b"notifications/progress" not in stream.readline():
        pass
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(PATIENCE_SECONDS) == 0
    stream.close()
    assert served.process.stderr is not None
    assert b"stopped by OperationCancelledError" in served.process.stderr.read()


@covers("http-admission")
def test_an_address_that_others_reach_is_refused_without_tokens(tmp_path: Path) -> None:
    command = server_command(tmp_path, "--http", "0.0.0.0:0")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 2
    assert b"--token-file" in done.stderr


def test_serving_on_stdio_loads_nothing_of_http() -> None:
    code = (
        "import sys, mcp_offload.server.build; print({'aiofiles', 'mcp_offload.uploads'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "set()\n"
