"""An engine without a model and the gate before it, as real processes, and clients that can be killed."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE_SECONDS = 30
CHAT = "/v1/chat/completions"
BLOCKS = 100
OUTPUT_TOKENS = 900
"""Of a request that leaves no room for a second one: a block has 16 tokens."""

# Sends what standard input holds to an address, then prints what comes back, a line at a time.
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
    connection.sendall(sys.stdin.buffer.read())
    print("sent", flush=True)
    for line in connection.makefile("rb"):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""


@dataclass
class Served:
    """A process that listens, and says on its standard output what happens."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port
        return port

    def heard(self) -> str:
        """The next line that it prints, empty once it ended."""
        assert self.process.stdout
        return self.process.stdout.readline().decode().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)


@contextmanager
def engine(port: int = 0, blocks: int = BLOCKS) -> Generator[Served]:
    """It tells of each request as it begins and ends."""
    arguments = ["serving.bench.fake", "--port", str(port), "--blocks", str(blocks), "--tell"]
    with _served(arguments) as served:
        yield served


@contextmanager
def gate(behind: Served, *flags: str, port: int = 0) -> Generator[Served]:
    """In mode ``on``, with strict leases."""
    arguments = ["serving", "--json", "gate", "--engine", behind.url, "--listen", f"127.0.0.1:{port}"]
    with _served([*arguments, "--mode", "on", *flags]) as served:
        yield served


@contextmanager
def _served(arguments: list[str]) -> Generator[Served]:
    with subprocess.Popen(
        [sys.executable, "-m", *arguments], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line, f"{arguments[0]} ended with {process.wait(PATIENCE_SECONDS)}"
            yield Served(json.loads(line)["listening"], process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def body(output: int = OUTPUT_TOKENS, pace: float = 0.0, **more: Any) -> dict[str, Any]:
    """A request that takes more than half of the pool unless told otherwise."""
    messages = [{"role": "user", "content": "x" * 400}]
    return {"model": "m", "messages": messages, "max_tokens": output, "pace_seconds": pace, **more}


ENDLESS = body(pace=-1.0)
"""One that the engine answers nothing to."""


def request(content: dict[str, Any]) -> bytes:
    """The bytes of a request."""
    data = json.dumps(content).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(data)}\r\nconnection: close\r\n\r\n".encode() + data


class Client:
    """A client in a process of its own."""

    def __init__(self, port: int, sent: bytes) -> None:
        line = [sys.executable, "-S", "-c", CLIENT, "127.0.0.1", str(port)]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(sent)
        self.process.stdin.close()
        assert self.process.stdout.readline() == b"sent\n"

    def lines(self) -> Iterator[str]:
        """What comes back, as it does."""
        assert self.process.stdout
        for line in self.process.stdout:
            yield line.decode().strip()

    def until(self, part: str) -> str:
        """The first line that holds this."""
        seen: list[str] = []
        for line in self.lines():
            if part in line:
                return line
            seen.append(line)
        raise AssertionError(f"no line holds {part!r}: {seen[-20:]}")

    def kill(self) -> None:
        """End it at once, and with it its connection."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Wait for its end."""
        assert self.process.stdout
        self.process.stdout.close()
        self.process.wait(PATIENCE_SECONDS)


@contextmanager
def client(port: int, sent: bytes) -> Generator[Client]:
    """A client that has sent these bytes."""
    made = Client(port, sent)
    try:
        yield made
    finally:
        made.kill()


def ask(port: int, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """A whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("POST", CHAT, json.dumps(content), {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def rank(port: int) -> dict[str, Any]:
    """The gate's own state of its one engine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/gate/status")
        return json.loads(connection.getresponse().read())["ranks"]["0"]
    finally:
        connection.close()


def until_waiting(port: int, requests: int) -> None:
    """Ask until so many requests wait, as they do once the gate has read them."""
    for _ in range(2000):
        if sum(rank(port)["waiting"].values()) == requests:
            return
    raise AssertionError(rank(port))


def until_idle(port: int) -> None:
    """Ask until nothing is leased and nobody waits, as it is once the last answer was sent."""
    for _ in range(2000):
        state = rank(port)
        if (state["leased"], state["running"], state["waiting"]) == (0, 0, {}):
            return
    raise AssertionError(rank(port))


def children(process: subprocess.Popen[bytes]) -> list[str]:
    """Processes that it started and that still run."""
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
