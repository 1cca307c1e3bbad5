"""Starting the server as a client would, and talking to it line by line.

The server is never imported here: what is tested is the command that clients run.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from mcp_offload import __version__
from mcp_offload.install.entries import START
from mcp_offload.settings import Settings

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
_ANSWER_SECONDS: Final = 30.0
_END_SECONDS: Final = 5.0

JsonObject = dict[str, object]


class ProbeError(Exception):
    """The server did not do what a client relies on; the text says what."""


@dataclass(frozen=True, slots=True)
class Session:
    """What one conversation showed.

    Attributes:
        name: the server's name and version as it gave them.
        tools: how many tools it listed.
        greeting_seconds: from the start of the process to its first answer.
        call_seconds: from the start of the process to the answer of a tool call.
        end_seconds: from closing its input to the end of the process.
    """

    name: str
    tools: int
    greeting_seconds: float
    call_seconds: float
    end_seconds: float


def server_command(settings: Settings) -> list[str]:
    """The command line that starts a server with these settings, as clients are told to start it.

    Like theirs it imports nothing from the current directory, where a project may have modules of any name.
    """
    roots = [part for root in settings.roots for part in ("--root", root)]
    return [
        *(sys.executable, *START),
        *("--store", settings.store_dir, "--state", settings.state_dir),
        *("--workspace", settings.workspace, "--tools", settings.tools),
        *roots,
    ]


def converse(command: Sequence[str], version: str) -> Session:
    """Start a server, greet it in protocol ``version``, list its tools, call one, and close its input.

    Raises:
        ProbeError: it could not be started, answered wrongly or not at all, or did not end.
    """
    # A file, not a pipe: a talkative server must not block on an error output that nobody reads.
    with tempfile.TemporaryFile() as stderr:
        try:
            peer = _Peer(command, stderr)
        except OSError as exc:
            raise ProbeError(f"it could not be started: {exc.strerror}") from exc
        with peer:
            return _conversation(peer, version)


def _conversation(peer: _Peer, version: str) -> Session:
    meta = _modern_meta() if version == MODERN else {}
    if version == MODERN:
        greeting = peer.ask("server/discover", meta)
    else:
        client: JsonObject = {"name": "mcp-offload-doctor", "version": __version__}
        params: JsonObject = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        greeting = peer.ask("initialize", params)
        peer.tell("notifications/initialized")
    greeting_seconds = peer.age_seconds
    listed = peer.ask("tools/list", meta).get("tools")
    if not isinstance(listed, list) or not listed:
        raise ProbeError("it listed no tools")
    tools = cast("list[JsonObject]", listed)
    # Empty arguments: whichever tool comes first, it answers, and no store is touched.
    peer.ask("tools/call", {"name": tools[0]["name"], "arguments": {}, **meta}, may_fail=True)
    call_seconds = peer.age_seconds
    return Session(_server_name(greeting), len(tools), greeting_seconds, call_seconds, peer.end())


def _modern_meta() -> JsonObject:
    prefix = "io.modelcontextprotocol"
    client = {"name": "mcp-offload-doctor", "version": __version__}
    fields = {"protocolVersion": MODERN, "clientCapabilities": {}, "clientInfo": client}
    return {"_meta": {f"{prefix}/{name}": value for name, value in fields.items()}}


def _server_name(greeting: Mapping[str, object]) -> str:
    meta = cast("JsonObject", greeting.get("_meta", {}))
    modern = meta.get("io.modelcontextprotocol/serverInfo", {})
    found = cast("JsonObject", greeting.get("serverInfo", modern))
    return f"{found.get('name', 'unnamed')} {found.get('version', '')}".strip()


class _Peer:
    """A server process and its pipes. A context manager: leaving it ends the process at any rate."""

    def __init__(self, command: Sequence[str], stderr: BinaryIO) -> None:
        self._began = time.monotonic()
        self._stderr = stderr
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
        )
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._buffer = b""
        self._last_id = 0

    def __enter__(self) -> _Peer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._stdin, self._stdout):
            pipe.close()

    @property
    def age_seconds(self) -> float:
        """Since the process was started."""
        return time.monotonic() - self._began

    def tell(self, method: str) -> None:
        self._send({"jsonrpc": "2.0", "method": method})

    def ask(self, method: str, params: JsonObject, *, may_fail: bool = False) -> JsonObject:
        """Send a request and return its result; an error is an empty result where it ``may_fail``."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while (message := self._receive(method)).get("id") != self._last_id:
            continue
        if "error" in message and not may_fail:
            error = cast("JsonObject", message["error"])
            raise ProbeError(f"it answered {method} with error {error.get('code')}: {error.get('message')}")
        return cast("JsonObject", message.get("result") or {})

    def end(self) -> float:
        """Close its input and wait for its end; returns the seconds that took."""
        began = time.monotonic()
        self._stdin.close()
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            raise ProbeError(f"it still ran {_END_SECONDS:.0f} s after its input was closed") from None
        seconds = time.monotonic() - began
        if status != 0:
            raise ProbeError(f"it ended with exit status {status} when its input was closed{self._said()}")
        return seconds

    def _send(self, message: JsonObject) -> None:
        try:
            self._stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise ProbeError(f"it ended at once{self._said()}") from None

    def _receive(self, method: str) -> JsonObject:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._stdout], [], [], left)[0]:
                raise ProbeError(f"it did not answer {method} within {_ANSWER_SECONDS:.0f} s")
            chunk = os.read(self._stdout.fileno(), 1 << 16)
            if not chunk:
                raise ProbeError(f"it ended without answering {method}{self._said()}")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        return _message(line)

    def _said(self) -> str:
        """The last line on its standard error, if the process has ended and left one."""
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            return ""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().split("\n")
        return f"; it said: {lines[-1]}" if lines[-1] else ""


def _message(line: bytes) -> JsonObject:
    try:
        message: object = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ProbeError(f"it wrote something else than protocol to standard output: {line[:80]!r}")
    return cast("JsonObject", message)
