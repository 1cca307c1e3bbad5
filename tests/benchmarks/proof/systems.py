"""The ways to work that are compared, and the gate before the engine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.benchmarks.proof.proof import System
from tests.benchmarks.proof.scripts import context_mode, ctxtual, ours, raw
from tests.benchmarks.replay import peers
from tests.benchmarks.replay.systems import LIMIT_TOKENS, OFFLOAD, RESERVE_TOKENS, ROOT, Server

UPSTREAM = [sys.executable, str(Path(__file__).resolve().parent / "upstream.py")]


def plain(folder: Path, _home: Path, _session: str) -> list[Server]:
    """The tools that an agent has anyway."""
    return [Server([*UPSTREAM, str(folder)], {"PYTHONDONTWRITEBYTECODE": "1"})]


def offload(folder: Path, home: Path, session: str) -> list[Server]:
    """mcp-offload with a lease that refuses, and pytest allowed."""
    command = [
        *OFFLOAD, "serve", "--session", session, "--allow-run", "python",
        "--lease", "hard", "--lease-limit", str(LIMIT_TOKENS), "--lease-reserve", str(RESERVE_TOKENS),
        *places(folder, home),
    ]  # fmt: skip
    # The tests are run by the interpreter that runs this.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return [Server(command, {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"})]


def places(folder: Path, home: Path) -> list[str]:
    """Where the store of a run is, and what it may read."""
    return ["--store", str(home / "store"), "--state", str(home / "state"), "--root", str(folder)]


def with_context_mode(folder: Path, home: Path, session: str) -> list[Server]:
    """context-mode beside the tools that an agent has anyway."""
    return [*peers.context_mode(folder, home), *plain(folder, home, session)]


def with_ctxtual(folder: Path, home: Path, session: str) -> list[Server]:
    """ctxtual in front of the tools that an agent has anyway."""
    (upstream,) = plain(folder, home, session)
    return [Server([*peers.ctxtual_wrap(), *upstream.command], upstream.variables)]


SYSTEMS = {
    "raw": System("raw", plain, raw.SCRIPTS, raw.KNOWN, gate=False),
    "context-mode": System(
        "context-mode", with_context_mode, context_mode.SCRIPTS, context_mode.KNOWN, gate=False
    ),
    "ctxtual": System("ctxtual", with_ctxtual, ctxtual.SCRIPTS, ctxtual.KNOWN, gate=False),
    "MCP only": System("MCP only", offload, ours.SCRIPTS, ours.KNOWN, gate=False),
    "gateway only": System("gateway only", plain, raw.SCRIPTS, raw.KNOWN, gate=True),
    "both": System("both", offload, ours.SCRIPTS, ours.KNOWN, gate=True),
}

PEERS = ("context-mode", "ctxtual")


@asynccontextmanager
async def compacting_gate(engine: str, home: Path, folder: Path) -> AsyncGenerator[str]:
    """The gate with compaction on, before an engine; its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "serving", "--json", "gate", "--engine", engine, "--listen", "127.0.0.1:0",
        "--mode", "off", "--compaction", "on",
        cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield json.loads(await process.stdout.readline())["listening"]
    finally:
        process.terminate()
        await process.wait()
