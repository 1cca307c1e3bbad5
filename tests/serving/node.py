"""Starts a real vLLM server and a gate before it, each in a process group of its own, and ends them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.telemetry import EngineSample, parse
from tests.serving import environment

READY_SECONDS = 300


@dataclass
class Server:
    """A server that runs."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read()

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """A whole JSON answer with its status."""
        try:
            with urllib.request.urlopen(self._request(path, body), timeout=300) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def stream(self, path: str, body: dict[str, Any]) -> Iterator[bytes]:
        """The lines of a stream as they come."""
        with urllib.request.urlopen(self._request(path, {**body, "stream": True}), timeout=300) as answer:
            yield from answer

    def sample(self) -> EngineSample:
        """The engine's metrics, whether asked directly or through the gate."""
        return parse(self.get("/metrics").decode()).engines["0"]

    def status(self) -> dict[str, Any]:
        """The gate's own state."""
        return json.loads(self.get("/gate/status"))

    def _request(self, path: str, body: dict[str, Any]) -> urllib.request.Request:
        return urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )


@contextmanager
def engine(
    home: Path, model: Path, *flags: str, port: int, variables: dict[str, str] | None = None
) -> Generator[Server]:
    """A vLLM server of this model; it is named ``m``. ``variables`` are added to its environment."""
    line = [
        str(environment.command("vllm")), "serve", str(model), "--host", "127.0.0.1", "--port", str(port),
        "--served-model-name", "m", "--enforce-eager", "--enable-prompt-tokens-details",
        "--enable-scale-out", *flags,
    ]  # fmt: skip
    with _running(line, home / "engine.log", environment.variables(home) | (variables or {})) as (
        process,
        log,
    ):
        server = Server(f"http://127.0.0.1:{port}", process, log)
        _until_healthy(server)
        yield server


@contextmanager
def gate(
    home: Path, engine_url: str, *flags: str, variables: dict[str, str] | None = None
) -> Generator[Server]:
    """A gate before an engine, on a port that the system chose; ``variables`` are added to ours."""
    line = [
        sys.executable, "-m", "serving", "--json", "gate", "--engine", engine_url,
        "--listen", "127.0.0.1:0", *flags,
    ]  # fmt: skip
    with _running(line, home / "gate.log", {**os.environ, **(variables or {})}, stdout=subprocess.PIPE) as (
        process,
        log,
    ):
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told, log.read_text()
        yield Server(json.loads(told)["listening"], process, log)


@contextmanager
def _running(
    line: list[str], log: Path, variables: dict[str, str], stdout: int | None = None
) -> Generator[tuple[subprocess.Popen[bytes], Path]]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            line,
            env=variables,
            stdout=file if stdout is None else stdout,
            stderr=file,
            start_new_session=True,
        )
        try:
            yield process, log
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _until_healthy(server: Server) -> None:
    pause = threading.Event()
    for _ in range(READY_SECONDS * 4):
        if server.process.poll() is not None:
            raise RuntimeError(
                f"vLLM ended with {server.process.returncode}:\n{server.log.read_text()[-3000:]}"
            )
        try:
            server.get("/health")
            return
        except OSError:
            pause.wait(0.25)
    raise RuntimeError(f"vLLM was not ready after {READY_SECONDS} s:\n{server.log.read_text()[-3000:]}")
