"""A real server process and its wire, line by line."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mcp_offload.wire.canned import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY

ROOT = Path(__file__).resolve().parents[3]
#: Generous: what is tested is that it happens, not how fast. The benchmark measures.
PATIENCE_SECONDS = 30.0

#: A hard lease that no test comes near the end of, to measure with.
ENDLESS_LEASE = ("--lease", "hard", "--lease-limit", "1000000000")

CLIENT = {"name": "rig", "version": "1"}
ENVELOPE: dict[str, Any] = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, CLIENT_KEY: CLIENT}
Json = dict[str, Any]


def server_command(folder: Path, *more: str) -> list[str]:
    """The command line of a server whose store is in ``folder`` and whose root is ``folder / "work"``.

    It has no lease unless ``more`` gives it one: without a person there, its default would end long tests.
    """
    work = folder / "work"
    work.mkdir(exist_ok=True)
    store, state = str(folder / "store"), str(folder / "state")
    places = ["--store", store, "--state", state, "--root", str(work), "--workspace", str(work)]
    return [sys.executable, "-m", "mcp_offload", "serve", *places, "--lease", "off", *more]


class Rig:
    """A context manager; leaving it kills the process where it still runs.

    Every line that the process writes to standard output is parsed as it arrives: one that is not
    JSON fails the test that reads it.
    """

    def __init__(self, command: list[str], cwd: Path, *, env: Json | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        self.reading = threading.Event()
        self.reading.set()
        for thread in self._threads:
            thread.start()
        self._last_id = 0

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.reading.set()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        buffered = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")
        with buffered:
            while self.reading.wait() and (line := buffered.readline()):
                self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read(65_536):
            self._errors.append(chunk)

    def write(self, data: bytes) -> None:
        """Write raw bytes to the server."""
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def send(self, message: object) -> None:
        """Write one message."""
        self.write(json.dumps(message).encode() + b"\n")

    def ask(self, method: str, params: Json | None = None) -> int:
        """Send a request; returns its id."""
        self._last_id += 1
        request: Json = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        if params is not None:
            request["params"] = params
        self.send(request)
        return self._last_id

    def tell(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def receive(self) -> Json | None:
        """The next message, None at the end of output."""
        line = self._lines.get(timeout=PATIENCE_SECONDS)
        if line is None:
            self._lines.put(None)
            return None
        message: Json = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def rest(self) -> list[Json]:
        """Every message up to the end of output."""
        messages: list[Json] = []
        while (message := self.receive()) is not None:
            messages.append(message)
        return messages

    def answer(self, request_id: object) -> Json:
        """The answer to a request; notifications before it are skipped, other answers fail."""
        while (message := self.receive()) is not None:
            if "method" not in message:
                assert message["id"] == request_id, message
                return message
        raise AssertionError(f"no answer to {request_id}; standard error: {self.errors()}")

    def greet(self, version: str = "2025-06-18") -> Json:
        """Shake hands; returns the result of ``initialize``."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
        answer = self.answer(self.ask("initialize", params))
        self.tell("notifications/initialized")
        result: Json = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer, failed or not."""
        answer = self.answer(self.ask("tools/call", {"name": tool, "arguments": arguments}))
        text: str = answer["result"]["content"][0]["text"]
        return text

    def hang_up(self) -> None:
        """Close the server's input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def status(self) -> int:
        """Wait for the end of the process; its exit status."""
        return self.process.wait(PATIENCE_SECONDS)

    def errors(self) -> str:
        """Standard error so far."""
        return b"".join(self._errors).decode(errors="replace")


def ids(messages: Iterable[Json]) -> list[object]:
    """The ids of the answers among messages."""
    return [message["id"] for message in messages if "method" not in message]
